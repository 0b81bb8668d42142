// GGUF types, end to end. In: a random Llama whose matrices have one block type, or a mix like published
// files. Out: the logits of the same weights in f32, within the error of 8-bit activations.
import { expect, test } from 'vitest'
import type { CodedDType } from '../src/formats/tensors.ts'
import { CODED_DTYPES } from '../src/formats/testing/random-blocks.ts'
import { logitsOf, relativeError, withBuilt } from './testing/node-engine.ts'
import { randomLlama } from './testing/random-llama.ts'
import { typedGguf } from './testing/typed-gguf.ts'

const TOKENS = Array.from({ length: 40 }, (_, index) => (index * 37) % 256)
const SMALL = randomLlama({ seed: 9, layers: 1, heads: 4, kvHeads: 2, headDim: 64, intermediate: 512 })

const modelIn = (dtypeOf: (name: string) => CodedDType) => typedGguf(SMALL, dtypeOf)

async function differenceFromF32(file: File): Promise<number> {
  const logits = (weights: 'auto' | 'f32') =>
    withBuilt([file], { weights }, (built) => logitsOf(built, TOKENS))
  return relativeError(await logits('auto'), await logits('f32'))
}

test.each(CODED_DTYPES)('%s gives the logits of its values in f32', async (dtype) => {
  expect(await differenceFromF32(await modelIn(() => dtype))).toBeLessThan(0.03)
})

test('a mix like Q4_K_M, with values and down projections in Q6_K', async () => {
  const mix = (name: string) => (/attn_v|ffn_down/.test(name) ? 'Q6_K' : 'Q4_K')
  expect(await differenceFromF32(await modelIn(mix))).toBeLessThan(0.03)
})
