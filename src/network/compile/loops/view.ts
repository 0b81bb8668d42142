// Views: maps from a shape's elements to positions in a buffer, by an offset and strides.
import { countOf, stridesOf } from '../../onnx/ir/tensor.ts'

/** In elements. A stride of 0 repeats an element. */
export interface View {
  readonly offset: number
  readonly dims: readonly number[]
  readonly strides: readonly number[]
}

export const whole = (dims: readonly number[]): View => ({ offset: 0, dims, strides: stridesOf(dims) })

export const transposed = ({ offset, dims, strides }: View, perm: readonly number[]): View => ({
  offset,
  dims: perm.map((axis) => dims[axis]!),
  strides: perm.map((axis) => strides[axis]!),
})

/** The axes in memory order: axes of size one first, then by descending stride. */
export function orderOf({ dims, strides }: View): number[] {
  const steps = strides.map((step, axis) => (dims[axis] === 1 ? Number.MAX_SAFE_INTEGER : step))
  return steps.map((_, axis) => axis).sort((a, b) => steps[b]! - steps[a]! || a - b)
}

/** The inverse of an order. */
export const inverseOf = (perm: readonly number[]): number[] => perm.map((_, axis) => perm.indexOf(axis))

/** The same elements, broadcast to a larger shape. */
export function spread({ offset, dims, strides }: View, to: readonly number[]): View {
  const more = to.length - dims.length
  return {
    offset,
    dims: to,
    strides: to.map((size, axis) => {
      const own = axis < more ? 1 : dims[axis - more]!
      return own === 1 && size !== 1 ? 0 : axis < more ? 0 : strides[axis - more]!
    }),
  }
}

/** `count` elements of an axis from `first`, every `step`-th. */
export const sliced = (view: View, axis: number, first: number, count: number, step = 1): View => ({
  offset: view.offset + first * view.strides[axis]!,
  dims: view.dims.with(axis, count),
  strides: view.strides.with(axis, view.strides[axis]! * step),
})

/** The same view without axes of size one, and with contiguous adjacent axes merged. */
export function collapsed({ offset, dims, strides }: View): View {
  const sizes: number[] = []
  const steps: number[] = []
  for (const [axis, size] of dims.entries()) {
    if (size === 1) continue
    const last = steps.length - 1
    if (last >= 0 && steps[last] === strides[axis]! * size) {
      sizes[last]! *= size
      steps[last] = strides[axis]!
    } else {
      sizes.push(size)
      steps.push(strides[axis]!)
    }
  }
  return { offset, dims: sizes, strides: steps }
}

/** The same elements in the same order with different dims; undefined if strides cannot express that. */
export function reshaped(view: View, to: readonly number[]): View | undefined {
  if (countOf(to) === 0) return { offset: 0, dims: to, strides: to.map(() => 0) }
  const from = collapsed(view)
  const strides: number[] = to.map(() => 0)
  let axis = from.dims.length - 1
  let left = axis < 0 ? 1 : from.dims[axis]!
  let step = axis < 0 ? 0 : from.strides[axis]!
  for (let at = to.length - 1; at >= 0; at--) {
    const size = to[at]!
    if (size === 1) continue
    if (left === 1) {
      axis--
      left = from.dims[axis]!
      step = from.strides[axis]!
    }
    if (left % size !== 0) return undefined
    strides[at] = step
    left /= size
    step *= size
  }
  return { offset: view.offset, dims: to, strides }
}

/** Whether the view covers a whole buffer of this shape, in order. */
export function isWhole({ offset, dims, strides }: View, of: readonly number[]): boolean {
  if (offset !== 0 || countOf(dims) !== countOf(of)) return false
  const due = stridesOf(dims)
  return dims.every((size, axis) => size === 1 || strides[axis] === due[axis])
}
