// Conformance on random models. In: the same weights as GGUF and as safetensors. Out: the logits of a direct
// f64 definition.
import { describe, expect, test } from 'vitest'
import { type FloatType, ggufFile, rounded, safetensorsFiles } from './testing/model-files.ts'
import { largestDifference, logitsOf, relativeError, withBuilt } from './testing/node-engine.ts'
import { type Llama3Scaling, type RandomModel, randomLlama } from './testing/random-llama.ts'
import { referenceLogits } from './testing/reference-model.ts'

/** Three blocks of state, the last one partly filled, and more rows than any kernel processes at once. */
const TOKENS = Array.from({ length: 150 }, (_, index) => (index * 37 + ((index * index) % 11)) % 260)
/** Of the eight frequencies, some are kept, some are divided, and one is on the ramp between the two. */
const LLAMA3: Llama3Scaling = {
  rope_type: 'llama3',
  factor: 8,
  low_freq_factor: 1,
  high_freq_factor: 4,
  original_max_position_embeddings: 128,
}

const CASES = (['llama', 'qwen2'] as const).flatMap((family) =>
  [
    { title: 'plain', seed: 1 },
    { title: 'tied', seed: 2, tied: true },
    { title: 'with the RoPE of Llama 3', seed: 3, scaling: LLAMA3 },
    {
      title: 'tied, with one key and value head and the RoPE of Llama 3',
      seed: 4,
      tied: true,
      kvHeads: 1,
      scaling: LLAMA3,
    },
    { title: 'without shared heads', seed: 5, kvHeads: 4 },
  ].map((options) => ({ family, ...options })),
)
/** Crosses a block boundary of the state, so one block is freed. */
const MISTRAL = { family: 'llama', title: 'with the window of Mistral', seed: 8, window: 50 } as const

const logits = (files: readonly File[], weights: 'auto' | 'f32' | 'w8' | 'w4' = 'auto') =>
  withBuilt(files, { weights }, (built) => logitsOf(built, TOKENS))

const fromGguf = async (model: RandomModel, dtype?: FloatType) => logits([await ggufFile(model, dtype)])

describe('full precision', () => {
  test.each([...CASES, MISTRAL])(
    '$family, $title: GGUF and safetensors give the logits of the definition',
    async (options) => {
      const model = randomLlama(options)
      const gguf = await fromGguf(model)
      const safetensors = await logits(safetensorsFiles(model))
      expect(largestDifference(gguf, safetensors)).toBeLessThan(1e-5)
      const right = referenceLogits(model, TOKENS)
      expect(largestDifference(gguf, right)).toBeLessThan(1e-4)
      expect(largestDifference(safetensors, right)).toBeLessThan(1e-4)
    },
  )

  test('a window changes later positions', () => {
    const [all, some] = [undefined, 50].map((window) =>
      referenceLogits(randomLlama({ seed: 8, window }), TOKENS),
    )
    expect(largestDifference(all!.slice(0, 50), some!.slice(0, 50))).toBe(0)
    expect(largestDifference(all!.slice(50), some!.slice(50))).toBeGreaterThan(0.1)
  })

  test('Llama 3 scaling changes RoPE at the positions of the tests above', () => {
    const [plain, scaled] = [undefined, LLAMA3].map((scaling) =>
      referenceLogits(randomLlama({ seed: 3, scaling }), TOKENS),
    )
    expect(largestDifference(plain!, scaled!)).toBeGreaterThan(0.1)
  })
})

describe('half precision', () => {
  const model = randomLlama({ family: 'qwen2', seed: 6 })

  test.each(['F16', 'BF16'] as const)('%s is read unchanged', async (dtype) => {
    const fromFile = [await fromGguf(model, dtype), await logits(safetensorsFiles(model, dtype))]
    // A GGUF file stores its vectors in F32.
    for (const [index, rows] of fromFile.entries()) {
      const right = referenceLogits(rounded(model, dtype, index === 1), TOKENS)
      expect(largestDifference(rows, right)).toBeLessThan(1e-4)
    }
    const unrounded = referenceLogits(model, TOKENS)
    expect(largestDifference(fromFile[0]!, unrounded)).toBeGreaterThan(1e-3)
  })

  test('weights computed in f32 have the exact values of the file', async () => {
    const right = referenceLogits(rounded(model, 'F16', true), TOKENS)
    expect(largestDifference(await logits(safetensorsFiles(model, 'F16'), 'f32'), right)).toBeLessThan(1e-4)
  })
})

// A misplaced scale or code gives an error near 1. Measured: w8 0.022 to 0.032, w4 0.20 to 0.28, which is the
// error of rounding random weights to that many bits over two layers.
describe('quantised while it is loaded', () => {
  test.each([
    { family: 'llama', weights: 'w8', bound: 0.05 },
    { family: 'llama', weights: 'w4', bound: 0.4 },
    { family: 'qwen2', weights: 'w8', bound: 0.05 },
    { family: 'qwen2', weights: 'w4', bound: 0.4 },
  ] as const)(
    '$family in $weights stays within $bound of the definition',
    async ({ family, weights, bound }) => {
      const model = randomLlama({ family, seed: 7 })
      const right = referenceLogits(model, TOKENS)
      const gguf = await logits([await ggufFile(model)], weights)
      const safetensors = await logits(safetensorsFiles(model), weights)
      expect(relativeError(gguf, right)).toBeLessThan(bound)
      expect(relativeError(safetensors, right)).toBeLessThan(bound)
      // The two files order rows differently but do not split groups, so only the order of sums differs.
      expect(relativeError(gguf, safetensors)).toBeLessThan(bound / 2)
    },
  )
})
