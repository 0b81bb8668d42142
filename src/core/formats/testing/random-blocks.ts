// Random blocks. In: a dtype and a seed. Out: stored blocks with random codes and finite scales.
import { floatToHalf } from '../../base/half.ts'
import { BLOCKS } from '../dtypes.ts'
import type { CodedDType } from '../tensors.ts'

/** Byte offsets of the f16 numbers in a block. */
const HALVES: Readonly<Record<CodedDType, readonly number[]>> = {
  Q8_1: [0, 2],
  Q5_0: [0],
  Q5_1: [0, 2],
  Q2_K: [80, 82],
  Q3_K: [108],
  Q4_K: [0, 2],
  Q5_K: [0, 2],
  Q6_K: [208],
  IQ1_S: [0],
  IQ1_M: [],
  IQ2_XXS: [0],
  IQ2_XS: [0],
  IQ2_S: [0],
  IQ3_XXS: [0],
  IQ3_S: [0],
  IQ4_NL: [0],
  IQ4_XS: [0],
  Q1_0: [0],
  Q2_0: [0],
  TQ1_0: [52],
  TQ2_0: [64],
  MXFP4: [],
  NVFP4: [],
}

export const CODED_DTYPES = Object.keys(HALVES) as readonly CodedDType[]

/** With `scale`, every f16 in a block has this value, which gives usable weights for a test model. */
export function randomBlocks(dtype: CodedDType, count: number, seed: number, scale?: number): Uint8Array {
  const { bytes } = BLOCKS[dtype]
  // Not the tests' usual generator: the readers' tests contain llama.cpp's hashes of exactly these bytes.
  let state = seed
  const blocks = Uint8Array.from({ length: count * bytes }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state >>> 24
  })
  for (let block = 0; block < count; block++) {
    // Without the highest exponent bit, an f16 is below 2 and neither infinite nor NaN.
    for (const offset of HALVES[dtype]) {
      const at = block * bytes + offset
      blocks[at + 1]! &= 0xbf
      if (scale !== undefined) new DataView(blocks.buffer).setUint16(at, floatToHalf(scale), true)
    }
    if (dtype === 'IQ1_M') setSplitHalf(blocks.subarray(block * bytes + 48), scale)
    // Small scales, because random ones reach 448.
    if (dtype === 'NVFP4' && scale !== undefined) {
      for (let run = 0; run < 4; run++) blocks[block * bytes + run]! &= 7
    }
    // Use exponents that both f32 and f16 can represent.
    if (dtype === 'MXFP4') {
      const exponent = scale === undefined ? blocks[block * bytes]! & 15 : Math.log2(scale) + 22
      blocks[block * bytes] = 106 + Math.round(exponent)
    }
  }
  return blocks
}

/** The f16 of IQ1_M is spread over the high nibbles of four words. */
function setSplitHalf(words: Uint8Array, scale: number | undefined): void {
  if (scale === undefined) words[7]! &= 0xbf
  else {
    const pattern = floatToHalf(scale)
    for (let i = 0; i < 4; i++)
      words[2 * i + 1] = (words[2 * i + 1]! & 15) | (((pattern >>> (4 * i)) & 15) << 4)
  }
}
