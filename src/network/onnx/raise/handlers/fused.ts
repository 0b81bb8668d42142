// Handlers of the operators of opset 23: RotaryEmbedding, also in its contrib form, and Attention.
import type { Value } from '../../../../core/graph/ir.ts'
import { hasInput, type Node } from '../../ir/graph.ts'
import { floatOf, intOf, unclaimed, unfit } from '../../ir/operator.ts'
import type { Heads, Mask } from '../meaning.ts'
import type { Handler, Translator } from '../translator.ts'
import { checkUnrotated, wholeHeads } from './rotation.ts'
import { attend } from './scores.ts'

/** Inputs: x, cosines, sines, positions. */
export const rotaryEmbedding: Handler = (t, node) => rotate(t, node, { cos: 1, sin: 2, positions: 3 })
/** Inputs: x, positions, cosines, sines. */
export const contribRotaryEmbedding: Handler = (t, node) => rotate(t, node, { cos: 2, sin: 3, positions: 1 })

function rotate(t: Translator, node: Node, at: { cos: number; sin: number; positions: number }): boolean {
  const stated = intOf(node, 'rotary_embedding_dim', 0)
  const count = intOf(node, 'num_heads', 0) || (stated === 0 ? headsOfTables(t, node, at.cos) : 0)
  const heads = headsOf(t, node, 0, count)
  if (heads === undefined) return false
  checkUnrotated(node, heads)
  if (floatOf(node, 'scale', 1) !== 1) throw unclaimed(node, 'it scales the angles')
  t.meanings.set(node, 0, {
    ...heads,
    rope: {
      cos: node.inputs[at.cos]!,
      sin: node.inputs[at.sin]!,
      dims: stated === 0 ? heads.dim : stated,
      isHalf: true,
      pairing: intOf(node, 'interleaved', 0) === 0 ? 'halves' : 'interleaved',
      positions: hasInput(node, at.positions) ? node.inputs[at.positions] : undefined,
    },
  })
  return true
}

/**
 * The number of heads in rows whose heads are rotated in full, derived from the width of the tables; 0 if
 * unknown.
 */
function headsOfTables(t: Translator, node: Node, index: number): number {
  const half = t.types.get(node.inputs[index] ?? '')?.dims?.at(-1)
  return typeof half === 'number' && t.meanings.isRows(node, 0)
    ? t.meanings.rows(node, 0).shape[1] / half / 2
    : 0
}

/** Heads [b, h, t, d], or rows [b, t, h * d] with a known number of heads. */
export function headsOf(t: Translator, node: Node, index: number, count: number): Heads | undefined {
  const meaning = wholeHeads(t, node, index)
  if (meaning?.axes === 'btf') {
    if (count !== 0 && count !== meaning.count)
      throw unclaimed(node, `it reads rows of ${meaning.count} heads as ${count} heads`)
    return { ...meaning, axes: 'bthd' }
  }
  // With four axes, heads come before tokens.
  const isApart = t.types.get(node.inputs[index] ?? '')?.dims?.length === 4
  if (meaning !== undefined) return meaning.axes === (isApart ? 'bhtd' : 'bthd') ? meaning : undefined
  if (!t.meanings.isRows(node, index) || count === 0) return undefined
  return asHeads(node, t.meanings.rows(node, index), count)
}

export function asHeads(node: Node, value: Value, count: number): Heads {
  const dim = value.shape[1] / count
  if (!Number.isInteger(dim))
    throw unfit(node, `rows of ${value.shape[1]} cannot be split into ${count} heads`)
  return { is: 'heads', value, count, dim, axes: 'bthd', copies: 1, scale: 1, past: '' }
}

const QUERY = 0
const KEY = 1
const VALUE = 2
const MASK = 3
const PAST_KEY = 4
const PAST_VALUE = 5

export const attention: Handler = async (t, node) => {
  const isFlat = t.types.get(node.inputs[QUERY] ?? '')?.dims?.length === 3
  const counts = [
    intOf(node, 'q_num_heads', 0),
    intOf(node, 'kv_num_heads', 0),
    intOf(node, 'kv_num_heads', 0),
  ]
  const [q, k, v] = [QUERY, KEY, VALUE].map((index) => headsOf(t, node, index, counts[index]!))
  if (q === undefined || k === undefined || v === undefined) return false
  for (const name of ['left_window_size', 'right_window_size'])
    if (intOf(node, name, -1) >= 0) throw unclaimed(node, `it has a window of its own (${name})`)
  if (hasInput(node, 6)) throw unclaimed(node, 'it takes the number of valid positions')
  const scale = floatOf(node, 'scale', 1 / Math.sqrt(q.dim)) * q.scale * k.scale
  const scores = { is: 'scores', q, k: copied(node, q, past(t, node, k, PAST_KEY)), scale } as const
  const cap = floatOf(node, 'softcap', 0)
  const value = await attend(
    t,
    node,
    { ...scores, cap, mask: maskOf(t, node, k), isSoft: true },
    copied(node, q, past(t, node, v, PAST_VALUE)),
  )
  if (isFlat) t.meanings.setRows(node, 0, value)
  else
    t.meanings.set(node, 0, {
      is: 'heads',
      value,
      count: q.count,
      dim: q.dim,
      axes: 'bhtd',
      copies: 1,
      scale: 1,
      past: '',
    })
  leave(t, node, [PAST_KEY, PAST_VALUE])
  return true
}

/** Each head of keys and values serves the same number of query heads, in order. */
function copied(node: Node, q: Heads, heads: Heads): Heads {
  if (heads.count === q.count) return heads
  const copies = q.count / heads.count
  if (!Number.isInteger(copies)) throw unfit(node, `${q.count} heads cannot share ${heads.count}`)
  return { ...heads, count: q.count, copies: heads.copies * copies }
}

/** Keys or values appended to the state in input `index`; unchanged if that input is omitted. */
export function past(t: Translator, node: Node, heads: Heads, index: number): Heads {
  if (!hasInput(node, index)) return heads
  const state = t.meanings.read(node, index)
  if (state?.is !== 'state' || heads.past !== '')
    throw unclaimed(node, `its input ${index} is not a state from the previous step`)
  return { ...heads, past: state.name }
}

/** Records that outputs 1 and 2 are the states of two inputs with the step's own keys and values. */
export function leave(t: Translator, node: Node, inputs: readonly number[]): void {
  for (const [index, input] of inputs.entries()) {
    const of = hasInput(node, input) ? node.inputs[input]! : ''
    const state = t.meanings.read(node, input)
    const meaning = { is: 'present', of: state?.is === 'state' ? state.name : of } as const
    if (meaning.of !== '') t.states.append(node, meaning.of, meaning)
    t.meanings.set(node, index + 1, meaning)
  }
}

/** `causal`: the operator itself masks later positions. */
function maskOf(t: Translator, node: Node, k: Heads): readonly Mask[] | 'causal' | undefined {
  const isCausal = intOf(node, 'is_causal', 0) !== 0
  if (isCausal && hasInput(node, MASK)) throw unclaimed(node, 'it has a mask and is causal as well')
  // If keys were appended to a state beforehand, positions count from the state's first key.
  if (isCausal && k.past !== '') throw unclaimed(node, 'it is causal from the first position of a state')
  if (isCausal) return 'causal'
  if (!hasInput(node, MASK)) return undefined
  const name = node.inputs[MASK]!
  return [{ name, form: t.types.get(name)?.dtype === 'bool' ? 'kept' : 'added' }]
}
