// Convolutions. A convolution is a product: each position's window, a view of the input, is a row
// of A, and each filter is a column of B. Channels become the output's last axis.
import type { Node } from '../../../onnx/ir/graph.ts'
import { intOf, unclaimed, unfit } from '../../../onnx/ir/operator.ts'
import { countOf } from '../../../onnx/ir/tensor.ts'
import { type Axis, axesOf } from '../../../onnx/operators/images/conv.ts'
import { dimsOf, type Ref, refTo, turnedRef, unturned } from '../../loops/loops.ts'
import { add, arg } from '../../loops/tree.ts'
import { reshaped, transposed, type View, whole } from '../../loops/view.ts'
import { padded, reshape } from '../lowering/layouts.ts'
import { map, moved } from '../lowering/loops.ts'
import type { Lowering } from '../lowering/lowering.ts'
import { columnSides, productSides } from './window-sides.ts'

export function sidesOf(lowering: Lowering, node: Node) {
  const [name = '', filterName = '', biasName = ''] = node.inputs
  const x = lowering.values.ref(node, name)
  const filters = lowering.values.ref(node, filterName)
  if (x.value.kind !== 'f32') throw unclaimed(node, 'its input does not hold floats')
  const bias = biasName === '' ? undefined : lowering.values.ref(node, biasName)
  return { x, filters, bias, group: intOf(node, 'group', 1) }
}

/** Throws `format` if the filters do not fit the input. */
export function convolve(
  lowering: Lowering,
  node: Node,
  { x, filters, bias, group }: Pick<Convolution, 'x' | 'filters' | 'bias' | 'group'>,
): void {
  const [count, perGroup] = dimsOf(filters) as [number, number]
  const channels = dimsOf(x)[1]!
  if (dimsOf(x).length < 3 || channels !== perGroup * group || count % group !== 0)
    throw unfit(node, `filters [${dimsOf(filters)}] in ${group} groups do not fit its input [${dimsOf(x)}]`)
  const axes = axesOf(node, dimsOf(x).slice(2), dimsOf(filters).slice(2))!
  const [, , ...places] = lowering.values.dims(node, node.outputs[0]!)
  lowering.values.name(node.outputs[0]!, convolved(lowering, node, { x, filters, bias, axes, places, group }))
}

export interface Convolution {
  readonly x: Ref
  /** [count, channels of a group, ...taps]. */
  readonly filters: Ref
  /** [count]. */
  readonly bias?: Ref | undefined
  readonly axes: readonly Axis[]
  readonly places: readonly number[]
  readonly group: number
  /**
   * Whether only positions along the last axis are rows, so that the result can be written to any strides.
   */
  readonly isByRow?: boolean
}

/** [batch, count, ...places], with channels last in memory. */
export function convolved(lowering: Lowering, node: Node, convolution: Convolution): Ref {
  const { x, filters, bias, places, group } = convolution
  const [batch] = dimsOf(x) as [number]
  const [count, perGroup] = dimsOf(filters) as [number, number]
  const isChannelwise = perGroup === 1 && count === group && group > 1
  const sides = (isChannelwise ? channelSides : windowSides)(lowering, node, convolution)
  // Channels come last, so that rows are written as vectors.
  const isSplit = group > 1 && !isChannelwise
  const dims = isSplit ? [batch, ...places, group, count / group] : [batch, ...places, count]
  const out = lowering.values.make(node.outputs[0]!, 'f32', dims)
  const at = productView(dims, { ...convolution, count }, isChannelwise ? 1 : group, batch)
  lowering.add({ loop: 'product', node: node.name, mapping: 'many-to-many', out, ...sides, at })
  let made = refTo(out)
  if (bias !== undefined) {
    const own = isSplit ? [group, count / group] : [count]
    made = map(lowering, node, [made, reshape(lowering, node, bias, own)], add(arg(0), arg(1)))
  }
  return channelsSecond(reshape(lowering, node, made, [batch, ...places, count]))
}

/** [batch, ...places, channels] as [batch, channels, ...places]. */
export function channelsSecond(ref: Ref): Ref {
  const rank = dimsOf(ref).length
  return {
    ...ref,
    view: transposed(ref.view, [0, rank - 1, ...Array.from({ length: rank - 2 }, (_, at) => at + 1)]),
  }
}

const rowAxesOf = ({ places, isByRow }: Pick<Convolution, 'places' | 'isByRow'>): number =>
  isByRow ? 1 : places.length

/**
 * Views a value whose groups come last like the result of a product: batch, group and front axes, then rows
 * and columns.
 */
export function productView(
  dims: readonly number[],
  convolution: Pick<Convolution, 'places' | 'isByRow'> & { readonly count: number },
  group: number,
  batch: number,
): View {
  const { places, count } = convolution
  const front = places.slice(0, -rowAxesOf(convolution))
  const m = countOf(places.slice(front.length))
  const each = count / group
  const rows = reshaped(whole(dims), [batch, ...front, m, group, each])!
  const rank = front.length
  return transposed(rows, [0, rank + 2, ...front.map((_, at) => at + 1), rank + 1, rank + 3])
}

function windowSides(lowering: Lowering, node: Node, convolution: Convolution) {
  const { filters } = convolution
  return productSides(lowering, node, rowsOf(lowering, node, convolution), filters, rowAxesOf(convolution))
}

/** One filter per channel: each output is a sum over taps of neighbours of its own channel. */
function channelSides(lowering: Lowering, node: Node, convolution: Convolution) {
  const { x, filters, axes, places } = convolution
  const { value, view } = bordered(lowering, node, x, axes, true)
  const [batch, , ...steps] = view.strides as [number, number, ...number[]]
  const windows: View = {
    offset: view.offset,
    dims: [view.dims[0]!, 1, ...places, ...axes.map(({ kernel }) => kernel)],
    strides: [
      batch,
      0,
      ...axes.map(({ stride }, axis) => stride * steps[axis]!),
      ...axes.map(({ dilation }, axis) => dilation * steps[axis]!),
    ],
  }
  return columnSides(lowering, node, { value, view: windows }, filters, rowAxesOf(convolution))
}

/**
 * The input with the padding that the windows reach. `isLast`: whether channels must be adjacent in memory,
 * so that a window has long runs. `fill`: the number in the padding. `more`: how many channels are added.
 */
export function bordered(
  lowering: Lowering,
  node: Node,
  x: Ref,
  axes: readonly Pick<Axis, 'before' | 'after'>[],
  isLast: boolean,
  { fill, more }: { readonly fill: number; readonly more: number } = { fill: 0, more: 0 },
): Ref {
  const order = [0, ...axes.map((_, at) => at + 2), 1]
  const mustTurn = isLast && dimsOf(x)[1]! + more > 1
  if (more === 0 && axes.every(({ before, after }) => before + after === 0)) {
    if (!mustTurn || x.view.strides[1] === 1) return x
    return unturned(moved(lowering, node, turnedRef(x, order)), order)
  }
  const none = [0, 0] as const
  const around = [none, [0, more] as const, ...axes.map(({ before, after }) => [before, after] as const)]
  return padded(lowering, node, x, around, fill, mustTurn ? order : undefined)
}

function rowsOf(lowering: Lowering, node: Node, convolution: Convolution): Ref {
  const { x, axes } = convolution
  return windowsIn(
    bordered(
      lowering,
      node,
      x,
      axes,
      axes.some(({ kernel }) => kernel > 1),
    ),
    convolution,
  )
}

/** The windows in an input with its padding, [batch, group, ...places, channels of a group, ...taps]. */
export function windowsIn(
  { value, view }: Ref,
  { axes, places, group }: Pick<Convolution, 'axes' | 'places' | 'group'>,
): Ref {
  const [batch, channels, ...steps] = view.strides as [number, number, ...number[]]
  const perGroup = view.dims[1]! / group
  const windows: View = {
    offset: view.offset,
    dims: [view.dims[0]!, group, ...places, perGroup, ...axes.map(({ kernel }) => kernel)],
    strides: [
      batch,
      channels * perGroup,
      ...axes.map(({ stride }, axis) => stride * steps[axis]!),
      channels,
      ...axes.map(({ dilation }, axis) => dilation * steps[axis]!),
    ],
  }
  return { value, view: windows }
}
