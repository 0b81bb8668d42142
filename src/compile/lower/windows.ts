// Handlers of Conv and Pad. A convolution is a product: each place's window, a view of the input, is a row of
// A, and each filter is a column of B. Channels become the last axis of what it makes.
import { axisOf } from '../../onnx/ir/broadcast.ts'
import { hasInput, type Node } from '../../onnx/ir/graph.ts'
import { intOf, stringOf, unclaimed, unfit } from '../../onnx/ir/operator.ts'
import { countOf, numbersOf } from '../../onnx/ir/tensor.ts'
import { type Axis, axesOf } from '../../onnx/operators/conv.ts'
import { dimsOf, type Ref, refTo } from '../loops/program.ts'
import { add, arg } from '../loops/tree.ts'
import { reshaped, spread, transposed, type View, whole } from '../loops/view.ts'
import type { Handler } from './handlers.ts'
import type { Lowering } from './lowering.ts'

const conv: Handler = (lowering, node) => {
  const [name = '', filterName = '', biasName = ''] = node.inputs
  const x = lowering.ref(node, name)
  const filters = lowering.ref(node, filterName)
  if (x.value.kind !== 'f32') throw unclaimed(node, 'it is not of floats')
  const group = intOf(node, 'group', 1)
  const [batch, channels] = dimsOf(x) as [number, number]
  const [count, perGroup] = dimsOf(filters) as [number, number]
  if (dimsOf(x).length < 3 || channels !== perGroup * group || count % group !== 0)
    throw unfit(node, `filters [${dimsOf(filters)}] in ${group} groups do not fit its input [${dimsOf(x)}]`)
  const axes = axesOf(node, dimsOf(x).slice(2), dimsOf(filters).slice(2))!
  const [, , ...places] = lowering.dims(node, node.outputs[0]!)
  const k = perGroup * countOf(dimsOf(filters).slice(2))
  const m = countOf(places)
  const each = count / group
  const a = lowering.reshape(node, rowsOf(lowering, node, x, { axes, places, group }), [batch, group, m, k])
  const columns = transposed(lowering.reshape(node, filters, [group, each, k]).view, [0, 2, 1])
  const b = { ...filters, view: spread(columns, [batch, group, k, each]) }
  // Channels are last, so that rows are written as vectors.
  const dims = group === 1 ? [batch, ...places, count] : [batch, ...places, group, each]
  const out = lowering.value(node.outputs[0]!, 'f32', dims)
  const at = productView(dims, { batch, m, group, each })
  lowering.add({ loop: 'product', node: node.name, mapping: 'many-to-many', out, args: [a, b], at })
  let made = refTo(out)
  if (biasName !== '') {
    const bias = lowering.ref(node, biasName)
    const own = group === 1 ? [count] : [group, each]
    made = lowering.map(node, [made, lowering.reshape(node, bias, own)], add(arg(0), arg(1)))
  }
  const last = lowering.reshape(node, made, [batch, ...places, count])
  const order = [0, places.length + 1, ...places.map((_, axis) => axis + 1)]
  lowering.name(node.outputs[0]!, { ...last, view: transposed(last.view, order) })
}

/** [batch, group, m, each] of a value whose groups come after its places. */
function productView(
  dims: readonly number[],
  { batch, m, group, each }: { batch: number; m: number; group: number; each: number },
): View {
  const rows = reshaped(whole(dims), [batch, m, group, each])!
  return transposed(rows, [0, 2, 1, 3])
}

/** The windows, [batch, group, ...places, channels of a group, ...taps]. */
function rowsOf(
  lowering: Lowering,
  node: Node,
  x: Ref,
  { axes, places, group }: { axes: readonly Axis[]; places: readonly number[]; group: number },
): Ref {
  const isBordered = axes.some(({ before, after }) => before + after > 0)
  const around = [
    [0, 0] as const,
    [0, 0] as const,
    ...axes.map(({ before, after }) => [before, after] as const),
  ]
  const padded = isBordered ? lowering.padded(node, x, around, 0) : x
  const { value, view } = padded
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

/** Borders of one number. */
const pad: Handler = (lowering, node) => {
  if (stringOf(node, 'mode', 'constant') !== 'constant')
    throw unclaimed(node, 'only borders of one number are compiled')
  const x = lowering.ref(node, node.inputs[0]!)
  const list = (index: number): number[] => {
    const tensor = lowering.known(node.inputs[index] ?? '')
    if (tensor === undefined) throw unclaimed(node, `its input ${index} is computed`)
    return numbersOf(tensor)
  }
  const pads = list(1)
  const axes = hasInput(node, 3) ? list(3) : dimsOf(x).map((_, axis) => axis)
  const fill = hasInput(node, 2) ? list(2)[0]! : 0
  if (pads.some((size) => size < 0)) throw unclaimed(node, 'borders that cut off are not compiled')
  const around = dimsOf(x).map((): readonly [number, number] => [0, 0])
  for (const [index, axis] of axes.entries())
    around[axisOf(node, axis, around.length)] = [pads[index]!, pads[index + axes.length]!]
  lowering.name(node.outputs[0]!, lowering.padded(node, x, around, fill))
}

export const CONV_HANDLERS: Readonly<Record<string, Handler>> = { Conv: conv, Pad: pad }
