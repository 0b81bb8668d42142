// Creates the norm that a chain of primitive operators, or a single operator, represents.
import type { GraphBuilder } from '../../../../core/graph/builder.ts'
import type { Value, WeightRef } from '../../../../core/graph/ir.ts'
import { unclaimed } from '../../ir/operator.ts'
import type { Findings } from '../findings.ts'
import type { Normed } from '../meaning.ts'
import type { WeightTable } from '../weights/weight-table.ts'
import type { Tail } from './tail.ts'

/** What a norm needs from the translator. */
interface NormRoom {
  readonly b: GraphBuilder
  readonly weights: WeightTable
  readonly findings: Findings
  readonly tail: Tail
}

/** `bias` is added after the weight. Throws `unsupported` if no weight follows. */
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
  const rows = t.tail.beforeNorm(node, of.value)
  const gamma = t.weights.vector(node, index, rows.shape[1], 'norm')
  if (!isCentred && bias !== undefined) throw unclaimed(node, 'a bias follows a norm without a mean')
  const made = isCentred
    ? t.b.layernorm(label, rows, gamma, bias, epsilon)
    : t.b.rmsnorm(label, rows, gamma, epsilon)
  t.tail.afterNorm(node, made)
  return made
}
