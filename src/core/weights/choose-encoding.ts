// Chooses the encoding of a weight in memory from the caller's policy, its role, and its dtypes in the file.

import type { Encoding } from '../abi/encodings.ts'
import type { DType } from '../formats/tensors.ts'
import { PACKINGS } from './pack/packings.ts'
import type { WeightPolicy } from './policy.ts'

/**
 * `table`: the embedding, the logits matrix or both in one. `vector`: norm weights and biases, always f32.
 */
export type WeightRole = 'matrix' | 'table' | 'vector'

const FLOATS: readonly Encoding[] = ['f32', 'f16', 'bf16']

const ownOf = (dtype: DType): Encoding => PACKINGS[dtype].own

export const isFloat = (dtype: DType): boolean => FLOATS.includes(ownOf(dtype))

const isFourBit = (dtype: DType): boolean => ownOf(dtype) === 'w4_g32' || ownOf(dtype) === 'w4m_g32'

/** The encoding of a weight whose parts have these dtypes. A merged matrix has several parts. */
export function chooseEncoding(policy: WeightPolicy, role: WeightRole, dtypes: readonly DType[]): Encoding {
  if (role === 'vector' || policy === 'f32') return 'f32'
  if (policy === 'auto') return lossless(dtypes)
  if (policy === 'w4_channel' && role === 'matrix') return policy
  if (policy === 'w4' && role === 'matrix' && dtypes.every((dtype) => PACKINGS[dtype].nearest))
    return 'w4m_g32'
  const isKept = (dtype: DType) => (policy === 'w4' && role === 'matrix' ? isFourBit(dtype) : !isFloat(dtype))
  if (dtypes.every(isKept)) return lossless(dtypes)
  return policy === 'w4' && role === 'matrix' ? 'w4_g32' : 'w8_g32'
}

/**
 * The smallest encoding that holds every part as `auto` would hold it alone. A Q4_0 group is also a w8 group
 * with the same scale, and a w4m group with the minimum -8 scales. Other mixtures become f32.
 */
function lossless(dtypes: readonly DType[]): Encoding {
  const [own, ...others] = new Set(dtypes.map(ownOf))
  if (own === undefined) return 'f32'
  if (others.length === 0) return own
  if (dtypes.every((dtype) => dtype === 'Q4_0' || dtype === 'Q4_1')) return 'w4m_g32'
  if (dtypes.every((dtype) => dtype === 'Q4_0' || ownOf(dtype) === 'w8_g32')) return 'w8_g32'
  return 'f32'
}
