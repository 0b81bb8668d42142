// Errors of sizes that do not fit together.
import { HalfbyteError } from '../../../../core/base/errors.ts'
import type { Node } from '../../../onnx/ir/graph.ts'

/** A graph leaves sizes open, so that its file may be right and a run's sizes wrong. */
export const misfit = (node: Node, what: string): HalfbyteError =>
  new HalfbyteError(
    'unsupported',
    `node ${node.name} (${node.op}): ${what}; give inputs of other sizes, or export the model again`,
    { node: node.name, op: node.op },
  )

/** Throws where an axis would have to repeat that has more than one element. */
export function checkSpread(node: Node, from: readonly number[], to: readonly number[]): void {
  const isFit = from.every((size, axis) => size === 1 || size === to[axis + to.length - from.length])
  if (!isFit) throw misfit(node, `the shape [${from.join(', ')}] does not extend to [${to.join(', ')}]`)
}
