// Handlers of attention in primitive operators. They need a proof that the mask hides later positions, or
// everything outside a window.
import type { RopeUse, Value } from '../../../../core/graph/ir.ts'
import type { Node } from '../../ir/graph.ts'
import { EITHER_ORDER, intOf, unclaimed } from '../../ir/operator.ts'
import { noteHeads, ROPE_TABLE } from '../findings.ts'
import { proveRope } from '../long-rope.ts'
import type { Heads, Mask, Scores } from '../meaning.ts'
import { proveMask } from '../prove.ts'
import type { Handler, Translator } from '../translator.ts'
import { checkFactor } from './elementwise.ts'
import { timesScores } from './limits.ts'
import { wholeHeads } from './rotation.ts'

/** q k^T, or softmax(scores) v. */
export const multiplyMatrices: Handler = async (t, node) => {
  const left = t.meanings.read(node, 0)
  const right = wholeHeads(t, node, 1)
  const q = right?.axes === 'bhdt' ? wholeHeads(t, node, 0) : undefined
  if (q?.axes === 'bhtd' && right !== undefined) {
    const scale = q.scale * right.scale
    t.meanings.set(node, 0, { is: 'scores', q, k: right, scale, cap: 0, isSoft: false })
    return true
  }
  if (left?.is !== 'scores' || !left.isSoft || right?.axes !== 'bhtd') return false
  const { count, dim } = left.q
  const value = await attend(t, node, left, right)
  t.meanings.set(node, 0, { is: 'heads', value, count, dim, axes: 'bhtd', copies: 1, scale: 1, past: '' })
  return true
}

/** Scores times a number, before a mask is added. */
export const scaleScores: Handler = (t, node) =>
  scaledBy(t, node, 0, t.types.scalar(node, 1)) || scaledBy(t, node, 1, t.types.scalar(node, 0))

export const divideScores: Handler = (t, node) => {
  const number = t.types.scalar(node, 1)
  return scaledBy(t, node, 0, number === undefined ? undefined : 1 / number)
}

function scaledBy(t: Translator, node: Node, index: number, by: number | undefined): boolean {
  const scores = t.meanings.read(node, index)
  if (scores?.is !== 'scores' || scores.mask !== undefined || scores.isSoft || by === undefined) return false
  if (scores.cap * by < 0) return false
  checkFactor(node, by)
  t.meanings.set(node, 0, timesScores(scores, by))
  return true
}

/** A soft cap: cap * tanh(scores / cap). */
export const capScores: Handler = (t, node) => {
  const scores = t.meanings.read(node, 0)
  if (scores?.is !== 'scores' || scores.mask !== undefined || scores.isSoft) return false
  if (scores.cap !== 0 || scores.limits !== undefined) throw unclaimed(node, 'it caps scores a second time')
  t.meanings.set(node, 0, { ...scores, cap: 1 })
  return true
}

export const addMask: Handler = (t, node) => {
  for (const [one, other] of EITHER_ORDER) {
    const scores = t.meanings.read(node, one)
    const mask = t.meanings.read(node, other)
    if (scores?.is !== 'scores' || (mask?.is !== 'control' && mask?.is !== 'constant')) continue
    setMask(t, node, one, scores, { name: node.inputs[other]!, form: 'added' })
    return true
  }
  return false
}

/** Where(mask, scores, a large negative number), or the other way round. */
export const chooseByMask: Handler = (t, node) => {
  for (const [one, other, form] of [
    [1, 2, 'kept'],
    [2, 1, 'dropped'],
  ] as const) {
    const scores = t.meanings.read(node, one)
    const number = t.types.scalar(node, other)
    if (scores?.is !== 'scores' || number === undefined || !(number <= -1e4)) continue
    setMask(t, node, one, scores, { name: node.inputs[0]!, form })
    return true
  }
  return false
}

/** Tests for NaN among the weights of attention, which occurs if a row attends to nothing. */
export const findGaps: Handler = (t, node) => {
  const scores = t.meanings.read(node, 0)
  if (scores?.is !== 'scores' || !scores.isSoft) return false
  t.meanings.set(node, 0, { is: 'gaps', of: scores })
  return true
}

/**
 * Replaces NaN with zeros. With a proven mask, each row attends at least to itself, so there is no such row.
 */
export const fillGaps: Handler = (t, node) => {
  const gaps = t.meanings.read(node, 0)
  const scores = t.meanings.read(node, 2)
  if (gaps?.is !== 'gaps' || gaps.of !== scores || t.types.scalar(node, 1) !== 0) return false
  t.meanings.set(node, 0, gaps.of)
  return true
}

/** `index`: the input that holds the scores. The mask is proven to have no other form. */
function setMask(t: Translator, node: Node, index: number, scores: Scores, mask: Mask): void {
  if (scores.isSoft || scores.mask === 'causal') throw unclaimed(node, 'it masks attention weights')
  t.types.learnShape(node, index)
  t.meanings.set(node, 0, { ...scores, mask: [...(scores.mask ?? []), mask] })
}

/** Over the last axis, the positions. Before opset 13, the default was axis 1. */
export const softmax: Handler = (t, node) => {
  const scores = t.meanings.read(node, 0)
  const axis = intOf(node, 'axis', node.version < 13 ? 1 : -1)
  if (scores?.is !== 'scores' || scores.isSoft || (axis !== -1 && axis !== 3)) return false
  t.meanings.set(node, 0, { ...scores, isSoft: true })
  return true
}

/** The attention output. Throws `unsupported` if the mask is not proven or the operands do not match. */
export async function attend(
  t: Translator,
  node: Node,
  { q, k, scale, cap, mask, limits }: Scores,
  v: Heads,
): Promise<Value> {
  checkFit(node, q, k, v)
  checkFactor(node, scale)
  if (t.states.exist && k.past === '')
    throw unclaimed(node, 'its keys are not appended to a state, unlike those of other layers')
  const window = mask === 'causal' ? 0 : await proveMask(t, node, mask, q.count)
  const kind = window > 0 ? 'local' : 'all'
  const { dims, pairing } = await rotationOf(t, node, kind, q, k)
  const heads = q.count
  const kvHeads = k.count / k.copies
  const headDim = q.dim
  const layer = t.findings.layers++
  noteHeads(t.findings, node, { heads, kvHeads, headDim })
  const norms = q.norm &&
    k.norm && { q: q.norm.weight, k: k.norm.weight, over: 'head' as const, epsilon: q.norm.epsilon }
  return t.b.attend(
    `layers.${layer}.attn`,
    [q.value, k.value, v.value],
    { layer, heads, kvHeads, headDim, window },
    { table: ROPE_TABLE[kind], dims, pairing },
    { scale, cap, norms, limits: { q: q.limits, k: k.limits, scores: limits } },
  )
}

function checkFit(node: Node, q: Heads, k: Heads, v: Heads): void {
  const wrong = [
    [k.count !== q.count || v.count !== q.count, `it combines ${q.count}, ${k.count} and ${v.count} heads`],
    [k.copies !== v.copies, `keys are copied ${k.copies} times and values ${v.copies} times`],
    [k.dim !== q.dim || v.dim !== q.dim, `its heads have ${q.dim}, ${k.dim} and ${v.dim} numbers`],
    [
      v.scale !== 1 || v.rope !== undefined || v.norm !== undefined || v.limits !== undefined,
      'its values are scaled, rotated or normed',
    ],
    [(k.past === '') !== (v.past === ''), 'only its keys or only its values are appended to a state'],
    [q.past !== '', 'its queries are appended to a state'],
    [(q.norm === undefined) !== (k.norm === undefined), 'only its queries or only its keys are normed'],
    [q.norm?.epsilon !== k.norm?.epsilon, 'its norms of queries and keys have different epsilons'],
  ].find(([is]) => is)
  if (wrong !== undefined) throw unclaimed(node, String(wrong[1]))
}

/** The proven rotation of queries and keys. */
export async function rotationOf(
  t: Translator,
  node: Node,
  kind: 'all' | 'local',
  { rope: q }: Heads,
  { rope: k }: Heads,
): Promise<Pick<RopeUse, 'dims' | 'pairing'>> {
  if (q === undefined && k === undefined) return { dims: 0, pairing: 'halves' }
  if (q === undefined || JSON.stringify(q) !== JSON.stringify(k))
    throw unclaimed(node, 'its queries and keys are rotated differently')
  await proveRope(t, node, kind, q)
  return q
}
