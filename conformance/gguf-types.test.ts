// Types of GGUF, end to end. In: a random Llama whose matrices are blocks of one type, or a mix as people download. Out:
// the logits of the same weights in f32, as near as 8-bit activations let them be.
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

test.each(CODED_DTYPES)('%s computes what its values in f32 compute', async (dtype) => {
  expect(await differenceFromF32(await modelIn(() => dtype))).toBeLessThan(0.03)
})

test('a mix as in Q4_K_M, its values and downward matrices in Q6_K', async () => {
  const mix = (name: string) => (/attn_v|ffn_down/.test(name) ? 'Q6_K' : 'Q4_K')
  expect(await differenceFromF32(await modelIn(mix))).toBeLessThan(0.03)
})
