// Saved sessions on shards. In: the small Llama and random ones, on every pool. Out: whether any pool can
// read the files of any other.
import { describe, expect, test } from 'vitest'
import { openModel } from '../../../src/core/arch/open-model.ts'
import { blobSource } from '../../../src/core/base/bytes.ts'
import { isHalfbyteError } from '../../../src/core/base/errors.ts'
import { writePack } from '../../../src/core/formats/hbm/hbm-writer.ts'
import type { Engine } from '../../../src/engine/api/engine.ts'
import type { LoadOptions } from '../../../src/engine/api/types.ts'
import { packContents } from '../../../src/engine/load/pack-model.ts'
import { prepareModel } from '../../../src/engine/load/prepare.ts'
import type { Session } from '../../../src/index.ts'
import { EMBEDDED_OPTIONS, EMBEDDED_TURNS, GOLDEN_CASES, goldenFile, TINY_PATH } from '../testing/golden.ts'
import { ggufFile } from '../testing/model-files.ts'
import { openEngine, repositoryFile, withBuilt } from '../testing/node-engine.ts'
import { randomLlama } from '../testing/random-llama.ts'

const [F32, , , W8] = GOLDEN_CASES
const POOLS: readonly Pick<LoadOptions, 'pool' | 'threads'>[] = [
  { pool: 'single', threads: 1 },
  { pool: 'shards', threads: 2 },
  // Two KV heads on four shards: each head is stored twice.
  { pool: 'shards', threads: 4 },
]
const GREEDY = { temperature: 0, maxTokens: 40, speculation: 'off' } as const

const bytesOf = async (session: Session) => Buffer.from(await (await session.save()).arrayBuffer())

describe.each(['f32', 'int8'] as const)('keys and values in %s', (format) => {
  test('give the same file after another pool has read and written it', async () => {
    const kvCache = { k: format, v: format }
    const engines: Engine[] = []
    for (const pool of POOLS)
      engines.push(await openEngine([await goldenFile(F32!)], { ...pool, kvCache, contextLength: 160 }))
    try {
      expect(engines.map(({ threads }) => threads)).toEqual([1, 2, 4])
      for (const first of engines) {
        const session = first.createSession({ overflow: 'shift', keep: 5 })
        await session.send('the river goes to the sea', GREEDY).result
        const fork = await session.fork()
        await fork.send('and then it goes back, it is said, to where it came from', GREEDY).result
        await session.send('tell me more of it than I have heard', GREEDY).result
        await session.send('why', GREEDY).result
        for (const each of [session, fork]) {
          const saved = await bytesOf(each)
          const next = await each.send('so', GREEDY).result
          for (const second of engines) {
            await using restored = await second.restoreSession(new Blob([saved]))
            expect(Buffer.compare(await bytesOf(restored), saved)).toBe(0)
            const { text, usage } = await restored.send('so', GREEDY).result
            expect(text).toBe(next.text)
            // If all messages are dropped, the first engine may still have the beginning of an earlier
            // question.
            expect({ ...usage, cachedTokens: next.usage.cachedTokens }).toEqual(next.usage)
            expect(usage.cachedTokens).toBeGreaterThanOrEqual(5)
            expect(usage.cachedTokens).toBeLessThanOrEqual(next.usage.cachedTokens)
          }
        }
        expect((await session.send('go on', GREEDY).result).usage.droppedTokens).toBeGreaterThan(0)
        await Promise.all([session.dispose(), fork.dispose()])
      }
    } finally {
      for (const engine of engines) await engine.dispose()
    }
  })
})

test('the small Llama continues from the file of another pool', async () => {
  const files = [repositoryFile(TINY_PATH)]
  await using shards = await openEngine(files, { pool: 'shards', threads: 2 })
  await using one = await openEngine(files, { pool: 'single' })
  for (const [from, to] of [
    [shards, one],
    [one, shards],
  ] as const) {
    await using session = from.createSession()
    await session.send(EMBEDDED_TURNS[0], EMBEDDED_OPTIONS).result
    await using restored = await to.restoreSession(await session.save())
    const { usage } = await restored.send(EMBEDDED_TURNS[1], EMBEDDED_OPTIONS).result
    expect(usage.cachedTokens).toBeGreaterThan(40)
  }
})

test('a sparse pack counts as the same model on shards; a pack with one different weight does not', async () => {
  const random = randomLlama({ seed: 7 })
  for (const { shape, values } of random.weights.values())
    if (shape.length === 2) for (let at = 32; at < values.length; at += shape[1]!) values.fill(0, at, at + 32)
  const model = await openModel([blobSource('model', await ggufFile(random))])
  const prepared = await prepareModel(model, { weights: 'w8' })
  const pieces: BlobPart[] = []
  for await (const piece of writePack(await packContents(prepared, { sparse: 'sb84' })))
    pieces.push(new Uint8Array(piece))
  const files = [new File(pieces, 'sparse.hbm')]
  const { plan } = await prepareModel(await openModel([blobSource('sparse.hbm', files[0]!)]), {
    weights: 'auto',
  })
  expect(plan.slots.map(({ encoding }) => encoding)).toContain('w8_g32_sb84')
  const of = (options: Parameters<typeof withBuilt>[1]) =>
    withBuilt(files, { weights: 'auto', ...options }, (built) => built.fingerprint())
  const whole = await of({})
  expect(await of({ pool: 'shards', threads: 2 })).toBe(whole)
  expect(await of({ pool: 'shards', threads: 2, shares: [1, 3] })).toBe(whole)
  expect(await of({ weights: 'f32' })).not.toBe(whole)
})

test('shards reject files that are damaged or from another model, free everything, and continue', async () => {
  await using engine = await openEngine([await goldenFile(W8!)], { ...POOLS[1], weights: 'w8' })
  const refusal = async (file: Buffer | Blob) => {
    try {
      await engine.restoreSession(file instanceof Blob ? file : new Blob([new Uint8Array(file)]))
      return 'none'
    } catch (error) {
      return isHalfbyteError(error) ? error.code : String(error)
    }
  }
  await using session = engine.createSession()
  await session.send('the river goes to the sea', GREEDY).result
  const saved = await bytesOf(session)
  const { stateBytes } = await engine.memory()
  for (const at of [0, 15, 16, 1000, saved.length >> 1, saved.length - 77, saved.length - 1]) {
    expect(await refusal(saved.subarray(0, at)), `cut at ${at}`).toMatch(/^(integrity|format)$/)
    const wrong = Buffer.from(saved)
    wrong[at]! ^= 0x10
    expect(await refusal(wrong), `byte ${at}`).toMatch(/^(integrity|format)$/)
  }
  const others: LoadOptions[] = [{}, { weights: 'w4' }, { weights: 'w8', kvCache: { v: 'fp8' } }]
  for (const options of others) {
    await using other = await openEngine([await goldenFile(W8!)], options)
    await using theirs = other.createSession()
    await theirs.send('hello', GREEDY).result
    expect(await refusal(await theirs.save())).toBe('unsupported')
  }
  expect((await engine.memory()).stateBytes).toBe(stateBytes)
  expect(await refusal(saved)).toBe('none')
  await session.send('and then', GREEDY).result
})
