// Lowers a graph whose sizes are known to a program of loops. An operator's mapping type says how: bodies for
// one-to-one operators, views for those that reorganise, handlers for the others.
import { inferTypes } from '../../onnx/infer.ts'
import { type Graph, hasInput, type Node, readersOf, type Type } from '../../onnx/ir/graph.ts'
import { intOf, unclaimed, wants } from '../../onnx/ir/operator.ts'
import { DTYPES, type DType, isFloat } from '../../onnx/ir/tensor.ts'
import { whyUnclaimed } from '../../onnx/operators.ts'
import type { Program, Ref } from '../loops/program.ts'
import type { Tree } from '../loops/tree.ts'
import { ATTENTION_HANDLERS } from './attention.ts'
import { bodyOf, castTree, clipped, operatorName } from './bodies.ts'
import { CODE_HANDLERS } from './codes.ts'
import { EINSUM_HANDLERS } from './einsum.ts'
import { GROUP_HANDLERS } from './group-attention.ts'
import { HANDLERS, type Handler, reorganise } from './handlers.ts'
import { IMAGE_HANDLERS } from './images.ts'
import { INDEX_HANDLERS } from './indices.ts'
import { COMPUTED, kindOf, Lowering, type LowerOptions, mappingOf, misfit } from './lowering.ts'
import { PLACE_HANDLERS } from './places.ts'
import { POOL_HANDLERS } from './pools.ts'
import { PRODUCT_HANDLERS } from './products.ts'
import { RECURRENT_HANDLERS } from './recurrent.ts'
import { ROTARY_HANDLERS } from './rotary.ts'
import { SCATTER_HANDLERS } from './scatters.ts'
import { CONV_HANDLERS } from './windows.ts'

/** Throws `unsupported` for a node that is not compiled, with its name and the reason, and `out-of-memory`
 * for one that exceeds the budget.
 */
export function lower(graph: Graph, options: LowerOptions): Program {
  const types = inferTypes(graph)
  const lowering = new Lowering(graph, types, readersOf(graph), options)
  for (const node of graph.nodes) {
    const why = refusalOf(node, types)
    if (why !== undefined) throw unclaimed(node, why)
    lowering.begin(node)
    handlerOf(node)!(lowering, node)
  }
  return lowering.program()
}

/**
 * Why a node is not compiled whatever its sizes are, as a clause; undefined where that depends on them. Nodes
 * that passes compute are rejected too.
 */
export const refusalOf = (node: Node, types: ReadonlyMap<string, Type>): string | undefined =>
  whyUnclaimed(
    node,
    node.inputs.map((name) => types.get(name)?.dtype),
  ) ?? (handlerOf(node) === undefined ? whyNotCompiled(node) : undefined)

const whyNotCompiled = ({ op }: Node): string =>
  op === 'NonZero' ? 'its sizes depend on what is computed' : 'the compiler has no loops for it'

const ALL: ReadonlyMap<string, Handler> = new Map(
  Object.entries({
    ...HANDLERS,
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
    ...CODE_HANDLERS,
  }),
)

function handlerOf(node: Node): Handler | undefined {
  const mapping = mappingOf(node)
  const name = operatorName(node)
  const own = ALL.get(name)
  if (own !== undefined) return own
  if (mapping === 'reorganize') return reorganise
  if (mapping !== 'one-to-one') return undefined
  return OWN_TREES.includes(name) || bodyOf(node) !== undefined ? elementwise : undefined
}

/** Elementwise operators whose trees depend on more than their arguments. */
const OWN_TREES = ['Clip', 'Cast', 'CastLike']

/** Inputs of an elementwise operator: a loop holds each in registers. */
const MOST_INPUTS = 64

const elementwise: Handler = (lowering, node) => {
  if (node.inputs.length > MOST_INPUTS)
    throw unclaimed(
      node,
      `it has ${node.inputs.length} inputs where ${MOST_INPUTS} are the most that are compiled`,
    )
  if (node.outputs.slice(1).some((name) => name !== '') || !wants(node, 0))
    throw unclaimed(node, 'its second output is not compiled')
  const args: Ref[] = []
  const given = node.op === 'CastLike' || node.op === 'Dropout' ? node.inputs.slice(0, 1) : node.inputs
  const trees = given.map((name, index) =>
    name === '' ? undefined : lowering.tree(node, name, args, isOpenLimit(lowering, node, index)),
  )
  const tree = lowering.exact(node, treeOf(lowering, node, trees))
  const [name = ''] = node.outputs
  const dims = lowering.dims(node, name)
  if (tree.kind !== kindOf(node, lowering.dtype(node, name)))
    throw misfit(node, 'its inputs are of different types')
  // Scalars have no shape.
  if (args.length === 0) lowering.name(name, lowering.filled(node, tree, dims))
  else lowering.name(name, lowering.reshape(node, lowering.map(node, args, tree, name), dims))
}

/**
 * Whether an operand is a limit that no number of 32 bits reaches: files write the largest i64 for "none".
 */
function isOpenLimit(lowering: Lowering, node: Node, index: number): boolean {
  const value = Number(lowering.known(node.inputs[index]!)?.data[0] ?? 0)
  if (node.op === 'Clip') return index === 1 ? value < 0 : index === 2 && value > 0
  return (node.op === 'Max' && value < 0) || (node.op === 'Min' && value > 0)
}

function treeOf(lowering: Lowering, node: Node, trees: readonly (Tree | undefined)[]): Tree {
  const [x, low, high] = trees
  if (x === undefined) throw unclaimed(node, 'its first input is left out')
  if (node.op === 'Clip') return clipped(x, low, high)
  if (node.op === 'Cast' || node.op === 'CastLike') return cast(lowering, node, x)
  if (
    node.op === 'Dropout' &&
    hasInput(node, 2) &&
    Number(lowering.known(node.inputs[2]!)?.data[0] ?? 1) !== 0
  )
    throw unclaimed(node, 'it may drop elements at random')
  if (trees.includes(undefined)) throw unclaimed(node, 'an input is left out')
  const dtype = lowering.dtype(node, node.inputs.find((_, index) => hasInput(node, index)) ?? '')
  if (!COMPUTED.includes(dtype)) throw unclaimed(node, `arithmetic on ${dtype} is not compiled`)
  // `handlerOf` has asked for it.
  return bodyOf(node)!(trees as readonly Tree[], node)
}

function cast(lowering: Lowering, node: Node, x: Tree): Tree {
  const [from, to] = [node.inputs[0]!, node.outputs[0]!].map((name) => lowering.dtype(node, name)) as [
    DType,
    DType,
  ]
  const isWide = COMPUTED.includes(to) || (!isFloat(from) && (from === to || from === 'bool'))
  if (!isWide)
    throw unclaimed(node, `casts from ${from} to ${DTYPES.get(intOf(node, 'to', 0)) ?? to} are not compiled`)
  return castTree(x, kindOf(node, to), to === 'bool')
}
