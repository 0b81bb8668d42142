// Handlers of interleaved rotations: heads become pairs, or every second number, and the rotated pairs become
// heads again.

import { axisOf } from '../../ir/broadcast.ts'
import type { Dim } from '../../ir/dims.ts'
import type { Node } from '../../ir/graph.ts'
import { intOf, intsOf } from '../../ir/operator.ts'
import type { EveryOther, HeadPairs } from '../meaning.ts'
import type { Handler, Translator } from '../translator.ts'
import { axisCut } from './elementwise.ts'
import { partOf } from './rotation.ts'

type Range = Pick<HeadPairs, 'of' | 'from' | 'to'>

function set(
  t: Translator,
  node: Node,
  output: number,
  { of, from, to }: Range,
  form: Pick<EveryOther, 'isSecond' | 'isApart'>,
): true {
  t.meanings.set(node, output, { is: 'every other', of, from, to, sign: 1, ...form })
  return true
}

/** All but the last `count` axes, as text. */
const before = (dims: readonly Dim[] | undefined, count: number): string => `${dims?.slice(0, -count)}`

/** Reshapes [.., numbers] to [.., pairs, 2], or rotated pairs back to numbers. */
export const reshape: Handler = (t, node) => {
  const input = t.meanings.read(node, 0)
  const from = t.types.get(node.inputs[0] ?? '')?.dims
  const to = t.types.dims(node)
  if (from === undefined || to === undefined) return false
  if (input?.is === 'turned' && input.form === 'pairs') {
    const isBack = to.at(-1) === input.dims && before(from, 2) === before(to, 1)
    if (isBack) t.meanings.set(node, 0, { ...input, form: 'half' })
    return isBack
  }
  const part = partOf(input)
  if (part === undefined || to.at(-1) !== 2 || before(from, 1) !== before(to, 2)) return false
  t.meanings.set(node, 0, { is: 'pairs', of: part.of, from: part.from, to: part.to })
  return true
}

/** Slice with step 2 of whole pairs, or of one of the two columns of pairs. */
export const slice: Handler = (t, node) => {
  const input = t.meanings.read(node, 0)
  if (input?.is === 'pairs') {
    const rank = input.of.axes.length + 1
    const cut = axisCut(t, node, rank, (axis) => (axis === rank - 1 ? 2 : undefined))
    if (cut === undefined || cut.to !== cut.from + 1) return false
    return set(t, node, 0, input, { isSecond: cut.from === 1, isApart: true })
  }
  const part = partOf(input)
  if (part === undefined) return false
  const rank = part.of.axes.length
  const cut = axisCut(t, node, rank, (axis) => (axis === rank - 1 ? part.to - part.from : undefined), 2)
  const isPairs = cut !== undefined && cut.size % 2 === 0 && cut.to === cut.size && cut.from <= 1
  return isPairs && set(t, node, 0, part, { isSecond: cut.from === 1, isApart: false })
}

/** Splits pairs into their two columns. */
export const split: Handler = (t, node) => {
  const input = t.meanings.read(node, 0)
  if (input?.is !== 'pairs' || node.outputs.length !== 2) return false
  const rank = input.of.axes.length + 1
  if (axisOf(node, intOf(node, 'axis', 0), rank) !== rank - 1 || t.types.dims(node)?.at(-1) !== 1)
    return false
  return [false, true].every((isSecond, output) => set(t, node, output, input, { isSecond, isApart: true }))
}

/** Selects one column of the pairs by index. */
export const pick: Handler = (t, node) => {
  const input = t.meanings.read(node, 0)
  if (input?.is !== 'pairs') return false
  const rank = input.of.axes.length + 1
  const index = t.types.scalar(node, 1)
  const isOne = axisOf(node, intOf(node, 'axis', 0), rank) === rank - 1 && (index === 0 || index === 1)
  const isApart = t.types.dims(node)?.length === rank
  return isOne && set(t, node, 0, input, { isSecond: index === 1, isApart })
}

/** Inserts or removes an axis of size one after the numbers. `isApart`: whether it exists afterwards. */
const atEnd =
  (isApart: boolean): Handler =>
  (t, node) => {
    const input = t.meanings.read(node, 0)
    const axes = intsOf(node, 'axes', undefined) ?? t.types.numbers(node, 1)
    if (input?.is !== 'every other' || input.isApart === isApart || axes?.length !== 1) return false
    const rank = input.of.axes.length + 1
    const isLast = axisOf(node, axes[0]!, rank) === rank - 1
    if (isLast) t.meanings.set(node, 0, { ...input, isApart })
    return isLast
  }
export const apart: Handler = atEnd(true)
export const together: Handler = atEnd(false)

/** Turns each pair into (-second, first). */
export const concat: Handler = (t, node) => {
  const first = t.meanings.read(node, 0)
  const second = t.meanings.read(node, 1)
  if (first?.is !== 'every other' || second?.is !== 'every other' || node.inputs.length !== 2) return false
  const { of, from, to } = first
  const rank = of.axes.length + 1
  const isTurn =
    first.isApart &&
    second.isApart &&
    second.of === of &&
    second.from === from &&
    second.to === to &&
    first.isSecond &&
    first.sign === -1 &&
    !second.isSecond &&
    second.sign === 1 &&
    axisOf(node, intOf(node, 'axis', 0), rank) === rank - 1
  if (isTurn)
    t.meanings.set(node, 0, {
      is: 'turned',
      of,
      form: 'pairs',
      from,
      dims: to - from,
      pairing: 'interleaved',
    })
  return isTurn
}
