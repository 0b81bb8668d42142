// Handlers of pooling and padding. A pool works along one axis at a time. Along an axis, each result combines
// as many views of the input as the window has taps.
import { axisOf } from '../../onnx/ir/broadcast.ts'
import { hasInput, type Node } from '../../onnx/ir/graph.ts'
import { flagOf, stringOf, unclaimed, unfit, wants } from '../../onnx/ir/operator.ts'
import { countedTaps, type PoolAxis, poolOf } from '../../onnx/operators/images/pool.ts'
import { dimsOf, type Ref } from '../loops/loops.ts'
import { add, apply, arg, mul, number, type Tree } from '../loops/tree.ts'
import { inverseOf, orderOf, sliced, spread, transposed } from '../loops/view.ts'
import type { Handler, SomeHandlers } from './handler.ts'
import { joined, padded } from './lowering/layouts.ts'
import { map } from './lowering/loops.ts'
import type { Lowering } from './lowering/lowering.ts'
import { along, type Combined } from './lowering/taps.ts'

function pooled(lowering: Lowering, node: Node, by: Pooling) {
  const x = lowering.values.ref(node, node.inputs[0]!)
  const { axes, places } = poolOf(node, dimsOf(x).slice(2)) as {
    axes: readonly PoolAxis[]
    places: readonly number[]
  }
  if (places.some((size) => size < 0)) throw unfit(node, `its window is larger than its input [${dimsOf(x)}]`)
  const none = [0, 0] as const
  const around = [none, none, ...axes.map(({ before, after, over }) => [before, after + over] as const)]
  const isBordered = around.some(([before, after]) => before + after > 0)
  let made = isBordered ? padded(lowering, node, x, around, by.fill) : x
  // Rows along the last axis are read whole.
  const order = orderOf(made.view)
  made = { ...made, view: transposed(made.view, order) }
  for (const [at, window] of axes.entries())
    made = along(lowering, node, made, { axis: order.indexOf(at + 2), window, places: places[at]!, by })
  return { made: { ...made, view: transposed(made.view, inverseOf(order)) }, axes, places }
}

/** How a pool combines taps, and the value of its padding. */
interface Pooling extends Combined {
  /** It never wins a maximum and adds nothing to a sum. */
  readonly fill: number
}

const LARGEST: Pooling = { combine: (a, b) => apply('max', a, b), how: 'max', fill: -Infinity }
const SUM: Pooling = { combine: add, how: 'sum', fill: 0 }

const maxPool: Handler = (lowering, node) => {
  if (wants(node, 1)) throw unclaimed(node, 'the positions of maxima are not compiled')
  if (lowering.values.ref(node, node.inputs[0]!).value.kind !== 'f32')
    throw unclaimed(node, 'maxima of integers are not compiled')
  lowering.values.name(node.outputs[0]!, pooled(lowering, node, LARGEST).made)
}

const averagePool: Handler = (lowering, node) => {
  const [name = ''] = node.outputs
  const { made, axes, places } = pooled(lowering, node, SUM)
  const sizes = lowering.values.dims(node, node.inputs[0]!).slice(2)
  const isBorderCounted = flagOf(node, 'count_include_pad')
  const args = [made]
  let tree: Tree = arg(0)
  for (const [at, axis] of axes.entries()) {
    const counted = { size: sizes[at]!, places: places[at]!, isBorderCounted }
    const counts = countedTaps(axis, counted, (units) => lowering.spend(units))
    if (counts.every((count) => count === axis.kernel)) {
      tree = mul(tree, number(1 / axis.kernel))
      continue
    }
    const dims = [counts.length, ...places.slice(at + 1).map(() => 1)]
    const shares = lowering.values.table('f32', dims, (place) => 1 / counts[place]!)
    tree = mul(tree, arg(args.push(shares) - 1))
  }
  lowering.values.name(name, map(lowering, node, args, tree, name))
}

/** Pads with one number or with the input's elements. Negative padding crops. */
const pad: Handler = (lowering, node) => {
  const mode = stringOf(node, 'mode', 'constant')
  let x = lowering.values.ref(node, node.inputs[0]!)
  const pads = lowering.values.list(node, 1)
  const rank = dimsOf(x).length
  const axes = hasInput(node, 3) ? lowering.values.list(node, 3) : dimsOf(x).map((_, axis) => axis)
  const fill = hasInput(node, 2) ? (lowering.values.list(node, 2)[0] ?? 0) : 0
  const around = dimsOf(x).map((): readonly [number, number] => [0, 0])
  for (const [index, each] of axes.entries()) {
    const axis = axisOf(node, each, rank)
    const [before = 0, after = 0] = [pads[index], pads[index + axes.length]]
    const size = dimsOf(x)[axis]!
    const left = size + Math.min(0, before) + Math.min(0, after)
    if (left < 0) throw unfit(node, `padding of [${pads}] leaves nothing of axis ${axis}`)
    if (left < size) x = { ...x, view: sliced(x.view, axis, Math.max(0, -before), left) }
    around[axis] = [Math.max(0, before), Math.max(0, after)]
  }
  if (mode === 'constant') x = padded(lowering, node, x, around, fill)
  else
    for (const [axis, [before, after]] of around.entries())
      if (before + after > 0) x = repeated(lowering, node, x, { axis, before, after, mode })
  lowering.values.name(node.outputs[0]!, x)
}

/** Padding that repeats the input's elements along one axis. */
function repeated(
  lowering: Lowering,
  node: Node,
  x: Ref,
  { axis, before, after, mode }: { axis: number; before: number; after: number; mode: string },
): Ref {
  const dims = dimsOf(x)
  const size = dims[axis]!
  const most = mode === 'reflect' ? size - 1 : size
  if (size === 0 || (mode !== 'edge' && Math.max(before, after) > most))
    throw unclaimed(
      node,
      `its padding of ${Math.max(before, after)} repeats an axis of ${size} more than once`,
    )
  const part = (first: number, count: number, step = 1): Ref => ({
    ...x,
    view: sliced(x.view, axis, first, count, step),
  })
  const edge = (at: number, count: number): Ref => ({
    ...x,
    view: spread(sliced(x.view, axis, at, 1), dims.with(axis, count)),
  })
  const sides: readonly [Ref, Ref] | undefined =
    mode === 'edge'
      ? [edge(0, before), edge(size - 1, after)]
      : mode === 'reflect'
        ? [part(before, before, -1), part(size - 2, after, -1)]
        : mode === 'wrap'
          ? [part(size - before, before), part(0, after)]
          : undefined
  if (sides === undefined) throw unclaimed(node, `its mode is ${mode}`)
  return joined(lowering, node, node.name, [sides[0], x, sides[1]], axis)
}

export const POOL_HANDLERS = {
  MaxPool: maxPool,
  AveragePool: averagePool,
  Pad: pad,
} satisfies SomeHandlers
