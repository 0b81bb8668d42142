// Known types. In: a tensor in memory. Out: its type, with its elements where shapes may be made of them.
import type { Type } from './graph.ts'
import { type DType, numbersOf, type Tensor } from './tensor.ts'

/** Elements of the longest constant or shape whose values are followed. */
export const MOST_KNOWN = 1024
const FOLLOWED: readonly DType[] = ['i64', 'i32', 'bool']

export function typeOf(tensor: Tensor): Type {
  const { dtype, dims } = tensor
  const isFollowed = tensor.data.length <= MOST_KNOWN && FOLLOWED.includes(dtype)
  return isFollowed ? { dtype, dims, elements: numbersOf(tensor) } : { dtype, dims }
}
