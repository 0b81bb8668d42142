// Norms. In: norms of rows, with and without the sum before them. Out: norms of the plan, and the sum.
import type { Value } from '../../../graph/ir.ts'
import { floatOf, intOf } from '../../ir/attributes.ts'
import { hasInput, type Node } from '../../ir/graph.ts'
import { unclaimed } from '../../ir/operator.ts'
import type { Heads } from '../meaning.ts'
import type { Handler, Translator } from '../translator.ts'
import { sumOf } from './elementwise.ts'

/** A norm over the last axis. */
export const rmsNorm: Handler = (t, node) => {
  const input = t.read(node, 0)
  if (input?.is === 'heads') return normHeads(t, node, input)
  if (!t.isRows(node, 0)) return false
  overLastAxis(node)
  t.setRows(node, 0, rms(t, node, t.rows(node, 0), 1))
  return true
}

export const layerNorm: Handler = (t, node) => {
  if (!t.isRows(node, 0)) return false
  overLastAxis(node)
  t.setRows(node, 0, layer(t, node, t.rows(node, 0), 1, 2))
  return true
}

/** Inputs: x, skip, gamma, bias. Outputs: the norm of the sum, two that are unused, the sum. */
export const skipRmsNorm: Handler = (t, node) => {
  if (!t.isRows(node, 0)) return false
  const sum = summed(t, node, 3)
  t.setRows(node, 0, rms(t, node, sum, 2))
  return true
}

/** Inputs: x, skip, gamma, beta, bias. */
export const skipLayerNorm: Handler = (t, node) => {
  if (!t.isRows(node, 0)) return false
  const sum = summed(t, node, 4)
  t.setRows(node, 0, layer(t, node, sum, 2, 3))
  return true
}

function summed(t: Translator, node: Node, bias: number): Value {
  if (hasInput(node, bias) && !t.hasBias(node)) throw unclaimed(node, 'it adds a bias before the norm')
  const sum = sumOf(t, node, node.outputs[3] || `${node.name}.sum`)
  t.setRows(node, 3, sum)
  return sum
}

/** x / sqrt(mean(x^2) + epsilon) * gamma */
export function rms(t: Translator, node: Node, input: Value, gamma: number): Value {
  const epsilon = note(t, node, 'rms')
  const rows = t.beforeNorm(node, input)
  const weight = t.weights.vector(node, gamma, rows.shape[1], 'norm')
  const made = t.b.rmsnorm(node.outputs[0] ?? node.name, rows, weight, epsilon)
  t.normed.set(made, { value: rows, norm: { weight, epsilon } })
  t.afterNorm(node, made)
  return made
}

/** (x - mean) / sqrt(variance + epsilon) * gamma + beta */
export function layer(t: Translator, node: Node, input: Value, gamma: number, beta: number): Value {
  const epsilon = note(t, node, 'layer')
  const rows = t.beforeNorm(node, input)
  const weight = t.weights.vector(node, gamma, rows.shape[1], 'norm')
  const bias = hasInput(node, beta) ? t.weights.vector(node, beta, rows.shape[1], 'bias') : undefined
  const made = t.b.layernorm(node.outputs[0] ?? node.name, rows, weight, bias, epsilon)
  t.afterNorm(node, made)
  return made
}

/** A norm of each head, which the plan takes before the rotation. */
function normHeads(t: Translator, node: Node, heads: Heads): boolean {
  const { axes, norm, rope, scale } = heads
  if (!axes.endsWith('d') || norm !== undefined || rope !== undefined || scale !== 1) return false
  overLastAxis(node, axes.length)
  const weight = t.weights.vector(node, 1, heads.dim, 'norm')
  t.set(node, 0, { ...heads, norm: { weight, epsilon: epsilonOf(node) } })
  return true
}

function note(t: Translator, node: Node, kind: 'rms' | 'layer'): number {
  const epsilon = epsilonOf(node)
  t.findings.norms.add(kind)
  t.findings.normEpsilon = epsilon
  return epsilon
}

const epsilonOf = (node: Node): number =>
  floatOf(node, 'epsilon', node.domain === 'com.microsoft' ? 1e-12 : 1e-5)

function overLastAxis(node: Node, rank = 3): void {
  const axis = intOf(node, 'axis', -1)
  // Rows are [batch, tokens, width], or [tokens, width] after a reshape.
  if (axis !== -1 && axis !== rank - 1)
    throw unclaimed(node, `it covers the axes from ${axis}, not the last one`)
}
