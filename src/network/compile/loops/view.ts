// Views: maps from a shape's elements to positions in a buffer, by an offset and strides. Programs are
// planned by code that no engine has compiled yet, in which loops take a fraction of the time of callbacks.
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
  dims: picked(dims, perm),
  strides: picked(strides, perm),
})

/** The numbers at these places. */
export function picked(from: readonly number[], places: readonly number[]): number[] {
  const found: number[] = []
  for (let at = 0; at < places.length; at++) found.push(from[places[at]!]!)
  return found
}

/** The axes in memory order: axes of size one first, then by descending stride. */
export function orderOf({ dims, strides }: View): number[] {
  const stepOf = (axis: number) => (dims[axis] === 1 ? Number.MAX_SAFE_INTEGER : strides[axis]!)
  const order: number[] = []
  for (let axis = 0; axis < dims.length; axis++) {
    const step = stepOf(axis)
    let at = axis
    for (; at > 0 && stepOf(order[at - 1]!) < step; at--) order[at] = order[at - 1]!
    order[at] = axis
  }
  return order
}

/** The inverse of an order. */
export const inverseOf = (perm: readonly number[]): number[] => perm.map((_, axis) => perm.indexOf(axis))

/** The same elements, broadcast to a larger shape. */
export function spread({ offset, dims, strides }: View, to: readonly number[]): View {
  const more = to.length - dims.length
  const steps: number[] = []
  for (let axis = 0; axis < to.length; axis++) {
    const isRepeated = axis < more || (dims[axis - more] === 1 && to[axis] !== 1)
    steps.push(isRepeated ? 0 : strides[axis - more]!)
  }
  return { offset, dims: to, strides: steps }
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
  for (let axis = 0; axis < dims.length; axis++) {
    const size = dims[axis]!
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
  const strides = Array<number>(to.length).fill(0)
  if (countOf(to) === 0) return { offset: 0, dims: to, strides }
  const from = collapsed(view)
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
  let step = 1
  for (let axis = dims.length - 1; axis >= 0; axis--) {
    if (dims[axis] !== 1 && strides[axis] !== step) return false
    step *= dims[axis]!
  }
  return true
}
