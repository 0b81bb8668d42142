// Convolutions. A convolution is a product: each position's window, a view of the input, is a row
// of A, and each filter is a column of B. Channels become the output's last axis.
import type { Node } from '../../../onnx/ir/graph.ts'
import { intOf, unclaimed, unfit } from '../../../onnx/ir/operator.ts'
import { countOf } from '../../../onnx/ir/tensor.ts'
import { axesOf } from '../../../onnx/operators/images/conv.ts'
import { dimsOf, type Ref, refTo } from '../../loops/loops.ts'
import { add, arg } from '../../loops/tree.ts'
import { reshaped, transposed, type View, whole } from '../../loops/view.ts'
import { reshape } from '../lowering/layouts.ts'
import { map } from '../lowering/loops.ts'
import type { Lowering } from '../lowering/lowering.ts'
import { bordered, type Convolution, channelsSecond } from './convolution.ts'
import { inTiles } from './tiles.ts'
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

/** [batch, count, ...places], with channels last in memory. */
export function convolved(lowering: Lowering, node: Node, convolution: Convolution): Ref {
  const { x, filters, bias, places, group } = convolution
  const [batch] = dimsOf(x) as [number]
  const [count, perGroup] = dimsOf(filters) as [number, number]
  const tiled = inTiles(lowering, node, convolution)
  if (tiled !== undefined) return tiled
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
