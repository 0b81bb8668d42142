// Types of GGUF, end to end. In: a random Llama whose matrices are blocks of one type, or a mix as people download. Out:
// the logits of the same weights in f32, as near as 8-bit activations let them be.
import { expect, test } from 'vitest'
import { BLOCKS } from '../src/formats/dtypes.ts'
import type { CodedDType } from '../src/formats/tensors.ts'
import { CODED_DTYPES, randomBlocks } from '../src/formats/test/random-blocks.ts'
import { ggufBytes } from './support/gguf-writer.ts'
import { ggufContents } from './support/model-files.ts'
import { logitsOf, relativeError, withBuilt } from './support/node-engine.ts'
import { randomLlama } from './support/random-llama.ts'

const TOKENS = Array.from({ length: 40 }, (_, index) => (index * 37) % 256)
const SMALL = randomLlama({ seed: 9, layers: 1, heads: 4, kvHeads: 2, headDim: 64, intermediate: 512 })

/** Scales that make weights of about 0.02. */
const SCALES: Readonly<Record<CodedDType, number>> = {
  ...{ Q5_0: 2e-3, Q5_1: 1e-3, Q2_K: 1e-3, Q3_K: 5e-4, Q4_K: 5e-5, Q5_K: 3e-5, Q6_K: 1.5e-5 },
  ...{ IQ4_NL: 3e-4, IQ4_XS: 2e-5, TQ1_0: 0.02, TQ2_0: 0.02, MXFP4: 2 ** -8 },
}

/** The model with every matrix of a layer in the type that `dtypeOf` names; the embedding stays F32. */
async function modelIn(dtypeOf: (name: string) => CodedDType): Promise<File> {
  const contents = ggufContents(SMALL, 'F32')
  const tensors = contents.tensors.map((tensor, seed) => {
    const [rows, k] = tensor.shape
    if (k === undefined || rows === undefined || !tensor.name.startsWith('blk.')) return tensor
    const dtype = dtypeOf(tensor.name)
    const bytes = randomBlocks(dtype, (rows * k) / BLOCKS[dtype].elements, seed + 1, SCALES[dtype])
    return { ...tensor, dtype, data: () => [bytes] }
  })
  return new File([new Uint8Array(await ggufBytes({ ...contents, tensors }))], 'types.gguf')
}

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
