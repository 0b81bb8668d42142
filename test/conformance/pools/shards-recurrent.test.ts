import { describe, expect, test } from 'vitest'
import type { Engine } from '../../../src/engine/api/engine.ts'
import type { Session } from '../../../src/index.ts'
import { fixtureFile, fixtureFloats, fixtureText } from '../../helpers/fixture.ts'
import families from '../golden/families.json' with { type: 'json' }
import { FAMILY_CASES } from '../testing/families/family-cases.ts'
import { drawFamily, familySafetensors } from '../testing/families/family-files.ts'
import { EMBEDDED_OPTIONS, TALKING_MODELS } from '../testing/golden.ts'
import {
  type Files,
  largestDifference,
  logitsOf,
  openEngine,
  relativeError,
  repositoryFile,
  withBuilt,
} from '../testing/node-engine.ts'
import { type RecurrentFamily, randomRecurrent, recurrentGguf } from '../testing/random-recurrent.ts'

/** The same bound as for attention; see shards.test.ts. */
const FLOAT_BOUND = 1e-5
const QUANTIZED_BOUND = 0.02

const random = async (family: RecurrentFamily, groups = 1): Promise<Files> => [
  await recurrentGguf(randomRecurrent(family, 11, groups)),
]
async function lfm2(): Promise<Files> {
  const one = FAMILY_CASES.find(({ family }) => family === 'lfm2')!
  return familySafetensors(one, drawFamily(one, families.lfm2.seed))
}

/**
 * `most`: the maximum number of workers that the model's heads allow. `quantized`: the same with whole
 * quantisation groups.
 */
const MODELS: readonly { name: string; files: () => Promise<Files>; most: number; quantized: number }[] = [
  { name: 'Mamba', files: () => random('mamba'), most: 4, quantized: 4 },
  { name: 'Mamba-2', files: () => random('mamba2'), most: 4, quantized: 4 },
  { name: 'Mamba-2 of 4 groups', files: () => random('mamba2', 4), most: 4, quantized: 4 },
  { name: 'a hybrid', files: () => random('granitehybrid'), most: 3, quantized: 2 },
  { name: 'LFM2', files: lfm2, most: 2, quantized: 2 },
]

const TOKENS = Array.from({ length: 90 }, (_, index) => 3 + ((index * 29) % 90))
const CONTEXT = 256
const GREEDY = { temperature: 0, maxTokens: 40 } as const
const SHORT = { temperature: 0, maxTokens: 12 } as const
const QUESTION = 'tell me where the river goes when the rain falls on the hills'

const open = (files: Files, threads: number, options = {}) =>
  openEngine(files, { pool: 'shards', threads, contextLength: CONTEXT, ...options })

describe.each(MODELS)('$name', ({ files, most, quantized }) => {
  test('gives the same text on any number of shards, with and without drafts', async () => {
    const texts = new Set<string>()
    for (let threads = 1; threads <= 4; threads++) {
      await using engine = await open(await files(), threads)
      expect(engine.threads).toBe(Math.min(threads, most))
      expect(engine.pool).toBe(threads === 1 ? 'single' : 'shards')
      for (const speculation of ['off', 'lookup'] as const) {
        const { tokens } = await engine.complete('to be or to be or to be', { ...GREEDY, speculation }).result
        texts.add(tokens.join())
      }
    }
    expect([...texts]).toHaveLength(1)
  })

  test.each([
    ['auto', FLOAT_BOUND],
    ['w8', QUANTIZED_BOUND],
    ['w4', QUANTIZED_BOUND],
  ] as const)('has logits within the bound in %s, on uneven shards too', async (weights, bound) => {
    const options = { weights, contextLength: CONTEXT }
    const right = await withBuilt(await files(), options, (built) => logitsOf(built, TOKENS))
    for (const shares of [
      [1, 1],
      [3, 1],
      [1, 2, 1],
    ]) {
      await withBuilt(
        await files(),
        { ...options, pool: 'shards', threads: shares.length, shares },
        async (built) => {
          expect(built.info.threads).toBe(Math.min(shares.length, weights === 'auto' ? most : quantized))
          expect(relativeError(await logitsOf(built, TOKENS), right)).toBeLessThan(bound)
        },
      )
    }
  })

  test('has sessions that any pool can fork, edit, save and restore', async () => {
    const engines: Engine[] = []
    for (const threads of [1, 2, 3]) engines.push(await open(await files(), threads))
    try {
      const replies = new Set<string>()
      for (const engine of engines) {
        await using session = engine.createSession()
        const first = await session.send(QUESTION, SHORT).result
        const read = first.usage.promptTokens + first.usage.completionTokens - 1
        const saved = await bytesOf(session)
        await using fork = await session.fork()
        await fork.send('why', SHORT).result
        const second = await session.send('and then', SHORT).result
        // Continues at the end of the first reply, not from the beginning.
        const edited = await session.edit(2, 'where', SHORT).result
        expect(edited.usage.cachedTokens).toBeGreaterThanOrEqual(first.usage.promptTokens - 1)
        replies.add([first, second, edited].map(({ tokens }) => tokens.join()).join('|'))
        for (const other of engines) {
          await using restored = await other.restoreSession(new Blob([saved]))
          expect(Buffer.compare(await bytesOf(restored), saved)).toBe(0)
          const { tokens, usage } = await restored.send('and then', SHORT).result
          expect(tokens).toEqual(second.tokens)
          expect(usage.cachedTokens).toBeGreaterThanOrEqual(read)
        }
      }
      expect([...replies]).toHaveLength(1)
    } finally {
      for (const engine of engines) await engine.dispose()
    }
  })
})

const bytesOf = async (session: Session) => Buffer.from(await (await session.save()).arrayBuffer())

const [, , { path }] = TALKING_MODELS

test('the embedded Mamba gives the same reply on shards as on one thread, except where two tokens are equally likely', async () => {
  const files = [repositoryFile(path)]
  for (const threads of [2, 3]) {
    await using engine = await openEngine(files, { pool: 'shards', threads })
    for (const prompt of ['Once upon a time there was', 'The little dog said: ']) {
      const { tokens } = await engine.complete(prompt, EMBEDDED_OPTIONS).result
      expect(tokens.length).toBeGreaterThan(10)
      const behind = await withBuilt(files, {}, async (built) => {
        const ids = built.text.encode(prompt, true)
        const rows = await logitsOf(built, [...ids, ...tokens])
        return tokens.map((id, index) => {
          const row = rows[ids.length - 1 + index]!
          const best = Math.max(...row)
          return (best - row[id]!) / Math.abs(best)
        })
      })
      expect(Math.max(...behind)).toBeLessThan(QUANTIZED_BOUND)
    }
  }
})

test("three shards give llama.cpp's logits of the fixture", async () => {
  const { tokens, n_vocab: width } = JSON.parse(fixtureText('mamba-random/logits-f32.json'))
  const all = fixtureFloats('mamba-random/logits-f32.f32bin')
  const rows = tokens.map((_: number, row: number) => all.subarray(row * width, (row + 1) * width))
  const files = [fixtureFile('mamba-random/mamba-random-f32.gguf')]
  await withBuilt(files, { pool: 'shards', threads: 3 }, async (built) => {
    expect(built.info.threads).toBe(3)
    expect(largestDifference(await logitsOf(built, tokens), rows)).toBeLessThan(1e-3)
  })
})
