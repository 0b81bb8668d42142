// Lowers a graph whose sizes are known to a list of loops. The table of operators says how: with a body for
// each element, with a view, or with a handler that creates loops.

import { inferTypes } from '../../onnx/infer.ts'
import { type Graph, type Node, readersOf, type Type } from '../../onnx/ir/graph.ts'
import { unclaimed } from '../../onnx/ir/operator.ts'
import { ALL_DTYPES } from '../../onnx/ir/tensor.ts'
import { type LoopOperator, operatorName, rowOf } from '../../onnx/operator-table.ts'
import { whyUnclaimed } from '../../onnx/operators.ts'
import { isAll, type Loop, type LoopList, type Value } from '../loops/loops.ts'
import { isChecked } from '../loops/tree.ts'
import { ATTENTION_HANDLERS } from './attention/attention.ts'
import { GROUP_HANDLERS } from './attention/group-attention.ts'
import { ROTARY_HANDLERS } from './attention/rotary.ts'
import { BLOCK_HANDLERS } from './codes/blocks.ts'
import { CODE_PRODUCT_HANDLERS } from './codes/code-products.ts'
import { CONV_HANDLERS } from './codes/conv.ts'
import { QUANTIZE_HANDLERS } from './codes/quantize.ts'
import { TRANSPOSED_HANDLERS } from './convolutions/transposed-windows.ts'
import { EINSUM_HANDLERS } from './einsum.ts'
import { elementwise } from './elementwise.ts'
import type { Handler } from './handler.ts'
import { IMAGE_HANDLERS } from './images.ts'
import { INDEX_HANDLERS } from './indices.ts'
import { moved } from './lowering/loops.ts'
import { Lowering, type LowerOptions } from './lowering/lowering.ts'
import { NORM_HANDLERS } from './norms.ts'
import { PLACE_HANDLERS } from './places.ts'
import { POOL_HANDLERS } from './pools.ts'
import { PRODUCT_HANDLERS } from './products.ts'
import { RECURRENT_HANDLERS } from './recurrent.ts'
import { REDUCTION_HANDLERS } from './reductions.ts'
import { SCATTER_HANDLERS } from './scatters.ts'
import { reorganise, VIEW_HANDLERS } from './views.ts'

/**
 * Throws `unsupported`, with the name and the reason, for a node that cannot be compiled, and `out-of-memory`
 * for a node that exceeds the budget.
 */
export function lower(graph: Graph, options: LowerOptions): LoopList {
  const types = inferTypes(graph)
  const lowering = new Lowering(graph, types, readersOf(graph), options)
  for (const node of graph.nodes) {
    const why = refusalOf(node, types)
    if (why !== undefined) throw unclaimed(node, why)
    lowering.begin(node)
    handlerOf(node)!(lowering, node)
  }
  return loopListOf(lowering)
}

function loopListOf(lowering: Lowering): LoopList {
  const last = lowering.graph.nodes.at(-1)
  const outputs = lowering.graph.outputs.map((name) => {
    const node = last ?? {
      name,
      op: 'output',
      domain: '',
      version: 0,
      inputs: [],
      outputs: [],
      attributes: new Map(),
    }
    const ref = lowering.values.ref(node, name)
    const isOwn = ref.value.given === undefined && isAll(ref)
    return { name, ref: isOwn ? ref : moved(lowering, node, ref), dtype: lowering.values.dtype(node, name) }
  })
  return {
    loops: readLoops(lowering.loops, new Set(outputs.map(({ ref }) => ref.value))),
    inputs: lowering.values.inputs,
    outputs,
    made: lowering.values.made,
    viewBytes: lowering.views.bytes,
    viewNodes: lowering.views.nodes,
  }
}

/**
 * Leaves out loops over elements whose values nothing reads, such as the floats of codes that are read as
 * codes.
 */
function readLoops(loops: readonly Loop[], read: Set<Value>): readonly Loop[] {
  return loops
    .toReversed()
    .filter((loop) => {
      const isNeeded = loop.loop !== 'map' || isChecked(loop.tree) || read.has(loop.out)
      if (isNeeded) for (const { value } of loop.args) read.add(value)
      return isNeeded
    })
    .reverse()
}

/**
 * Why a node cannot be compiled at any size, as a clause; undefined if that depends on the sizes. Also gives
 * a reason for nodes that passes compute.
 */
export function refusalOf(node: Node, types: ReadonlyMap<string, Type>): string | undefined {
  const dtypes = node.inputs.map((name) => types.get(name)?.dtype)
  const why = whyUnclaimed(node, dtypes)
  if (why !== undefined) return why
  const other = dtypes.find((dtype) => dtype !== undefined && !ALL_DTYPES.includes(dtype))
  if (other !== undefined) return `it reads a value of type ${other}`
  return handlerOf(node) === undefined ? whyNotCompiled(node) : undefined
}

const whyNotCompiled = (node: Node): string =>
  rowOf(node)?.lower === 'sizes' ? 'its sizes depend on computed values' : 'the compiler does not support it'

/** Every operator whose row says `loops` has a handler. */
const LOOPS: Readonly<Record<LoopOperator, Handler>> = {
  ...VIEW_HANDLERS,
  ...REDUCTION_HANDLERS,
  ...NORM_HANDLERS,
  ...ATTENTION_HANDLERS,
  ...EINSUM_HANDLERS,
  ...GROUP_HANDLERS,
  ...IMAGE_HANDLERS,
  ...INDEX_HANDLERS,
  ...PLACE_HANDLERS,
  ...POOL_HANDLERS,
  ...PRODUCT_HANDLERS,
  ...RECURRENT_HANDLERS,
  ...ROTARY_HANDLERS,
  ...SCATTER_HANDLERS,
  ...CONV_HANDLERS,
  ...TRANSPOSED_HANDLERS,
  ...BLOCK_HANDLERS,
  ...CODE_PRODUCT_HANDLERS,
  ...QUANTIZE_HANDLERS,
}

/** Undefined for operators that loops do not implement. */
function handlerOf(node: Node): Handler | undefined {
  const lowered = rowOf(node)?.lower
  if (lowered === 'body') return elementwise
  if (lowered === 'view') return reorganise
  return lowered === 'loops' ? LOOPS[operatorName(node) as LoopOperator] : undefined
}
