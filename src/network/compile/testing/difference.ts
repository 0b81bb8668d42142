// Compares the results of a compiled graph with the evaluator's. In: two tensors, and how far rounding moves
// each element. Out: the first difference, in words.
import type { Tensor } from '../../onnx/ir/tensor.ts'

/** The evaluator sums in f64 and its functions are exact; f32 sums differ by rounding. */
const TOLERANCE = 2e-4
/**
 * Tolerance, as a multiple of how much an element changes when its inputs round differently. For a norm of
 * nearly equal numbers, the rounding of its input determines the error.
 */
const ROUNDINGS = 8

/** `spread` is called only if elements differ, because it computes the graph several times. */
export function difference(
  wanted: Tensor,
  found: Tensor | undefined,
  spread: () => Float64Array,
): string | undefined {
  if (`${found?.dims}` !== `${wanted.dims}`) return `dims [${found?.dims}] instead of [${wanted.dims}]`
  for (let at = 0; at < wanted.data.length; at++) {
    const a = Number(wanted.data[at])
    const b = Number(found!.data[at])
    const isSame = Object.is(a, b) || a === b || Math.abs(a - b) <= TOLERANCE * Math.max(1, Math.abs(a))
    if (isSame) continue
    const moved = spread()[at]!
    if (!(Math.abs(a - b) <= ROUNDINGS * moved))
      return `${b} instead of ${a} at ${at}, which rounding moves by ${moved}`
  }
  return undefined
}
