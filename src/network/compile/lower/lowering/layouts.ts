// Changes the layout of elements: other dims, padding, concatenation along an axis.
import type { Node } from '../../../onnx/ir/graph.ts'
import { countOf } from '../../../onnx/ir/tensor.ts'
import {
  dimsOf,
  isAll,
  isConstant,
  type PlaceLoop,
  type Ref,
  refTo,
  turnedRef,
  unturned,
  type Value,
} from '../../loops/loops.ts'
import { number } from '../../loops/tree.ts'
import { reshaped, sliced, type View, whole } from '../../loops/view.ts'
import { copy, filled, filledWith, orderFor } from './loops.ts'
import type { Lowering } from './lowering.ts'
import { misfit } from './misfit.ts'

/** The same elements through another view; nothing is moved. */
export function viewed(lowering: Lowering, node: Node, output: string, ref: Ref): void {
  lowering.views.nodes++
  // The saving, because a copy would read and write each element.
  lowering.views.bytes += 8 * countOf(dimsOf(ref))
  const isCopied = lowering.leftOut.has('views') && !isConstant(ref.value)
  lowering.values.name(output, isCopied ? copy(lowering, node, ref) : ref)
}

/** The same elements with different dims; a copy if strides cannot express it. */
export function reshape(lowering: Lowering, node: Node, ref: Ref, dims: readonly number[]): Ref {
  const count = countOf(dimsOf(ref))
  if (count !== countOf(dims))
    throw misfit(node, `${count} elements cannot have the shape [${dims.join(', ')}]`)
  const view = reshaped(ref.view, dims)
  return view === undefined ? reshape(lowering, node, copy(lowering, node, ref), dims) : { ...ref, view }
}

/**
 * The value padded with one number, or with that of a scalar; `around` gives the padding before and after
 * each axis. `perm`: the order of its axes in memory. Default: that of the input.
 */
export function padded(
  lowering: Lowering,
  node: Node,
  ref: Ref,
  around: readonly (readonly [number, number])[],
  fill: number | Ref,
  perm = orderFor(lowering, [ref], dimsOf(ref)),
): Ref {
  if (perm === undefined) return border(lowering, node, ref, around, fill)
  const turned = perm.map((axis) => around[axis]!)
  return unturned(border(lowering, node, turnedRef(ref, perm), turned, fill), perm)
}

function border(
  lowering: Lowering,
  node: Node,
  ref: Ref,
  around: readonly (readonly [number, number])[],
  fill: number | Ref,
): Ref {
  const own = dimsOf(ref)
  const dims = own.map((size, axis) => size + around[axis]![0] + around[axis]![1])
  const { kind, isByte } = ref.value
  const out = lowering.values.make(node.name, kind, dims, isByte)
  const place = (from: Ref, at: View): void =>
    lowering.add({ loop: 'place', node: node.name, mapping: 'shuffle', out, args: [from], at })
  let rest = whole(dims)
  for (const [axis, [before, after]] of around.entries()) {
    const size = own[axis]!
    // The padding before and after the input along this axis. Along earlier axes it covers only the input's
    // extent.
    for (const [start, count] of [
      [0, before],
      [before + size, after],
    ] as const) {
      const at = sliced(rest, axis, start, count)
      if (countOf(at.dims) === 0) continue
      const filling =
        typeof fill === 'number'
          ? filled(lowering, node, number(fill, kind), at.dims)
          : filledWith(lowering, node, fill, at.dims)
      place(filling, at)
    }
    rest = sliced(rest, axis, before, size)
  }
  if (countOf(own) > 0) place(ref, rest)
  return refTo(out)
}

/**
 * Concatenates parts along an axis, in the order in which the largest part's axes are in memory. Each is
 * written directly to its place by the loop that computes it, if that is legal.
 */
export function joined(
  lowering: Lowering,
  node: Node,
  name: string,
  parts: readonly Ref[],
  axis: number,
): Ref {
  const largest = parts.reduce((most, part) => (countOf(dimsOf(part)) > countOf(dimsOf(most)) ? part : most))
  const perm = orderFor(lowering, [largest], dimsOf(largest))
  if (perm === undefined) return sideBySide(lowering, node, name, parts, axis)
  const turned = parts.map((part) => turnedRef(part, perm))
  return unturned(sideBySide(lowering, node, name, turned, perm.indexOf(axis)), perm)
}

function sideBySide(lowering: Lowering, node: Node, name: string, parts: readonly Ref[], axis: number): Ref {
  const [first] = parts as [Ref]
  const count = parts.reduce((sum, part) => sum + dimsOf(part)[axis]!, 0)
  const out = lowering.values.make(name, first.value.kind, dimsOf(first).with(axis, count))
  let from = 0
  for (const part of parts) {
    const size = dimsOf(part)[axis]!
    const at = sliced(whole(out.dims), axis, from, size)
    from += size
    if (size > 0) placed(lowering, node, out, part, at)
  }
  return refTo(out)
}

/** Writes a reference to a part of a value, in the loop that computes it if that is legal. */
export function placed(lowering: Lowering, node: Node, out: Value, part: Ref, at: View): void {
  lowering.add({ loop: 'place', node: node.name, mapping: 'shuffle', out, ...inOwnSpace(part, at) })
}

/** A value that is placed as a whole keeps its own dims, which are those of the loop that computes it. */
function inOwnSpace(part: Ref, at: View): Pick<PlaceLoop, 'args' | 'at'> {
  const own = isAll(part) ? reshaped(at, part.value.dims) : undefined
  return own === undefined ? { args: [part], at } : { args: [refTo(part.value)], at: own }
}
