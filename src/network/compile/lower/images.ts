// Handlers of operators that resize images. Each axis is resized by gathering rows of positions and summing
// them with weights, which are constants once sizes are known.
import { hasInput, type Node } from '../../onnx/ir/graph.ts'
import { unclaimed } from '../../onnx/ir/operator.ts'
import {
  blocksOf,
  isCropped,
  isResized,
  type Scaling,
  scalingsOf,
  tapsOf,
} from '../../onnx/operators/images/resize.ts'
import { dimsOf, type Ref } from '../loops/loops.ts'
import { add, arg, mul, type Tree } from '../loops/tree.ts'
import { inverseOf, orderOf, spread, transposed } from '../loops/view.ts'
import type { Handler, SomeHandlers } from './handler.ts'
import { gatherAlong } from './indices.ts'
import { reshape, viewed } from './lowering/layouts.ts'
import { map } from './lowering/loops.ts'
import type { Lowering } from './lowering/lowering.ts'

const resize: Handler = (lowering, node) => {
  const [name = ''] = node.outputs
  const x = lowering.values.ref(node, node.inputs[0]!)
  const listed = (index: number): number[] | undefined => {
    const list = hasInput(node, index) ? lowering.values.list(node, index) : []
    return list.length === 0 ? undefined : list
  }
  if (isCropped(node)) throw unclaimed(node, 'a region of interest is not compiled')
  const scalings = scalingsOf(node, dimsOf(x), listed(2), listed(3))
  // Rows along the last axis are read whole.
  const order = orderOf(x.view)
  let made: Ref = { ...x, view: transposed(x.view, order) }
  for (const [at, axis] of order.entries()) {
    const scaling = scalings[axis]!
    if (isResized(scaling)) made = resizedAlong(lowering, node, made, at, scaling)
  }
  lowering.values.name(name, { ...made, view: transposed(made.view, inverseOf(order)) })
}

function resizedAlong(lowering: Lowering, node: Node, x: Ref, axis: number, scaling: Scaling): Ref {
  const { from, to } = scaling
  const { index, weight } = tapsOf(node, scaling, (units) => lowering.spend(units))
  const dims = dimsOf(x)
  const times = to / from
  const [only] = index
  if (
    index.length === 1 &&
    Number.isInteger(times) &&
    only!.every((at, place) => at === Math.floor(place / times))
  ) {
    const apart = reshape(lowering, node, x, dims.toSpliced(axis, 1, from, 1))
    const wide = spread(apart.view, dims.toSpliced(axis, 1, from, times))
    return reshape(lowering, node, { ...apart, view: wide }, dims.with(axis, to))
  }
  const tail = dims.slice(axis + 1).map(() => 1)
  const args: Ref[] = []
  const terms: Tree[] = []
  for (const [tap, places] of index.entries()) {
    const indices = lowering.values.table('i32', [to], (place) => places[place]!)
    const part = gatherAlong(lowering, node, { data: x, axis, indices, name: node.name })
    if (index.length === 1) return part
    const weights = lowering.values.table('f32', [to, ...tail], (place) => weight[tap]![place]!)
    args.push(part, weights)
    terms.push(mul(arg(args.length - 2), arg(args.length - 1)))
    // Maximum number of values that a loop reads.
    if (args.length < 12) continue
    const sum = map(lowering, node, args, terms.reduce(add))
    args.splice(0, args.length, sum)
    terms.splice(0, terms.length, arg(0))
  }
  return map(lowering, node, args, terms.reduce(add))
}

const blocked: Handler = (lowering, node) => {
  const [name = ''] = node.outputs
  const x = lowering.values.ref(node, node.inputs[0]!)
  const { split, perm, dims } = blocksOf(node, dimsOf(x))
  const parts = reshape(lowering, node, x, split)
  const ordered = { ...parts, view: transposed(parts.view, perm) }
  viewed(lowering, node, name, reshape(lowering, node, ordered, dims))
}

export const IMAGE_HANDLERS = {
  Resize: resize,
  DepthToSpace: blocked,
  SpaceToDepth: blocked,
} satisfies SomeHandlers
