// Errors for sizes that do not match.
import { HalfbyteError } from '../../../../core/base/errors.ts'
import type { Node } from '../../../onnx/ir/graph.ts'

/** A graph leaves sizes open, so a run's sizes may be wrong even if the file is right. */
export const misfit = (node: Node, what: string): HalfbyteError =>
  new HalfbyteError(
    'unsupported',
    `node ${node.name} (${node.op}): ${what}; give inputs of other sizes, or export the model again`,
    { node: node.name, op: node.op },
  )

/** Throws if an axis of more than one element would have to be broadcast. */
export function checkSpread(node: Node, from: readonly number[], to: readonly number[]): void {
  const isFit = from.every((size, axis) => size === 1 || size === to[axis + to.length - from.length])
  if (!isFit) throw misfit(node, `the shape [${from.join(', ')}] does not broadcast to [${to.join(', ')}]`)
}
