// Chooses the encoding of a weight in memory from the caller's policy, its role, and its dtypes in the file.

import type { Encoding } from '../abi/encodings.ts'
import type { DType } from '../formats/tensors.ts'

/**
 * `auto`: the file's own precision. `f32`: everything dequantised. `w8`, `w4`: matrices in 8 or 4 bits.
 * Matrices that already have so few bits are kept, and in `w4` IQ2_XXS and IQ3_XXS take the nearest codes.
 * The embedding and the logits matrix keep 8 bits unless the file itself has 4. `w4_channel`: the same,
 * with all other matrices in 4 bits under one scale per output.
 */
export type WeightPolicy = 'auto' | 'f32' | 'w8' | 'w4' | 'w4_channel'
export const WEIGHT_POLICIES: readonly WeightPolicy[] = ['auto', 'f32', 'w8', 'w4', 'w4_channel']

/**
 * `table`: the embedding, the logits matrix or both in one. `vector`: norm weights and biases, always f32.
 */
export type WeightRole = 'matrix' | 'table' | 'vector'

const OWN: Readonly<Record<DType, Encoding>> = {
  F32: 'f32',
  F16: 'f16',
  BF16: 'bf16',
  Q8_0: 'w8_g32',
  Q4_0: 'w4_g32',
  Q4_1: 'w4m_g32',
  Q4_K: 'w4m_g32',
  IQ3_S: 'w4m_g32',
  IQ1_S: 'w4m_g32',
  Q1_0: 'w4_g32',
  Q2_0: 'w4_g32',
  TQ1_0: 'w4_g32',
  TQ2_0: 'w4_g32',
  Q8_1: 'w8_g32',
  Q5_0: 'w8_g32',
  IQ2_XXS: 'w8_g32',
  IQ3_XXS: 'w8_g32',
  IQ4_NL: 'w8_g32',
  IQ4_XS: 'w8_g32',
  MXFP4: 'w8_g32',
  // No kernel has groups of 16 or minimums under 5 bits, and 8 bits under one scale come nearest.
  Q5_1: 'w8_g32',
  Q2_K: 'w8_g32',
  Q3_K: 'w8_g32',
  Q5_K: 'w8_g32',
  Q6_K: 'w8_g32',
  IQ2_XS: 'w8_g32',
  IQ2_S: 'w8_g32',
  IQ1_M: 'w8_g32',
  NVFP4: 'w8_g32',
}
/** Types whose levels are spaced evenly enough to be approximated by 4 bits. */
const NEARLY_FOUR_BIT: readonly DType[] = ['IQ2_XXS', 'IQ3_XXS']
const FLOATS: readonly DType[] = ['F32', 'F16', 'BF16']
const FOUR_BIT: readonly DType[] = [
  'Q4_0',
  'Q4_1',
  'Q4_K',
  'IQ3_S',
  'IQ1_S',
  'Q1_0',
  'Q2_0',
  'TQ1_0',
  'TQ2_0',
]

export const isFloat = (dtype: DType): boolean => FLOATS.includes(dtype)

/** The encoding of a weight whose parts have these dtypes. A merged matrix has several parts. */
export function chooseEncoding(policy: WeightPolicy, role: WeightRole, dtypes: readonly DType[]): Encoding {
  if (role === 'vector' || policy === 'f32') return 'f32'
  if (policy === 'auto') return lossless(dtypes)
  if (policy === 'w4_channel' && role === 'matrix') return policy
  if (policy === 'w4' && role === 'matrix' && dtypes.every((dtype) => NEARLY_FOUR_BIT.includes(dtype)))
    return 'w4m_g32'
  const isKept = (dtype: DType) =>
    policy === 'w4' && role === 'matrix' ? FOUR_BIT.includes(dtype) : !isFloat(dtype)
  if (dtypes.every(isKept)) return lossless(dtypes)
  return policy === 'w4' && role === 'matrix' ? 'w4_g32' : 'w8_g32'
}

/** The smallest encoding that stores every part as `auto` would store it alone. A Q4_0 group is also a w8
 * group with the same scale, and a w4m group with the minimum -8 scales. Other mixtures become f32.
 */
function lossless(dtypes: readonly DType[]): Encoding {
  const [own, ...others] = new Set(dtypes.map((dtype) => OWN[dtype]))
  if (own === undefined) return 'f32'
  if (others.length === 0) return own
  if (dtypes.every((dtype) => dtype === 'Q4_0' || dtype === 'Q4_1')) return 'w4m_g32'
  if (dtypes.every((dtype) => dtype === 'Q4_0' || OWN[dtype] === 'w8_g32')) return 'w8_g32'
  return 'f32'
}
