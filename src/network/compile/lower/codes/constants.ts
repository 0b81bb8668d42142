// Numbers of quantised operators that must be known before a run.
import { hasInput, type Node } from '../../../onnx/ir/graph.ts'
import { unclaimed } from '../../../onnx/ir/operator.ts'
import { numbersOf } from '../../../onnx/ir/tensor.ts'
import type { Lowering } from '../lowering/lowering.ts'

/** The elements of an input, which must be constant. `fallback`: those of a missing one. */
export const constantOf = (lowering: Lowering, node: Node, index: number, fallback: number[]): number[] => {
  if (!hasInput(node, index)) return fallback
  const tensor = lowering.values.known(node.inputs[index]!)
  if (tensor === undefined) throw unclaimed(node, `its input ${index} is not a constant`)
  return numbersOf(tensor)
}
