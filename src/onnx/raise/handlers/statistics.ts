// Norms in primitive operators. In: squares, means, roots and quotients of rows or of heads. Out: what step
// of a norm each is; the weight at the end makes it one.
import { intOf, intsOf } from '../../ir/attributes.ts'
import type { Node } from '../../ir/graph.ts'
import type { Meaning, Normed, RowsMeaning, Statistic } from '../meaning.ts'
import { normedRows } from '../normed-rows.ts'
import type { Handler, Translator } from '../translator.ts'

const isWhole = (meaning: Meaning | undefined): meaning is RowsMeaning =>
  meaning?.is === 'rows' || (meaning?.is === 'heads' && meaning.axes.endsWith('d'))

/** Rows, or centred rows, that a norm begins with. */
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
  t.set(node, 0, { is: 'statistic', step, of, isCentred, epsilon })
  return true
}

/** x^2 */
export const power: Handler = (t, node) => {
  const found = subject(t.read(node, 0))
  return found !== undefined && t.scalar(node, 1) === 2 && set(t, node, 'square', found.of, found.isCentred)
}

/** x * x */
export const squared: Handler = (t, node) => {
  const found = subject(t.read(node, 0))
  return (
    found !== undefined &&
    node.inputs[0] === node.inputs[1] &&
    set(t, node, 'square', found.of, found.isCentred)
  )
}

/** Over the last axis, which is kept. Axes are an attribute up to opset 17, an input from 18. */
export const mean: Handler = (t, node) => {
  const input = t.read(node, 0)
  const axes = intsOf(node, 'axes', undefined) ?? t.known(node, 1)
  const rank = t.dimsOf(node)?.length
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
  const [left, right] = [t.read(node, 0), t.read(node, 1)]
  const fits = isWhole(left) && right?.is === 'statistic' && right.step === 'mean' && right.of === left
  return fits && set(t, node, 'centred', left, true)
}

/** variance + epsilon; or a normed and weighted x + bias */
export const addToStatistic: Handler = (t, node) => {
  for (const [one, other] of [
    [0, 1],
    [1, 0],
  ] as const) {
    const [left, number] = [t.read(node, one), t.scalar(node, other)]
    if (left?.is === 'statistic' && left.step === 'variance' && left.epsilon === 0 && number !== undefined)
      return set(t, node, 'variance', left.of, left.isCentred, number)
    if (
      left?.is === 'normed' &&
      left.isCentred &&
      left.of.is === 'rows' &&
      t.read(node, other)?.is === 'constant'
    ) {
      const bias = t.weights.vector(node, other, left.of.value.shape[1], 'bias')
      const value = normedRows(t, left, node.outputs[0] ?? node.name, bias)
      if (value !== undefined) t.setRows(node, 0, value)
      return value !== undefined
    }
  }
  return false
}

export const root: Handler = (t, node) => {
  const input = t.read(node, 0)
  return (
    input?.is === 'statistic' &&
    input.step === 'variance' &&
    set(t, node, 'root', input.of, input.isCentred, input.epsilon)
  )
}

/** 1 / root, by its own operator. */
export const inverse: Handler = (t, node) => {
  const input = t.read(node, 0)
  return (
    input?.is === 'statistic' &&
    input.step === 'root' &&
    set(t, node, 'inverse', input.of, input.isCentred, input.epsilon)
  )
}

/** 1 / root, or x / root */
export const divide: Handler = (t, node) => {
  const [left, right] = [t.read(node, 0), t.read(node, 1)]
  if (right?.is !== 'statistic' || right.step !== 'root') return false
  if (t.scalar(node, 0) === 1) return set(t, node, 'inverse', right.of, right.isCentred, right.epsilon)
  return isSubject(left, right) && setNormed(t, node, right)
}

/** x * (1 / root), then times the weight. */
export const multiplyStatistic: Handler = (t, node) => {
  for (const [one, other] of [
    [0, 1],
    [1, 0],
  ] as const) {
    const [left, right] = [t.read(node, one), t.read(node, other)]
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
  t.set(node, 0, { is: 'normed', of, isCentred, epsilon })
  return true
}

/** Norms of heads become part of their attention. */
function setWeighted(t: Translator, node: Node, normed: Normed, index: number): boolean {
  const { of, isCentred, epsilon } = normed
  if (of.is === 'rows') {
    t.set(node, 0, { ...normed, weight: { node, index } })
    return true
  }
  if (isCentred || of.norm !== undefined || of.rope !== undefined || of.scale !== 1) return false
  const weight = t.weights.vector(node, index, of.dim, 'norm')
  t.set(node, 0, { ...of, norm: { weight, epsilon } })
  return true
}
