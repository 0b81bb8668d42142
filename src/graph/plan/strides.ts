// Strides. In: how many columns a value has. Out: bytes from one of its rows to the next.
import { GROUP_SIZE, roundUp } from '../../abi/encodings.ts'

/** Bytes of a row of f32, padded with zeros to a whole group. */
export const floatStride = (width: number): number => roundUp(width, GROUP_SIZE) * 4

/** Bytes of a row of int8 codes, scales and sums. */
export function a8Stride(width: number): number {
  const codes = roundUp(width, GROUP_SIZE)
  return roundUp(codes + 8 * (codes / GROUP_SIZE), 16)
}
