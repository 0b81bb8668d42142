// Handlers of norms, with and without a preceding sum, as single operators or in primitive ones.
import type { Value } from '../../../../core/graph/ir.ts'
import { hasInput, type Node } from '../../ir/graph.ts'
import { EITHER_ORDER, floatOf, intOf, intsOf, MICROSOFT, unclaimed } from '../../ir/operator.ts'
import { normedRows } from '../known/normed-rows.ts'
import type { Heads, Meaning, Normed, RowsMeaning, Statistic } from '../meaning.ts'
import type { Handler, Translator } from '../translator.ts'
import { sumOf } from './elementwise.ts'

const isWhole = (meaning: Meaning | undefined): meaning is RowsMeaning =>
  meaning?.is === 'rows' || (meaning?.is === 'heads' && meaning.axes.endsWith('d'))

/** The rows, or centred rows, that a norm starts from. */
function subject(meaning: Meaning | undefined): Pick<Statistic, 'of' | 'isCentred'> | undefined {
  if (isWhole(meaning)) return { of: meaning, isCentred: false }
  if (meaning?.is === 'statistic' && meaning.step === 'centred') return { of: meaning.of, isCentred: true }
  return undefined
}

const set = (
  t: Translator,
  node: Node,
  step: Statistic['step'],
  of: RowsMeaning,
  isCentred: boolean,
  epsilon = 0,
) => {
  t.meanings.set(node, 0, { is: 'statistic', step, of, isCentred, epsilon })
  return true
}

/** x^2 */
export const power: Handler = (t, node) => t.types.scalar(node, 1) === 2 && square(t, node)

/** x * x */
export const squared: Handler = (t, node) => node.inputs[0] === node.inputs[1] && square(t, node)

/** The first step of a norm; or rows times themselves if no mean follows, as after ReLU. */
function square(t: Translator, node: Node): boolean {
  const found = subject(t.meanings.read(node, 0))
  if (found === undefined) return false
  const { of, isCentred } = found
  let reader = t.onlyReader(node)
  while (reader?.op === 'Cast') reader = t.onlyReader(reader)
  if (reader?.op === 'ReduceMean' || of.is !== 'rows' || isCentred)
    return set(t, node, 'square', of, isCentred)
  t.meanings.setRows(node, 0, t.b.swiglu(node.outputs[0] ?? node.name, [of.value, of.value], 'none'))
  return true
}

/** Over the last axis, which is kept. Axes are an attribute up to opset 17, and an input from 18 on. */
export const mean: Handler = (t, node) => {
  const input = t.meanings.read(node, 0)
  const axes = intsOf(node, 'axes', undefined) ?? t.types.numbers(node, 1)
  const rank = t.types.dims(node)?.length
  const isLast = axes?.length === 1 && (axes[0] === -1 || axes[0] === (rank ?? 0) - 1)
  if (!isLast || intOf(node, 'keepdims', 1) === 0) return false
  if (isWhole(input)) return set(t, node, 'mean', input, false)
  return (
    input?.is === 'statistic' &&
    input.step === 'square' &&
    set(t, node, 'variance', input.of, input.isCentred)
  )
}

/** x - mean(x) */
export const centred: Handler = (t, node) => {
  const left = t.meanings.read(node, 0)
  const right = t.meanings.read(node, 1)
  const fits = isWhole(left) && right?.is === 'statistic' && right.step === 'mean' && right.of === left
  return fits && set(t, node, 'centred', left, true)
}

/** variance + epsilon; or a normed and weighted x, plus bias */
export const addToStatistic: Handler = (t, node) => {
  for (const [one, other] of EITHER_ORDER) {
    const left = t.meanings.read(node, one)
    const number = t.types.scalar(node, other)
    if (left?.is === 'statistic' && left.step === 'variance' && left.epsilon === 0 && number !== undefined)
      return set(t, node, 'variance', left.of, left.isCentred, number)
    if (
      left?.is === 'normed' &&
      left.isCentred &&
      left.of.is === 'rows' &&
      t.meanings.read(node, other)?.is === 'constant'
    ) {
      const bias = t.weights.vector(node, other, left.of.value.shape[1], 'bias')
      const value = normedRows(t, left, node.outputs[0] ?? node.name, bias)
      if (value !== undefined) t.meanings.setRows(node, 0, value)
      return value !== undefined
    }
  }
  return false
}

export const root: Handler = (t, node) => {
  const input = t.meanings.read(node, 0)
  return (
    input?.is === 'statistic' &&
    input.step === 'variance' &&
    set(t, node, 'root', input.of, input.isCentred, input.epsilon)
  )
}

/** 1 / root, as an operator of its own. */
export const inverse: Handler = (t, node) => {
  const input = t.meanings.read(node, 0)
  return (
    input?.is === 'statistic' &&
    input.step === 'root' &&
    set(t, node, 'inverse', input.of, input.isCentred, input.epsilon)
  )
}

/** 1 / root, or x / root */
export const divide: Handler = (t, node) => {
  const left = t.meanings.read(node, 0)
  const right = t.meanings.read(node, 1)
  if (right?.is !== 'statistic' || right.step !== 'root') return false
  if (t.types.scalar(node, 0) === 1) return set(t, node, 'inverse', right.of, right.isCentred, right.epsilon)
  return isSubject(left, right) && setNormed(t, node, right)
}

/** x * (1 / root), then times the weight. */
export const multiplyStatistic: Handler = (t, node) => {
  for (const [one, other] of EITHER_ORDER) {
    const left = t.meanings.read(node, one)
    const right = t.meanings.read(node, other)
    if (right?.is === 'statistic' && right.step === 'inverse' && isSubject(left, right))
      return setNormed(t, node, right)
    if (left?.is === 'normed' && left.weight === undefined && right?.is === 'constant')
      return setWeighted(t, node, left, other)
  }
  return false
}

const isSubject = (meaning: Meaning | undefined, { of, isCentred }: Statistic): boolean => {
  const found = subject(meaning)
  return found !== undefined && found.of === of && found.isCentred === isCentred
}

function setNormed(t: Translator, node: Node, { of, isCentred, epsilon }: Statistic): boolean {
  t.meanings.set(node, 0, { is: 'normed', of, isCentred, epsilon })
  return true
}

/** Norms of heads become part of the attention op. */
function setWeighted(t: Translator, node: Node, normed: Normed, index: number): boolean {
  const { of, isCentred, epsilon } = normed
  if (of.is === 'rows') {
    t.meanings.set(node, 0, { ...normed, weight: { node, index } })
    return true
  }
  if (isCentred || !isPlain(of)) return false
  const weight = t.weights.vector(node, index, of.dim, 'norm')
  t.meanings.set(node, 0, { ...of, norm: { weight, epsilon } })
  return true
}

const isPlain = ({ norm, rope, scale }: Heads): boolean =>
  norm === undefined && rope === undefined && scale === 1

/** A norm over the last axis. */
export const rmsNorm: Handler = (t, node) => {
  const input = t.meanings.read(node, 0)
  if (input?.is === 'heads') return normHeads(t, node, input)
  if (!t.meanings.isRows(node, 0)) return false
  overLastAxis(node)
  t.meanings.setRows(node, 0, rms(t, node, t.meanings.rows(node, 0), 1))
  return true
}

export const layerNorm: Handler = (t, node) => {
  if (!t.meanings.isRows(node, 0)) return false
  overLastAxis(node)
  t.meanings.setRows(node, 0, layer(t, node, t.meanings.rows(node, 0), 1, 2))
  return true
}

/** Inputs: x, skip, gamma, bias. Outputs: the norm of the sum, two that are unused, the sum. */
export const skipRmsNorm: Handler = (t, node) => {
  if (!t.meanings.isRows(node, 0)) return false
  const sum = summed(t, node, 3)
  t.meanings.setRows(node, 0, rms(t, node, sum, 2))
  return true
}

/** Inputs: x, skip, gamma, beta, bias. */
export const skipLayerNorm: Handler = (t, node) => {
  if (!t.meanings.isRows(node, 0)) return false
  const sum = summed(t, node, 4)
  t.meanings.setRows(node, 0, layer(t, node, sum, 2, 3))
  return true
}

function summed(t: Translator, node: Node, bias: number): Value {
  if (hasInput(node, bias) && !t.facts.biased.has(node))
    throw unclaimed(node, 'it adds a bias before the norm')
  const sum = sumOf(t, node, node.outputs[3] || `${node.name}.sum`)
  t.meanings.setRows(node, 3, sum)
  return sum
}

/** x / sqrt(mean(x^2) + epsilon) * gamma */
export function rms(t: Translator, node: Node, input: Value, gamma: number): Value {
  const epsilon = note(t, node, 'rms')
  const rows = t.tail.beforeNorm(node, input)
  const weight = t.weights.vector(node, gamma, rows.shape[1], 'norm')
  const made = t.b.rmsnorm(node.outputs[0] ?? node.name, rows, weight, epsilon)
  t.facts.normed.set(made, { value: rows, norm: { weight, epsilon } })
  t.tail.afterNorm(node, made)
  return made
}

/** (x - mean) / sqrt(variance + epsilon) * gamma + beta */
export function layer(t: Translator, node: Node, input: Value, gamma: number, beta: number): Value {
  const epsilon = note(t, node, 'layer')
  const rows = t.tail.beforeNorm(node, input)
  const weight = t.weights.vector(node, gamma, rows.shape[1], 'norm')
  const bias = hasInput(node, beta) ? t.weights.vector(node, beta, rows.shape[1], 'bias') : undefined
  const made = t.b.layernorm(node.outputs[0] ?? node.name, rows, weight, bias, epsilon)
  t.tail.afterNorm(node, made)
  return made
}

/** A norm per head, which the plan applies before the rotation. */
function normHeads(t: Translator, node: Node, heads: Heads): boolean {
  if (!heads.axes.endsWith('d') || !isPlain(heads)) return false
  overLastAxis(node, heads.axes.length)
  const weight = t.weights.vector(node, 1, heads.dim, 'norm')
  t.meanings.set(node, 0, { ...heads, norm: { weight, epsilon: epsilonOf(node) } })
  return true
}

function note(t: Translator, node: Node, kind: 'rms' | 'layer'): number {
  const epsilon = epsilonOf(node)
  t.findings.norms.add(kind)
  t.findings.normEpsilon = epsilon
  return epsilon
}

const epsilonOf = (node: Node): number => floatOf(node, 'epsilon', node.domain === MICROSOFT ? 1e-12 : 1e-5)

function overLastAxis(node: Node, rank = 3): void {
  const axis = intOf(node, 'axis', -1)
  // Rows are [batch, tokens, width], or [tokens, width] after a reshape.
  if (axis !== -1 && axis !== rank - 1)
    throw unclaimed(node, `it covers the axes from ${axis} on, not only the last one`)
}
