// Handlers of operators that compare or return positions: triangles, one-hot rows, and a row's largest
// elements.
import { axisOf } from '../../onnx/ir/broadcast.ts'
import { hasInput } from '../../onnx/ir/graph.ts'
import { flagOf, intOf, unfit } from '../../onnx/ir/operator.ts'
import { countOf } from '../../onnx/ir/tensor.ts'
import { dimsOf, refTo } from '../loops/loops.ts'
import { apply, arg, number, select, type Tree } from '../loops/tree.ts'
import { inverseOf, sliced, transposed } from '../loops/view.ts'
import type { Handler, SomeHandlers } from './handler.ts'
import { add32, elementsAlong, placesAlong } from './indices.ts'
import { reshape } from './lowering/layouts.ts'
import { map } from './lowering/loops.ts'
import { operand } from './lowering/operands.ts'

/** The upper triangle is column - row >= k, the lower one column - row <= k. Everything else is 0. */
const trilu: Handler = (lowering, node) => {
  const [name = ''] = node.outputs
  const x = lowering.values.ref(node, node.inputs[0]!)
  const { kind } = x.value
  const dims = dimsOf(x)
  const [columns = 1, rows = 1] = dims.toReversed()
  const args = [x, placesAlong(lowering, rows, 1), placesAlong(lowering, columns, 0)]
  const k = hasInput(node, 1) ? operand(lowering, node, node.inputs[1]!, args) : number(0, 'i32')
  const off = apply('i.sub', arg(2, 'i32'), arg(1, 'i32'))
  const isKept = flagOf(node, 'upper', true) ? apply('i.le', k, off) : apply('i.le', off, k)
  const tree = select(isKept, arg(0, kind), number(0, kind))
  lowering.values.name(name, reshape(lowering, node, map(lowering, node, args, tree, name), dims))
}

/** An index beyond the depth gives a row of off values. */
const oneHot: Handler = (lowering, node) => {
  const [name = ''] = node.outputs
  const [indices, values] = [0, 2].map((index) => lowering.values.ref(node, node.inputs[index]!))
  const depth = Math.trunc(lowering.values.list(node, 1)[0] ?? -1)
  if (indices === undefined || values === undefined || depth < 0 || countOf(dimsOf(values)) !== 2)
    throw unfit(node, `it has depth ${depth} and ${values && countOf(dimsOf(values))} values`)
  const own = dimsOf(indices)
  const axis = axisOf(node, intOf(node, 'axis', -1), own.length + 1)
  const at = reshape(lowering, node, indices, own.toSpliced(axis, 0, 1))
  const [off, on] = [0, 1].map((which) => ({ ...values, view: sliced(values.view, 0, which, 1) }))
  const places = placesAlong(lowering, depth, own.length - axis)
  const index: Tree = indices.value.kind === 'f32' ? apply('to i32', arg(0)) : arg(0, 'i32')
  const isBack = apply('i.lt', index, number(0, 'i32'))
  const from = add32(index, select(isBack, number(depth, 'i32'), number(0, 'i32')))
  const { kind } = values.value
  const tree = select(apply('i.eq', from, arg(1, 'i32')), arg(2, kind), arg(3, kind))
  const made = map(lowering, node, [at, places, on!, off!], tree, name)
  lowering.values.name(name, reshape(lowering, node, made, own.toSpliced(axis, 0, depth)))
}

/** The positions in order, and the elements there. */
const topK: Handler = (lowering, node) => {
  const [values = '', places = ''] = node.outputs
  const x = lowering.values.ref(node, node.inputs[0]!)
  const dims = dimsOf(x)
  const axis = axisOf(node, intOf(node, 'axis', -1), dims.length)
  const size = dims[axis]!
  const count = lowering.values.list(node, 1)[0] ?? -1
  if (count < 0 || count > size) throw unfit(node, `it selects ${count} of ${size} elements`)
  const order = [...dims.map((_, at) => at).filter((at) => at !== axis), axis]
  const rows = { ...x, view: transposed(x.view, order) }
  const out = lowering.values.make(places, 'i32', dimsOf(rows).with(-1, count))
  const isLeast = !flagOf(node, 'largest', true)
  lowering.add({ loop: 'select', node: node.name, mapping: 'many-to-many', out, args: [rows], isLeast })
  const chosen = refTo(out)
  const index = { ...chosen, view: transposed(chosen.view, inverseOf(order)) }
  if (places !== '') lowering.values.name(places, index)
  if (values !== '')
    lowering.values.name(values, elementsAlong(lowering, node, { data: x, index, axis, name: values }))
}

export const PLACE_HANDLERS = {
  Trilu: trilu,
  OneHot: oneHot,
  TopK: topK,
} satisfies SomeHandlers
