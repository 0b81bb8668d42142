// Rotations. In: slices, negations, concatenations, products and sums of heads. Out: heads that are rotated
// by cosines and sines, or that stand after a state.
import { intOf } from '../../ir/attributes.ts'
import { axisOf } from '../../ir/broadcast.ts'
import type { Node } from '../../ir/graph.ts'
import { unclaimed } from '../../ir/operator.ts'
import { axisCut } from '../axis-cut.ts'
import type { HeadPart, Heads, Meaning, Turned } from '../meaning.ts'
import type { Handler, Translator } from '../translator.ts'
import { checkFactor } from './elementwise.ts'

/** Numbers of each head: Slice over the last axis with step 1. */
export const slice: Handler = (t, node) => {
  const input = t.read(node, 0)
  if (input?.is !== 'heads' || !input.axes.endsWith('d')) return false
  const rank = input.axes.length
  const cut = axisCut(t, node, rank, (axis) => (axis === rank - 1 ? input.dim : undefined))
  if (cut === undefined) return false
  t.set(node, 0, { is: 'part', of: input, from: cut.from, to: cut.to, sign: 1 })
  return true
}

/** Two halves. */
export const split: Handler = (t, node) => {
  const input = t.read(node, 0)
  const axis = intOf(node, 'axis', 0)
  if (input?.is !== 'heads' || !input.axes.endsWith('d') || node.outputs.length !== 2) return false
  if (axis !== -1 && axis !== input.axes.length - 1) return false
  const half = input.dim / 2
  if (t.dimsOf(node)?.at(-1) !== half) return false
  t.set(node, 0, { is: 'part', of: input, from: 0, to: half, sign: 1 })
  t.set(node, 1, { is: 'part', of: input, from: half, to: input.dim, sign: 1 })
  return true
}

export const negate: Handler = (t, node) => {
  const input = t.read(node, 0)
  if (input?.is !== 'part') return false
  t.set(node, 0, { ...input, sign: input.sign === 1 ? -1 : 1 })
  return true
}

/** (-second half, first half), or a state before the tokens. */
export const concat: Handler = (t, node) => {
  const [first, second] = [t.read(node, 0), t.read(node, 1)]
  if (node.inputs.length !== 2) return false
  if (first?.is === 'part' && second?.is === 'part') return turn(t, node, first, second)
  if (first?.is !== 'state' || second?.is !== 'heads' || second.past !== '') return false
  if (second.axes[axisOf(node, intOf(node, 'axis', 0), second.axes.length)] !== 't')
    throw unclaimed(node, 'it joins a state and new tokens along another axis than theirs')
  const joined: Heads = { ...second, past: first.name }
  t.grow(node, first.name, joined)
  t.set(node, 0, joined)
  return true
}

function turn(t: Translator, node: Node, first: HeadPart, second: HeadPart): boolean {
  const half = first.of.dim / 2
  const isTurn =
    first.of === second.of &&
    first.sign === -1 &&
    second.sign === 1 &&
    first.from === half &&
    first.to === first.of.dim &&
    second.from === 0 &&
    second.to === half
  if (isTurn) t.set(node, 0, { is: 'turned', of: first.of, form: 'half' })
  return isTurn
}

/** x * cos, turned x * sin, or x * a number. */
export const multiplyHeads: Handler = (t, node) => {
  for (const [one, other] of [
    [0, 1],
    [1, 0],
  ] as const) {
    const [left, right] = [t.read(node, one), t.read(node, other)]
    const number = t.scalar(node, other)
    if (left?.is === 'heads' && number !== undefined) {
      checkFactor(node, number)
      t.set(node, 0, { ...left, scale: left.scale * number })
      return true
    }
    if (right?.is !== 'control' && right?.is !== 'constant') continue
    const by = node.inputs[other] ?? ''
    // Cosines have the tokens before the numbers of a head, so that is where they must be in heads.
    if ((left?.is === 'heads' && left.axes !== 'bhtd') || (left?.is === 'turned' && left.of.axes !== 'bhtd'))
      continue
    if (left?.is === 'heads') {
      t.set(node, 0, { is: 'turned', of: left, form: 'plain', by })
      return true
    }
    if (left?.is === 'turned' && left.form === 'half' && left.by === undefined) {
      t.set(node, 0, { ...left, by })
      return true
    }
  }
  return false
}

export const divideHeads: Handler = (t, node) => {
  const [left, number] = [t.read(node, 0), t.scalar(node, 1)]
  if (left?.is !== 'heads' || number === undefined) return false
  checkFactor(node, 1 / number)
  t.set(node, 0, { ...left, scale: left.scale / number })
  return true
}

/** x * cos + turned x * sin */
export const addTurned: Handler = (t, node) => {
  const parts = [t.read(node, 0), t.read(node, 1)]
  const plain = parts.find((each) => isTurned(each, 'plain'))
  const half = parts.find((each) => isTurned(each, 'half'))
  if (plain?.by === undefined || half?.by === undefined || plain.of !== half.of) return false
  const of: Heads = plain.of
  if (of.rope !== undefined || of.past !== '') throw unclaimed(node, 'it rotates heads a second time')
  t.set(node, 0, {
    ...of,
    rope: { cos: plain.by, sin: half.by, dims: of.dim, isHalf: false, pairing: 'halves' },
  })
  return true
}

const isTurned = (meaning: Meaning | undefined, form: Turned['form']): meaning is Turned =>
  meaning?.is === 'turned' && meaning.form === form
