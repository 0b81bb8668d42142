// The handler of elementwise operators.

import { hasInput, type Node } from '../../onnx/ir/graph.ts'
import { intOf, unclaimed, wants } from '../../onnx/ir/operator.ts'
import { DTYPES, type DType, isFloat } from '../../onnx/ir/tensor.ts'
import type { Ref } from '../loops/loops.ts'
import type { Tree } from '../loops/tree.ts'
import { bodyOf, castTree, clipped } from './bodies.ts'
import type { Handler } from './handler.ts'
import { reshape } from './lowering/layouts.ts'
import { filled, map } from './lowering/loops.ts'
import type { Lowering } from './lowering/lowering.ts'
import { misfit } from './lowering/misfit.ts'
import { exactTree, operand } from './lowering/operands.ts'
import { COMPUTED, kindOf } from './lowering/values.ts'

/** Maximum number of inputs of an elementwise operator, because a loop holds each in a register. */
const MAX_INPUTS = 64

export const elementwise: Handler = (lowering, node) => {
  if (node.inputs.length > MAX_INPUTS)
    throw unclaimed(node, `it has ${node.inputs.length} inputs, but at most ${MAX_INPUTS} are supported`)
  if (node.outputs.slice(1).some((name) => name !== '') || !wants(node, 0))
    throw unclaimed(node, 'its second output is not compiled')
  const args: Ref[] = []
  const given = node.op === 'CastLike' || node.op === 'Dropout' ? node.inputs.slice(0, 1) : node.inputs
  const trees = given.map((name, index) =>
    name === '' ? undefined : operand(lowering, node, name, args, isOpenLimit(lowering, node, index)),
  )
  const tree = exactTree(lowering, node, treeOf(lowering, node, trees))
  const [name = ''] = node.outputs
  const dims = lowering.values.dims(node, name)
  if (tree.kind !== kindOf(node, lowering.values.dtype(node, name)))
    throw misfit(node, 'its inputs have different types')
  // Without inputs, the value is a constant broadcast to the node's shape.
  if (args.length === 0) lowering.values.name(name, filled(lowering, node, tree, dims))
  else lowering.values.name(name, reshape(lowering, node, map(lowering, node, args, tree, name), dims))
}

/**
 * Whether an operand is a limit that no 32-bit number reaches, because files write the largest i64 for
 * "none".
 */
function isOpenLimit(lowering: Lowering, node: Node, index: number): boolean {
  const value = Number(lowering.values.known(node.inputs[index]!)?.data[0] ?? 0)
  if (node.op === 'Clip') return index === 1 ? value < 0 : index === 2 && value > 0
  return (node.op === 'Max' && value < 0) || (node.op === 'Min' && value > 0)
}

function treeOf(lowering: Lowering, node: Node, trees: readonly (Tree | undefined)[]): Tree {
  const [x, low, high] = trees
  if (x === undefined) throw unclaimed(node, 'its first input is omitted')
  if (node.op === 'Clip') return clipped(x, low, high)
  if (node.op === 'Cast' || node.op === 'CastLike') return cast(lowering, node, x)
  if (
    node.op === 'Dropout' &&
    hasInput(node, 2) &&
    Number(lowering.values.known(node.inputs[2]!)?.data[0] ?? 1) !== 0
  )
    throw unclaimed(node, 'it may drop elements at random')
  if (trees.includes(undefined)) throw unclaimed(node, 'an input is omitted')
  const dtype = lowering.values.dtype(node, node.inputs.find((_, index) => hasInput(node, index)) ?? '')
  if (!COMPUTED.includes(dtype)) throw unclaimed(node, `arithmetic on ${dtype} is not compiled`)
  return bodyOf(node)(trees as readonly Tree[], node)
}

function cast(lowering: Lowering, node: Node, x: Tree): Tree {
  const [from, to] = [node.inputs[0]!, node.outputs[0]!].map((name) => lowering.values.dtype(node, name)) as [
    DType,
    DType,
  ]
  const isWide = COMPUTED.includes(to) || (!isFloat(from) && (from === to || from === 'bool'))
  if (!isWide)
    throw unclaimed(node, `casts from ${from} to ${DTYPES.get(intOf(node, 'to', 0)) ?? to} are not compiled`)
  return castTree(x, kindOf(node, to), to === 'bool')
}
