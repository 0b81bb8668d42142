// Makes loops that sum: reductions over axes, and products of matrices.
import type { Node } from '../../../onnx/ir/graph.ts'
import { countOf } from '../../../onnx/ir/tensor.ts'
import { dimsOf, neutralOf, type Reduction, type Ref, refTo } from '../../loops/loops.ts'
import { number } from '../../loops/tree.ts'
import { transposed, whole } from '../../loops/view.ts'
import { reshape } from './layouts.ts'
import { filled } from './loops.ts'
import type { Lowering } from './lowering.ts'

/** The reduction over some axes, which disappear. */
export function reduce(
  lowering: Lowering,
  node: Node,
  ref: Ref,
  axes: readonly number[],
  how: Reduction,
): Ref {
  const dims = dimsOf(ref)
  const kept = dims.map((_, axis) => axis).filter((axis) => !axes.includes(axis))
  const order = { ...ref, view: transposed(ref.view, [...kept, ...axes]) }
  const outer = kept.map((axis) => dims[axis]!)
  const count = countOf(axes.map((axis) => dims[axis]!))
  if (count === 1) return reshape(lowering, node, order, outer)
  // A loop over no elements would write nothing.
  if (count === 0)
    return filled(lowering, node, number(neutralOf(ref.value.kind, how), ref.value.kind), outer)
  const rows = reshape(lowering, node, order, [...outer, count])
  const out = lowering.values.make(node.name, ref.value.kind, outer)
  lowering.add({ loop: 'reduce', node: node.name, mapping: 'many-to-many', out, args: [rows], how })
  return refTo(out)
}

/** a [..., m, k] times b [..., k, n] with the same batch axes. */
export function multiply(lowering: Lowering, node: Node, a: Ref, b: Ref): Ref {
  const out = lowering.values.make(node.name, 'f32', [...dimsOf(a).slice(0, -1), dimsOf(b).at(-1)!])
  const at = whole(out.dims)
  lowering.add({ loop: 'product', node: node.name, mapping: 'many-to-many', out, args: [a, b], at })
  return refTo(out)
}
