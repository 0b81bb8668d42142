// Operands of elementwise operators as trees.
import type { Node } from '../../../onnx/ir/graph.ts'
import { numbersOf } from '../../../onnx/ir/tensor.ts'
import { limitedTo32 } from '../../loops/held.ts'
import type { Ref } from '../../loops/loops.ts'
import { arg, checked, number, type Tree } from '../../loops/tree.ts'
import type { Lowering } from './lowering.ts'
import { checkHeld, kindOf } from './values.ts'

/**
 * The tree of the node's output, checked if the output is i64. A remainder is no larger than its dividend.
 */
export function exactTree(lowering: Lowering, node: Node, tree: Tree): Tree {
  const canLeave = lowering.values.dtype(node, node.outputs[0]!) === 'i64' && node.op !== 'Mod'
  return canLeave ? checked(tree) : tree
}

/**
 * An operand's tree: a number if the operand is a constant of one element. `isLimit`: whether a number
 * beyond 32 bits may be clamped to the 32-bit range.
 */
export function operand(lowering: Lowering, node: Node, name: string, args: Ref[], isLimit = false): Tree {
  const kind = kindOf(node, lowering.values.dtype(node, name))
  const tensor = lowering.values.known(name)
  const rank = lowering.values.dims(node, name).length
  // A number that has more axes than the other operands would lose them, so it is read as a tensor.
  if (tensor?.data.length === 1 && rank <= 1) {
    const [value = 0] = numbersOf(tensor)
    if (!isLimit) checkHeld(node, name, tensor)
    return number(kind === 'f32' ? value : limitedTo32(value), kind)
  }
  const ref = lowering.values.ref(node, name)
  args.push(ref)
  return arg(args.length - 1, ref.value.kind)
}
