// Norms of primitive operators. In: rows over their root mean square, and the weight that follows. Out: a
// norm of the plan.
import type { GraphBuilder } from '../../graph/builder.ts'
import type { Value, WeightRef } from '../../graph/ir.ts'
import type { Node } from '../ir/graph.ts'
import { unclaimed } from '../ir/operator.ts'
import type { Findings, Normed } from './meaning.ts'
import type { WeightTable } from './weights/weight-table.ts'

/** What a norm needs of the translator. */
export interface NormRoom {
  readonly b: GraphBuilder
  readonly weights: WeightTable
  readonly findings: Findings
  beforeNorm(node: Node, value: Value): Value
  afterNorm(node: Node, value: Value): void
}

/** `bias` is what is added after the weight. Throws `unsupported` where no weight follows. */
export function normedRows(
  t: NormRoom,
  { of, isCentred, epsilon, weight }: Normed,
  label: string,
  bias?: WeightRef,
): Value | undefined {
  if (of.is !== 'rows' || weight === undefined) return undefined
  const { node, index } = weight
  t.findings.norms.add(isCentred ? 'layer' : 'rms')
  t.findings.normEpsilon = epsilon
  const rows = t.beforeNorm(node, of.value)
  const gamma = t.weights.vector(node, index, rows.shape[1], 'norm')
  if (!isCentred && bias !== undefined) throw unclaimed(node, 'a bias follows a norm that has no mean')
  const made = isCentred
    ? t.b.layernorm(label, rows, gamma, bias, epsilon)
    : t.b.rmsnorm(label, rows, gamma, epsilon)
  t.afterNorm(node, made)
  return made
}
