// Handlers of operators that select elements by index, and of cumulative sums.
import { axisOf } from '../../onnx/ir/broadcast.ts'
import type { Node } from '../../onnx/ir/graph.ts'
import { flagOf, intOf, unclaimed, unfit } from '../../onnx/ir/operator.ts'
import { countOf, numbersOf, stridesOf } from '../../onnx/ir/tensor.ts'
import { dimsOf, type Ref, refTo } from '../loops/loops.ts'
import { add, apply, arg, number, select, type Tree } from '../loops/tree.ts'
import { sliced, spread, type View } from '../loops/view.ts'
import type { Handler, SomeHandlers } from './handler.ts'
import { joined, reshape, viewed } from './lowering/layouts.ts'
import { filled, map } from './lowering/loops.ts'
import type { Lowering } from './lowering/lowering.ts'
import { exactTree } from './lowering/operands.ts'
import { reduce } from './lowering/sums.ts'

/** What a gather reads: a table with stride 0 along the index's axes. */
interface Gathered {
  readonly table: Ref
  readonly index: Ref
  /** Table elements from one index to the next, and how many indices there are. */
  readonly step: number
  readonly size: number
}

function gathered(lowering: Lowering, node: Node, name: string, { table, index, step, size }: Gathered): Ref {
  const out = lowering.values.make(name, table.value.kind, dimsOf(table))
  const args = [table, index] as const
  lowering.add({ loop: 'gather', node: node.name, mapping: 'shuffle', out, args, step, size })
  return refTo(out)
}

/**
 * The elements of `data` at the positions `indices` along `axis`; the axes of `indices` replace that axis.
 */
export function gatherAlong(
  lowering: Lowering,
  node: Node,
  { data, axis, indices, name }: { data: Ref; axis: number; indices: Ref; name: string },
): Ref {
  const { dims, strides, offset } = data.view
  const own = indices.view
  const made = dims.toSpliced(axis, 1, ...own.dims)
  const table: View = { offset, dims: made, strides: strides.toSpliced(axis, 1, ...own.dims.map(() => 0)) }
  const along: View = {
    offset: own.offset,
    dims: made,
    strides: dims.map(() => 0).toSpliced(axis, 1, ...own.strides),
  }
  return gathered(lowering, node, name, {
    table: { ...data, view: table },
    index: { ...indices, view: along },
    step: strides[axis]!,
    size: dims[axis]!,
  })
}

const inputs = (lowering: Lowering, node: Node): [Ref, Ref] => [
  lowering.values.ref(node, node.inputs[0]!),
  lowering.values.ref(node, node.inputs[1]!),
]

/** A single known index is a view of the data; other indices are read in a loop. */
const gather: Handler = (lowering, node) => {
  const [name = ''] = node.outputs
  const data = lowering.values.ref(node, node.inputs[0]!)
  const axis = axisOf(node, intOf(node, 'axis', 0), dimsOf(data).length)
  const index = lowering.values.known(node.inputs[1]!)
  if (index?.data.length !== 1) {
    const indices = lowering.values.ref(node, node.inputs[1]!)
    lowering.values.name(name, gatherAlong(lowering, node, { data, axis, indices, name }))
    return
  }
  const size = dimsOf(data)[axis]!
  const at = numbersOf(index)[0]!
  const place = at < 0 ? at + size : at
  if (place < 0 || place >= size)
    throw unfit(node, `index ${at} is outside axis ${axis}, which has ${size} elements`)
  const part = { ...data, view: sliced(data.view, axis, place, 1) }
  viewed(lowering, node, name, reshape(lowering, node, part, lowering.values.dims(node, name)))
}

/** One index along an axis for each element. */
export interface Along {
  readonly index: Ref
  readonly axis: number
}

/**
 * The elements of `data` at the same positions as the indices, except along the axis, where the index gives
 * the position.
 */
export function viewAlong(node: Node, data: View, { index, axis }: Along): View {
  const { dims, strides, offset } = data
  const own = dimsOf(index)
  if (own.length !== dims.length || own.some((size, at) => at !== axis && size > dims[at]!))
    throw unfit(node, `its indices of shape [${own}] do not fit [${dims}]`)
  return { offset, dims: own, strides: strides.with(axis, 0) }
}

/** For each index, the element at that position along the axis. */
export function elementsAlong(
  lowering: Lowering,
  node: Node,
  { data, name, ...along }: Along & { readonly data: Ref; readonly name: string },
): Ref {
  const { dims, strides } = data.view
  const { index, axis } = along
  const table = { ...data, view: viewAlong(node, data.view, along) }
  return gathered(lowering, node, name, { table, index, step: strides[axis]!, size: dims[axis]! })
}

const gatherElements: Handler = (lowering, node) => {
  const [name = ''] = node.outputs
  const [data, index] = inputs(lowering, node)
  const axis = axisOf(node, intOf(node, 'axis', 0), dimsOf(data).length)
  lowering.values.name(name, elementsAlong(lowering, node, { data, index, axis, name }))
}

/** An index outside every table. */
export const OUTSIDE = number(-(2 ** 31), 'i32')

/** Positions in a value seen as [named, ...rest], where the indexed axes are merged into one. */
export interface Placed {
  /** The dims without the last axis of the indices. */
  readonly index: Ref
  readonly named: readonly number[]
  readonly rest: readonly number[]
}

/**
 * The last axis of the indices holds positions along the data's axes after the batch axes. They are merged
 * into one position along one axis, which is out of range if any of them is.
 */
export function placesAmong(
  lowering: Lowering,
  node: Node,
  dims: readonly number[],
  indices: Ref,
  batch: number,
): Placed {
  const own = dimsOf(indices)
  const depth = own.at(-1) ?? 0
  const isFit =
    batch >= 0 &&
    batch < own.length &&
    batch + depth <= dims.length &&
    `${own.slice(0, batch)}` === `${dims.slice(0, batch)}`
  if (!isFit || depth === 0)
    throw unfit(node, `its indices of shape [${own}] do not fit [${dims}] after ${batch} axes`)
  const named = dims.slice(batch, batch + depth)
  const rest = dims.slice(batch + depth)
  const steps = stridesOf(named)
  let place: Tree = number(0, 'i32')
  let isRight: Tree = number(1, 'i32')
  const parts = named.map((size, at): Ref => {
    const each: Tree = arg(at, 'i32')
    const isBack = apply('i.lt', each, number(0, 'i32'))
    const from = add32(each, select(isBack, number(size, 'i32'), number(0, 'i32')))
    const isInside = apply(
      'i.and',
      apply('i.le', number(0, 'i32'), from),
      apply('i.lt', from, number(size, 'i32')),
    )
    isRight = apply('i.and', isRight, isInside)
    place = add32(place, apply('i.mul', from, number(steps[at]!, 'i32')))
    const part = sliced(indices.view, own.length - 1, at, 1)
    return reshape(lowering, node, { ...indices, view: part }, own.slice(0, -1))
  })
  return { index: map(lowering, node, parts, select(isRight, place, OUTSIDE)), named, rest }
}

const gatherNd: Handler = (lowering, node) => {
  const [name = ''] = node.outputs
  const [data, indices] = inputs(lowering, node)
  const batch = intOf(node, 'batch_dims', 0)
  const dims = dimsOf(data)
  const own = dimsOf(indices)
  const { index, named, rest } = placesAmong(lowering, node, dims, indices, batch)
  const rows = reshape(lowering, node, data, [...dims.slice(0, batch), countOf(named), ...rest])
  const made = [...own.slice(0, -1), ...rest]
  const { offset, strides } = rows.view
  const between = own.slice(batch, -1).map(() => 0)
  const table: View = {
    offset,
    dims: made,
    strides: [...strides.slice(0, batch), ...between, ...strides.slice(batch + 1)],
  }
  const tail: View = { ...index.view, dims: made, strides: [...index.view.strides, ...rest.map(() => 0)] }
  const found = { table: { ...rows, view: table }, index: { ...index, view: tail } }
  const step = strides[batch]!
  lowering.values.name(name, gathered(lowering, node, name, { ...found, step, size: countOf(named) }))
}

/** The positions along an axis, followed by this many axes of size one: i32. */
export const placesAlong = (lowering: Lowering, size: number, after: number): Ref =>
  lowering.once(`positions of ${size} before ${after}`, () => {
    const dims = [size, ...Array.from({ length: after }, () => 1)]
    return lowering.values.table('i32', dims, (at) => at)
  })

export const add32 = (a: Tree, b: Tree): Tree => apply('i.add', a, b)

/** By doubling: after step s, each element is the sum of the 2^s elements that end there. */
const cumSum: Handler = (lowering, node) => {
  const [name = ''] = node.outputs
  const x = lowering.values.ref(node, node.inputs[0]!)
  const { kind } = x.value
  const dims = dimsOf(x)
  const axis = axisOf(node, lowering.values.list(node, 1)[0] ?? 0, dims.length)
  const size = dims[axis]!
  const isReverse = flagOf(node, 'reverse')
  const turn = (ref: Ref): Ref =>
    isReverse && size > 0 ? { ...ref, view: sliced(ref.view, axis, size - 1, size, -1) } : ref
  const part = (ref: Ref, from: number, count: number): Ref => ({
    ...ref,
    view: sliced(ref.view, axis, from, count),
  })
  let sums = turn(x)
  if (flagOf(node, 'exclusive') && size > 0) {
    const none = filled(lowering, node, number(0, kind), dims.with(axis, 1))
    sums = size === 1 ? none : joined(lowering, node, name, [none, part(sums, 0, size - 1)], axis)
  }
  const sum = kind === 'f32' ? add(arg(0), arg(1)) : add32(arg(0, 'i32'), arg(1, 'i32'))
  const tree = exactTree(lowering, node, sum)
  for (let reach = 1; reach < size; reach *= 2) {
    const both = map(lowering, node, [part(sums, reach, size - reach), part(sums, 0, size - reach)], tree)
    sums = joined(lowering, node, name, [part(sums, 0, reach), both], axis)
  }
  lowering.values.name(name, turn(sums))
}

/** The position of an extreme value: the first or the last among equals. */
function extreme(how: 'max' | 'min'): Handler {
  return (lowering, node) => {
    const x = lowering.values.ref(node, node.inputs[0]!)
    const { kind } = x.value
    const dims = dimsOf(x)
    const axis = axisOf(node, intOf(node, 'axis', 0), dims.length)
    const size = dims[axis]!
    if (size === 0) throw unfit(node, `axis ${axis} has no elements`)
    const kept = dims.with(axis, 1)
    const most = reshape(lowering, node, reduce(lowering, node, x, [axis], how), kept)
    const isLast = flagOf(node, 'select_last_index')
    const tail = dims.slice(axis + 1)
    const places = placesAlong(lowering, size, tail.length)
    const isEqual = apply(kind === 'f32' ? 'eq' : 'i.eq', arg(0, kind), arg(1, kind))
    // The maximum of a row with a NaN is NaN, so the result is the NaN's position.
    const isNumber = apply('eq', arg(0), arg(0))
    const isMost =
      kind === 'f32' ? apply('i.or', isEqual, apply('i.eq', isNumber, number(0, 'i32'))) : isEqual
    const other = number(isLast ? -1 : size, 'i32')
    const all = { ...places, view: spread(places.view, dims) }
    const found = map(lowering, node, [x, most, all], select(isMost, arg(2, 'i32'), other))
    const made = reduce(lowering, node, found, [axis], isLast ? 'max' : 'min')
    lowering.values.name(
      node.outputs[0]!,
      reshape(lowering, node, made, lowering.values.dims(node, node.outputs[0]!)),
    )
  }
}

const tile: Handler = (lowering, node) => {
  const [name = ''] = node.outputs
  const x = lowering.values.ref(node, node.inputs[0]!)
  const dims = dimsOf(x)
  const times = lowering.values.list(node, 1)
  if (times.length !== dims.length) throw unclaimed(node, 'its repeats do not match its axes')
  const apart = reshape(
    lowering,
    node,
    x,
    dims.flatMap((size) => [1, size]),
  )
  const repeated = spread(
    apart.view,
    dims.flatMap((size, axis) => [times[axis]!, size]),
  )
  viewed(
    lowering,
    node,
    name,
    reshape(lowering, node, { ...apart, view: repeated }, lowering.values.dims(node, name)),
  )
}

export const INDEX_HANDLERS = {
  Gather: gather,
  GatherElements: gatherElements,
  GatherND: gatherNd,
  CumSum: cumSum,
  ArgMax: extreme('max'),
  ArgMin: extreme('min'),
  Tile: tile,
} satisfies SomeHandlers
