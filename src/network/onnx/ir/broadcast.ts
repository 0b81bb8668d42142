// Broadcasting: the common shape of several inputs, and the input elements that each output element reads.
import type { Dim } from './dims.ts'
import type { Node } from './graph.ts'
import { unfit } from './operator.ts'
import { countToMake, stridesOf } from './tensor.ts'

/** Not `Math.max(...)`: a node may have more inputs than a call can have arguments. */
const mostAxes = (shapes: readonly (readonly Dim[])[]): number =>
  shapes.reduce((most, { length }) => Math.max(most, length), 0)

/** NumPy's rule. Throws `format` for incompatible sizes. */
export function broadcast(node: Node, shapes: readonly (readonly number[])[]): number[] {
  const rank = mostAxes(shapes)
  return Array.from({ length: rank }, (_, axis) => {
    let size = 1
    for (const shape of shapes) {
      const own = shape[axis - rank + shape.length] ?? 1
      if (own === 1 || own === size) continue
      if (size !== 1) throw unfit(node, `sizes ${size} and ${own} at axis ${axis} of its inputs differ`)
      size = own
    }
    return size
  })
}

/**
 * Like `broadcast`, with symbolic dims. A symbol and a known size above 1 result in that size; a run in which
 * the symbol differs fails. Two symbols that may differ result in undefined.
 */
export function broadcastDims(
  node: Node,
  shapes: readonly (readonly Dim[] | undefined)[],
): readonly Dim[] | undefined {
  const known = shapes.filter((shape) => shape !== undefined)
  if (known.length < shapes.length) return undefined
  const rank = mostAxes(known)
  const dims: Dim[] = []
  for (let axis = 0; axis < rank; axis++) {
    let size: Dim = 1
    for (const shape of known) {
      const own: Dim = shape[axis - rank + shape.length] ?? 1
      if (own === 1 || own === size) continue
      if (size === 1) size = own
      else if (typeof own === 'number' && typeof size === 'number')
        throw unfit(node, `sizes ${size} and ${own} at axis ${axis} of its inputs differ`)
      else if (typeof own === 'number') size = own
      else if (typeof size !== 'number') return undefined
    }
    dims.push(size)
  }
  return dims
}

/** For each element of `dims` in row-major order, its index in a tensor of shape `own`. */
export function broadcastIndices(own: readonly number[], dims: readonly number[]): Int32Array {
  if (own.every((size) => size === 1)) return new Int32Array(countToMake(dims))
  const strides = stridesOf(own)
  const steps = dims.map((_, axis) => {
    const at = axis - dims.length + own.length
    return at < 0 || own[at] === 1 ? 0 : strides[at]!
  })
  return walk(dims, steps)
}

/** For each element of `dims` in row-major order, the sum of its coordinates times `steps`, plus `from`. */
export function walk(dims: readonly number[], steps: readonly number[], from = 0): Int32Array {
  const count = countToMake(dims)
  const indices = new Int32Array(count)
  const last = dims.length - 1
  const inner = dims[last] ?? 1
  const step = steps[last] ?? 0
  const at = dims.map(() => 0)
  let index = from
  for (let next = 0; next < count; ) {
    for (let end = next + inner, own = index; next < end; own += step) indices[next++] = own
    for (let axis = last - 1; axis >= 0; axis--) {
      index += steps[axis]!
      if (++at[axis]! < dims[axis]!) break
      index -= steps[axis]! * dims[axis]!
      at[axis] = 0
    }
  }
  return indices
}

/** An axis counted from the front. Throws `format` if the tensor has no such axis. */
export function axisOf(node: Node, axis: number, rank: number): number {
  const at = axis < 0 ? axis + rank : axis
  if (at >= 0 && at < rank) return at
  throw unfit(node, `axis ${axis} is outside its input, which has ${rank} dimensions`)
}
