// The handler of GroupQueryAttention, whose state is kept in the state cache.
import type { RopePairing } from '../../../../core/arch/config/config.ts'
import { hasInput, type Node } from '../../ir/graph.ts'
import { floatOf, intOf, unclaimed, unfit } from '../../ir/operator.ts'
import { hasWindowedState, headCounts, QKV } from '../../operators/contrib/attention.ts'
import { knownRope, noteHeads, noteRope, ROPE_TABLE } from '../findings.ts'
import { ropeOf } from '../long-rope.ts'
import type { Heads } from '../meaning.ts'
import { narrowest, proveMask, proveNumbers, provePositions } from '../prove.ts'
import type { Handler, Translator } from '../translator.ts'
import { asHeads, headsOf, leave } from './fused.ts'
import { checkUnrotated } from './rotation.ts'
import { rotationOf } from './scores.ts'

const QUERY = 0
const KEY = 1
const VALUE = 2
const PAST_KEY = 3
const PAST_VALUE = 4
const LENGTHS = 5
const TOTAL = 6
const COS = 7
const SIN = 8
const POSITIONS = 9
const BIAS = 10

/**
 * By definition, row i of a step is at position past + i and sees the positions up to and including its own,
 * or the last `local_window_size` of them, provided that the node's lengths are those of the step.
 */
export const groupQueryAttention: Handler = async (t, node) => {
  if (!t.meanings.isRows(node, QUERY) && t.meanings.read(node, QUERY)?.is !== 'heads') return false
  const [heads, kvHeads] = headCounts(node)
  await checkForm(t, node)
  const [q, k, v] = parts(t, node, heads, kvHeads)
  const headDim = q.dim
  const isRotated = intOf(node, 'do_rotary', 0) !== 0
  const window = await windowOf(t, node, heads)
  const kind = window > 0 ? 'local' : 'all'
  for (const each of isRotated ? [q, k] : []) checkUnrotated(node, each)
  const pairing = intOf(node, 'rotary_interleaved', 0) === 0 ? 'halves' : 'interleaved'
  const rotation = isRotated
    ? { dims: await ropeDims(t, node, kind), pairing: pairing as RopePairing }
    : await rotationOf(t, node, kind, q, k)
  const layer = t.findings.layers++
  noteHeads(t.findings, node, { heads, kvHeads, headDim })
  const stated = floatOf(node, 'scale', 0)
  const attended = t.b.attend(
    `layers.${layer}.attn`,
    [q.value, k.value, v.value],
    { layer, heads, kvHeads, headDim, window },
    { table: ROPE_TABLE[kind], dims: rotation.dims, pairing: rotation.pairing },
    {
      scale: stated === 0 ? undefined : stated,
      cap: floatOf(node, 'softcap', 0),
      limits: { q: q.limits, k: k.limits },
      norms: q.norm &&
        k.norm && { q: q.norm.weight, k: k.norm.weight, over: 'head', epsilon: q.norm.epsilon },
    },
  )
  t.meanings.setRows(node, 0, attended)
  leave(t, node, [PAST_KEY, PAST_VALUE])
  return true
}

/** The narrower of the node's own window and its mask's window. 0 if there is none. */
async function windowOf(t: Translator, node: Node, heads: number): Promise<number> {
  const stated = intOf(node, 'local_window_size', -1)
  if (stated !== -1 && stated <= 0)
    throw unclaimed(
      node,
      `its local_window_size is ${stated} ; only -1 or a number of positions is supported`,
    )
  const mask = hasInput(node, BIAS) ? ({ name: node.inputs[BIAS]!, form: 'besides' } as const) : undefined
  return narrowest([Math.max(0, stated), mask ? await proveMask(t, node, [mask], heads) : 0])
}

async function checkForm(t: Translator, node: Node): Promise<void> {
  for (const index of [PAST_KEY, PAST_VALUE]) {
    if (t.meanings.read(node, index)?.is !== 'state')
      throw unclaimed(node, `its input ${index} is not a state from the previous step`)
    // Proofs assume that the state is as long as the text, which is not the case here.
    if (hasWindowedState(node) && t.readersOf(node.inputs[index]!).length > 1)
      throw unclaimed(node, `other nodes read its state ${node.inputs[index]}, which only holds a window`)
  }
  for (const index of [LENGTHS, TOTAL]) {
    const is = t.meanings.read(node, index)?.is
    if (is !== 'control') throw unclaimed(node, `its input ${index} is ${is ?? 'omitted'} instead of lengths`)
  }
  await proveNumbers(t, node, node.inputs[LENGTHS]!, 'the total number of positions minus one')
  await proveNumbers(t, node, node.inputs[TOTAL]!, 'the total number of positions')
  if (hasInput(node, POSITIONS)) await provePositions(t, node, node.inputs[POSITIONS]!)
}

/** Queries, keys and values; queries and keys may be normed or rotated. */
function parts(t: Translator, node: Node, heads: number, kvHeads: number): [Heads, Heads, Heads] {
  const [asked, given, v]: [Heads, Heads, Heads] = hasInput(node, KEY)
    ? [headsAt(t, node, QUERY, heads), headsAt(t, node, KEY, kvHeads), headsAt(t, node, VALUE, kvHeads)]
    : packed(t, node, heads, kvHeads)
  const q = normed(t, node, asked, 'q')
  const read = normed(t, node, given, 'k')
  // With one head, the head's norm is also the row's norm.
  const isOne = q.norm !== undefined && read.norm === undefined && kvHeads === 1
  const k = isOne ? { ...read, ...t.facts.normed.get(read.value) } : read
  const wrong = [
    [
      v.norm !== undefined || v.rope !== undefined || v.limits !== undefined,
      'its values are normed or rotated',
    ],
    [q.norm?.epsilon !== k.norm?.epsilon, 'its queries and keys are normed differently'],
    [
      [q, k, v].some((each) => each.scale !== 1 || each.past !== ''),
      'its inputs are scaled, or are appended to a state',
    ],
  ].find(([is]) => is)
  if (wrong !== undefined) throw unclaimed(node, String(wrong[1]))
  return [q, k, v]
}

/** Heads with the per-head norm that the operator applies before rotation, if it has one. */
function normed(t: Translator, node: Node, heads: Heads, part: 'q' | 'k'): Heads {
  if (!hasInput(node, QKV.queryNorm) && !hasInput(node, QKV.keyNorm)) return heads
  const index = part === 'q' ? QKV.queryNorm : QKV.keyNorm
  if (!hasInput(node, index)) throw unclaimed(node, 'it norms only one of queries and keys')
  if (heads.norm !== undefined || heads.rope !== undefined || heads.limits !== undefined)
    throw unclaimed(node, 'its queries or keys are normed or rotated before it norms them')
  const epsilon = floatOf(node, `${part}_norm_epsilon`, floatOf(node, 'qk_norm_epsilon', 1e-6))
  return { ...heads, norm: { weight: t.weights.vector(node, index, heads.dim, 'norm'), epsilon } }
}

function headsAt(t: Translator, node: Node, index: number, count: number): Heads {
  const found = headsOf(t, node, index, count)
  if (found?.axes === 'bthd' && found.count === count) return found
  throw unclaimed(node, `its input ${index} does not hold rows of ${count} heads`)
}

/** Queries, keys and values in one row. */
function packed(t: Translator, node: Node, heads: number, kvHeads: number): [Heads, Heads, Heads] {
  const rows = t.meanings.rows(node, QUERY)
  const dim = rows.shape[1] / (heads + 2 * kvHeads)
  if (!Number.isInteger(dim))
    throw unfit(node, `rows of ${rows.shape[1]} cannot be split into ${heads + 2 * kvHeads} heads`)
  const values = t.b.columns(rows, { q: heads * dim, k: kvHeads * dim, v: kvHeads * dim })
  return values.map((value) => asHeads(node, value, value.shape[1] / dim)) as [Heads, Heads, Heads]
}

/**
 * The number of rotated dimensions. The tables are checked against the frequencies that they appear to have.
 */
async function ropeDims(t: Translator, node: Node, kind: 'all' | 'local'): Promise<number> {
  const names = [node.inputs[COS] ?? '', node.inputs[SIN] ?? ''] as const
  const table = `${names.join(' ')} of GroupQueryAttention`
  const known = knownRope(t.findings, node, kind, table)
  if (known !== undefined) return known.dims
  const { rope, dims, positions } = await ropeOf(t, node, names)
  noteRope(t.findings, node, kind, { ...rope, table, dims }, positions)
  return dims
}
