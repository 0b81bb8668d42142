// Elementwise operators. In: rows, and activations of rows. Out: sums, gates and scaled rows.
import type { Activation } from '../../../graph/ir.ts'
import { floatOf, stringOf } from '../../ir/attributes.ts'
import { hasInput, type Node } from '../../ir/graph.ts'
import { unclaimed } from '../../ir/operator.ts'
import type { Handler, Translator } from '../translator.ts'

export const add: Handler = (t, node) => {
  if (!t.isRows(node, 0) || !t.isRows(node, 1)) return false
  t.setRows(node, 0, t.b.add(node.outputs[0] ?? node.name, t.rows(node, 0), t.rows(node, 1)))
  return true
}

/** activation(gate) * up, or x * sigmoid(x). */
export const multiply: Handler = (t, node) => {
  const [left, right] = [t.read(node, 0), t.read(node, 1)]
  for (const [one, other, at] of [
    [left, right, 1],
    [right, left, 0],
  ] as const) {
    if (one?.is === 'sigmoid' && other?.is === 'rows' && one.value === other.value) {
      t.set(node, 0, { is: 'gate', value: one.value, activation: 'silu' })
      return true
    }
    if (one?.is === 'gate' && other?.is === 'rows') {
      const up = t.rows(node, at)
      t.findings.intermediateSize = Math.max(t.findings.intermediateSize, up.shape[1])
      t.setRows(node, 0, t.b.swiglu(node.outputs[0] ?? node.name, [one.value, up], one.activation))
      return true
    }
  }
  return false
}

export const sigmoid: Handler = (t, node) => {
  const input = t.read(node, 0)
  if (input?.is !== 'rows') return false
  t.set(node, 0, { is: 'sigmoid', value: input.value })
  return true
}

/** x * sigmoid(alpha x) */
export const quickGelu: Handler = (t, node) => {
  const alpha = floatOf(node, 'alpha', 1.702)
  if (alpha !== 1) throw unclaimed(node, `its alpha is ${alpha} where only 1 is known, which is SiLU`)
  return gate(t, node, 'silu')
}

/** x * sigmoid(alpha x), of opset 24. */
export const swish: Handler = (t, node) => {
  const alpha = floatOf(node, 'alpha', 1)
  if (alpha !== 1) throw unclaimed(node, `its alpha is ${alpha} where only 1 is known, which is SiLU`)
  return gate(t, node, 'silu')
}

export const gelu: Handler = (t, node) =>
  gate(t, node, stringOf(node, 'approximate', 'none') === 'tanh' ? 'gelu' : 'gelu_exact')

/** The tanh approximation. A second input is a bias. */
export const fastGelu: Handler = (t, node) => {
  if (hasInput(node, 1) && !t.hasBias(node)) throw unclaimed(node, 'it adds a bias before the activation')
  return gate(t, node, 'gelu')
}

function gate(t: Translator, node: Node, activation: Activation): boolean {
  const input = t.read(node, 0)
  if (input?.is !== 'rows') return false
  t.findings.intermediateSize = Math.max(t.findings.intermediateSize, input.value.shape[1])
  t.set(node, 0, { is: 'gate', value: input.value, activation })
  return true
}

/** The same elements, as far as rows of tokens go. */
export const same: Handler = (t, node) => {
  const input = t.read(node, 0)
  // What a control value is cast to is another value: a mask of numbers, made of one of facts.
  if (input === undefined || input.is === 'constant' || input.is === 'control') return false
  t.set(node, 0, input)
  return true
}
