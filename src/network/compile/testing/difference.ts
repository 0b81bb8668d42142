// Compares the results of a compiled graph with the evaluator's. In: two tensors, and how far roundings
// move each element. Out: the first difference, in words.
import type { Tensor } from '../../onnx/ir/tensor.ts'

/** The evaluator adds up in f64 and its functions are exact; sums of f32 differ by their roundings. */
const TOLERANCE = 2e-4
/**
 * How many times further than other roundings move an element it may be off: a norm of nearly equal numbers
 * is as far from the exact one as its input's roundings make it.
 */
const ROUNDINGS = 8

/** `spread` is called only if elements differ: it computes the graph several times. */
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
      return `${b} instead of ${a} at ${at}, which roundings move by ${moved}`
  }
  return undefined
}
