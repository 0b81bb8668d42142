// Handlers of operators that write elements to positions given by indices.
import { axisOf } from '../../onnx/ir/broadcast.ts'
import type { Node } from '../../onnx/ir/graph.ts'
import { intOf, stringOf, unclaimed, unfit } from '../../onnx/ir/operator.ts'
import { countOf } from '../../onnx/ir/tensor.ts'
import { dimsOf, type Ref, refTo, type Value } from '../loops/loops.ts'
import { apply, arg, type Instruction, type Kind, select, type Tree } from '../loops/tree.ts'
import { type View, whole } from '../loops/view.ts'
import type { Handler, SomeHandlers } from './handler.ts'
import { placesAmong, viewAlong } from './indices.ts'
import { reshape } from './lowering/layouts.ts'
import type { Lowering } from './lowering/lowering.ts'
import { misfit } from './lowering/misfit.ts'
import { exactTree } from './lowering/operands.ts'
import { COMPUTED } from './lowering/values.ts'

/** The combination of the old element (0) and the update (1); undefined if the update replaces it. */
function combined(node: Node, kind: Kind): Tree | undefined {
  const old = arg(0, kind)
  const update = arg(1, kind)
  const by = (float: Instruction, whole: Instruction) => apply(kind === 'f32' ? float : whole, old, update)
  const less: Instruction = kind === 'f32' ? 'lt' : 'i.lt'
  const isPart = node.op === 'ScatterND'
  const reduction = stringOf(node, 'reduction', 'none')
  switch (reduction) {
    case 'none':
      return undefined
    case 'add':
      return by('add', 'i.add')
    case 'mul':
      return by('mul', 'i.mul')
    // ScatterElements is defined by a comparison, so an old NaN is kept. ScatterND is defined to propagate
    // NaN.
    case 'min':
      return isPart ? by('min', 'i.min') : select(apply(less, update, old), update, old)
    case 'max':
      return isPart ? by('max', 'i.max') : select(apply(less, old, update), update, old)
    default:
      throw unfit(node, `its reduction is ${reduction}, which does not exist`)
  }
}

interface Parts {
  readonly data: Ref
  readonly updates: Ref
  /** A view over the updates. */
  readonly index: Ref
  /** The destination as a view over the updates, as if all indices were 0. */
  readonly to: View
  readonly step: number
  readonly size: number
}

/** The inputs, and a copy of the data to write to. */
function opened(lowering: Lowering, node: Node): Pick<Parts, 'data' | 'index' | 'updates'> & { out: Value } {
  const [data, index, updates] = node.inputs.map((name) => lowering.values.ref(node, name)) as [Ref, Ref, Ref]
  if (data.value.kind !== updates.value.kind) throw misfit(node, 'its inputs have different types')
  const [name = ''] = node.outputs
  const out = lowering.values.make(name, data.value.kind, dimsOf(data))
  const at = whole(out.dims)
  if (countOf(out.dims) > 0)
    lowering.add({ loop: 'place', node: node.name, mapping: 'shuffle', out, args: [data], at })
  return { data, index, updates, out }
}

function write(lowering: Lowering, node: Node, out: Value, { updates, index, to, step, size }: Parts): void {
  const made = combined(node, out.kind)
  const tree = made && exactTree(lowering, node, made)
  const dtype = lowering.values.dtype(node, node.inputs[0]!)
  if (tree !== undefined && !COMPUTED.includes(dtype))
    throw unclaimed(node, `arithmetic on ${dtype} is not compiled`)
  const [name = ''] = node.outputs
  lowering.values.name(name, refTo(out))
  if (countOf(to.dims) === 0) return
  if (countOf(out.dims) === 0)
    throw unfit(node, `it writes [${to.dims}] to [${out.dims}], which has no elements`)
  const args = [updates, index, { value: out, view: to }] as const
  lowering.add({ loop: 'scatter', node: node.name, mapping: 'shuffle', out, args, tree, step, size })
}

const scatterElements: Handler = (lowering, node) => {
  const { out, ...parts } = opened(lowering, node)
  const axis = axisOf(node, intOf(node, 'axis', 0), out.dims.length)
  const own = dimsOf(parts.index)
  const updated = dimsOf(parts.updates)
  if (`${own}` !== `${updated}`) throw unfit(node, `it writes [${updated}] at indices [${own}]`)
  const { strides } = whole(out.dims)
  const to = viewAlong(node, whole(out.dims), { index: parts.index, axis })
  write(lowering, node, out, { ...parts, to, step: strides[axis]!, size: out.dims[axis]! })
}

const scatterNd: Handler = (lowering, node) => {
  const { out, ...parts } = opened(lowering, node)
  const { index, named, rest } = placesAmong(lowering, node, out.dims, parts.index, 0)
  const made = [...dimsOf(index), ...rest]
  const updated = dimsOf(parts.updates)
  if (countOf(made) !== countOf(updated))
    throw unfit(node, `it writes [${updated}] where [${made}] is required`)
  const updates = reshape(lowering, node, parts.updates, made)
  const still = dimsOf(index).map(() => 0)
  const to: View = { offset: 0, dims: made, strides: [...still, ...whole(rest).strides] }
  const along: View = { ...index.view, dims: made, strides: [...index.view.strides, ...rest.map(() => 0)] }
  const at = { ...index, view: along }
  write(lowering, node, out, { ...parts, updates, index: at, to, step: countOf(rest), size: countOf(named) })
}

export const SCATTER_HANDLERS = {
  ScatterElements: scatterElements,
  ScatterND: scatterNd,
} satisfies SomeHandlers
