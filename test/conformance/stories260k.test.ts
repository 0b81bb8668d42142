import { describe, expect, test } from 'vitest'
import { memo } from '../../src/core/base/values.ts'
import type { KvFormat } from '../../src/core/graph/ir.ts'
import { perplexity } from '../../src/engine/score/perplexity.ts'
import { forwardRows } from '../../src/tools/cli/models/model.ts'
import { fixtureFile, fixtureFloats, fixtureText } from '../helpers/fixture.ts'
import { BUILDS } from './testing/builds.ts'
import { largestDifference, logitsOf, openEngine, relativeError, withBuilt } from './testing/node-engine.ts'

interface Reference {
  readonly n_vocab: number
  readonly n_prompt: number
  readonly prompt: string
  readonly tokens: readonly number[]
  readonly text: string
}

const modelFiles = (name: string): File[] => [fixtureFile(`stories260k/stories260K-${name}.gguf`)]

const reference = (name: string) => JSON.parse(fixtureText(`stories260k/logits-${name}.json`)) as Reference

function referenceRows(name: string): Float32Array[] {
  const all = fixtureFloats(`stories260k/logits-${name}.f32bin`)
  const { n_vocab: vocab } = reference(name)
  return Array.from({ length: all.length / vocab }, (_, row) => all.subarray(row * vocab, (row + 1) * vocab))
}

/** Perplexity on the first hundred windows of 256 tokens. */
const windows = (name: string, kvCache?: KvFormat) =>
  withBuilt(modelFiles(name), { contextLength: 256, kvCache }, (built) =>
    perplexity(
      built.tokenizer.encode(fixtureText('texts/tinystories.txt'), { addSpecial: true }),
      forwardRows(built),
      {
        context: 256,
        chunks: 100,
        bos: built.tokenizer.addsBos ? built.tokenizer.bosId : undefined,
      },
    ),
  )

/** The same with exact keys and values, computed once. */
const scores = new Map<string, ReturnType<typeof windows>>()
const exactWindows = (name: string) => memo(scores, name, () => windows(name))

const COMBINATIONS = (['f32', 'F16'] as const).flatMap((name) => BUILDS.map((each) => ({ name, ...each })))

describe('stories260k', () => {
  test.each(COMBINATIONS)(
    "$name: greedy text on $build with $threads threads is llama.cpp's",
    async (one) => {
      const { prompt, tokens, n_prompt: prompted, text } = reference(one.name)
      const engine = await openEngine(modelFiles(one.name), {
        build: one.build,
        threads: one.threads,
        weights: 'auto',
      })
      try {
        expect(engine).toMatchObject({ build: one.build, threads: one.threads })
        const steps = tokens.length - prompted
        const result = await engine.complete(prompt, { temperature: 0, maxTokens: steps }).result
        expect(result.tokens).toEqual(tokens.slice(prompted))
        expect(` ${prompt}${result.text}`).toBe(text)
        expect(result).toMatchObject({ finishReason: 'length', usage: { promptTokens: prompted } })
      } finally {
        await engine.dispose()
      }
    },
  )

  test.each([
    ['f32', 1e-3],
    // With these weights, llama.cpp rounds activations.
    ['F16', 2e-2],
  ])("%s: logits of every position are within %f of llama.cpp's", async (name, bound) => {
    const rows = await withBuilt(modelFiles(name), {}, (built) => logitsOf(built, reference(name).tokens))
    expect(rows).toHaveLength(105)
    expect(largestDifference(rows, referenceRows(name))).toBeLessThan(bound)
  })

  // Both engines round activations to 8 bits, in different ways. Measured: 0.8 to 0.9 %.
  test.each(['mix-Q8_0', 'mix-Q4_0', 'mix-Q4_1'])(
    "%s: logits are within 2 % of llama.cpp's",
    async (name) => {
      const rows = await withBuilt(modelFiles(name), {}, (built) => logitsOf(built, reference(name).tokens))
      expect(rows).toHaveLength(105)
      expect(relativeError(rows, referenceRows(name))).toBeLessThan(0.02)
    },
  )

  test.each([
    ['f32', 4.4294],
    ['F16', 4.4294],
    ['mix-Q8_0', 4.4343],
    ['mix-Q4_1', 4.8201],
    ['mix-Q4_0', 4.8231],
  ])('%s: perplexity is within 1 % of %f', async (name, expected) => {
    const result = await exactWindows(name)
    expect(result).toMatchObject({ windows: 100, scored: 12_700 })
    expect(Math.abs(result.perplexity / expected - 1)).toBeLessThan(0.01)
  })

  // Measured: 0.11 % for both, almost all of it from the keys.
  test.each([
    [{ k: 'int8', v: 'int8' }, 0.003],
    [{ k: 'int8', v: 'fp8' }, 0.01],
  ] as const)('keys and values as %o change the perplexity by less than %f', async (kvCache, bound) => {
    const exact = await exactWindows('f32')
    const stored = await windows('f32', kvCache)
    expect(stored.perplexity).not.toBe(exact.perplexity)
    expect(Math.abs(stored.perplexity / exact.perplexity - 1)).toBeLessThan(bound)
  })
})
