// GGUF types, end to end. In: a random Llama whose matrices have one block type, or a mix as in published
// files. Out: the logits of the same weights in f32, within the error of 8-bit activations, and llama.cpp's.
import { expect, test } from 'vitest'
import type { CodedDType } from '../../src/core/formats/tensors.ts'
import { CODED_DTYPES } from '../../src/core/formats/testing/random-blocks.ts'
import { centred, llamaCppAddon, llamaCppLogProbabilities, logProbabilities } from './testing/llama-cpp.ts'
import { logitsOf, relativeError, withBuilt } from './testing/node-engine.ts'
import { randomLlama } from './testing/random-llama.ts'
import { typedGguf } from './testing/writers/typed-gguf.ts'

const TOKENS = Array.from({ length: 40 }, (_, index) => (index * 37) % 256)
const SMALL = randomLlama({ seed: 9, layers: 1, heads: 4, kvHeads: 2, headDim: 64, intermediate: 512 })

const modelIn = (dtypeOf: (name: string) => CodedDType) => typedGguf(SMALL, dtypeOf)

async function differenceFromF32(file: File, policy: 'auto' | 'w4' = 'auto'): Promise<number> {
  const logits = (weights: 'auto' | 'w4' | 'f32') =>
    withBuilt([file], { weights }, (built) => logitsOf(built, TOKENS))
  return relativeError(await logits(policy), await logits('f32'))
}

test.each(CODED_DTYPES)('%s gives the logits of its values in f32', async (dtype) => {
  expect(await differenceFromF32(await modelIn(() => dtype))).toBeLessThan(0.03)
})

test.each(['IQ2_XXS', 'IQ3_XXS'] as const)('%s in w4 stays close', async (dtype) => {
  expect(await differenceFromF32(await modelIn(() => dtype), 'w4')).toBeLessThan(0.03)
})

const addon = llamaCppAddon()
if (addon === undefined)
  console.warn('skipped: the comparison with llama.cpp needs @node-llama-cpp/linux-x64')

/** llama.cpp cannot run models in Q8_1. It rounds activations to 8 bits, for most types in groups of 256. */
const NATIVE = CODED_DTYPES.filter((dtype) => dtype !== 'Q8_1')

async function differenceFromLlamaCpp(file: File, weights: 'f32' | 'auto'): Promise<number> {
  const right = await llamaCppLogProbabilities(file, TOKENS, addon ?? '')
  const rows = await withBuilt([file], { weights }, (built) => logitsOf(built, TOKENS))
  return relativeError(rows.map(logProbabilities).map(centred), right.map(centred))
}

test.skipIf(addon === undefined).each(NATIVE)("%s gives llama.cpp's probabilities", async (dtype) => {
  const file = await modelIn(() => dtype)
  expect(await differenceFromLlamaCpp(file, 'f32')).toBeLessThan(0.03)
  expect(await differenceFromLlamaCpp(file, 'auto')).toBeLessThan(0.03)
})

const scaleOf = (name: string) => [/attn/.test(name) ? 1.7 : 0.6]

test.skipIf(addon === undefined)('matrices in NVFP4 are multiplied by their scales', async () => {
  const file = await typedGguf(SMALL, () => 'NVFP4', scaleOf)
  expect(await differenceFromLlamaCpp(file, 'f32')).toBeLessThan(0.03)
  expect(await differenceFromLlamaCpp(file, 'auto')).toBeLessThan(0.03)
})

test('scales that are neither single nor one per expert are a format error', async () => {
  const file = await typedGguf(
    SMALL,
    () => 'NVFP4',
    () => [1, 2],
  )
  await expect(withBuilt([file], {}, async () => undefined)).rejects.toMatchObject({
    code: 'format',
    message: expect.stringMatching(/blk.0.attn_q.weight.*F32 \[2\] but must be F32 \[1\]/),
  })
})

test('a mix like Q4_K_M, with values and down projections in Q6_K', async () => {
  const mix = (name: string) => (/attn_v|ffn_down/.test(name) ? 'Q6_K' : 'Q4_K')
  expect(await differenceFromF32(await modelIn(mix))).toBeLessThan(0.03)
})
