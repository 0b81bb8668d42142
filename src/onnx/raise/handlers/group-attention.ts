// GroupQueryAttention. In: queries, keys and values, the state before the step, RoPE's tables. Out: attention
// of the plan, whose state is in the state cache.
import type { Value } from '../../../graph/ir.ts'
import { floatOf, intOf } from '../../ir/attributes.ts'
import { hasInput, type Node } from '../../ir/graph.ts'
import { unclaimed, unfit } from '../../ir/operator.ts'
import { recogniseRope } from '../rope-table.ts'
import { ROPE_TABLE } from '../settled.ts'
import type { Handler, Translator } from '../translator.ts'
import { floatsOf } from '../weights/block-weights.ts'

const [QUERY, KEY, VALUE, PAST_KEY, PAST_VALUE, LENGTHS, TOTAL, COS, SIN] = [0, 1, 2, 3, 4, 5, 6, 7, 8]
/** Attributes that a step honours; the others have to be what changes nothing. */
const NEUTRAL: Readonly<Record<string, number>> = { smooth_softmax: 0, qk_output: 0 }

/**
 * Row i of a step is at position past + i and sees the positions up to its own, or the last
 * `local_window_size` of them, its own among these: so the operator is defined, as long as its lengths are
 * those of the step.
 */
export const groupQueryAttention: Handler = async (t, node) => {
  if (!t.isRows(node, QUERY)) return false
  const [heads, kvHeads] = [intOf(node, 'num_heads', 0), intOf(node, 'kv_num_heads', 0)]
  checkForm(t, node)
  const [q, k, v, headDim] = parts(t, node, heads, kvHeads)
  const isRotated = intOf(node, 'do_rotary', 0) !== 0
  const window = Math.max(0, intOf(node, 'local_window_size', -1))
  const kind = window > 0 ? 'local' : 'all'
  const dims = isRotated ? await ropeDims(t, node, kind) : 0
  const pairing = intOf(node, 'rotary_interleaved', 0) === 0 ? 'halves' : 'interleaved'
  const layer = t.findings.layers++
  t.noteHeads(node, heads, kvHeads, headDim)
  const stated = floatOf(node, 'scale', 0)
  const attended = t.b.attend(
    `layers.${layer}.attn`,
    [q, k, v],
    { layer, heads, kvHeads, headDim, window },
    { table: ROPE_TABLE[kind], dims, pairing },
    { scale: stated === 0 ? undefined : stated, cap: floatOf(node, 'softcap', 0) },
  )
  t.setRows(node, 0, attended)
  t.set(node, 1, { is: 'state', name: node.outputs[1] ?? '' })
  t.set(node, 2, { is: 'state', name: node.outputs[2] ?? '' })
  return true
}

function checkForm(t: Translator, node: Node): void {
  for (const [name, neutral] of Object.entries(NEUTRAL)) {
    const value = intOf(node, name, neutral)
    if (value !== neutral) throw unclaimed(node, `its ${name} is ${value} where only ${neutral} is known`)
  }
  for (const name of ['k_quant_type', 'v_quant_type', 'kv_cache_bit_width']) {
    if (node.attributes.has(name)) throw unclaimed(node, `its state is quantised (${name})`)
  }
  for (const index of [PAST_KEY, PAST_VALUE]) {
    if (t.read(node, index)?.is !== 'state')
      throw unclaimed(node, `its input ${index} is no state of the step before`)
  }
  for (const index of [LENGTHS, TOTAL]) {
    const is = t.read(node, index)?.is
    if (is !== 'control')
      throw unclaimed(node, `its input ${index} is ${is ?? 'left out'} where lengths are due`)
  }
  const more = node.inputs.findIndex((name, index) => index > SIN && name !== '')
  if (more >= 0) throw unclaimed(node, `its input ${more} is given, which no step has`)
}

/** Queries, keys and values, and the width of a head. */
function parts(t: Translator, node: Node, heads: number, kvHeads: number): [Value, Value, Value, number] {
  const query = t.rows(node, QUERY)
  const isPacked = !hasInput(node, KEY)
  const all = isPacked ? heads + 2 * kvHeads : heads
  const headDim = query.shape[1] / all
  if (!Number.isInteger(headDim)) throw unfit(node, `rows of ${query.shape[1]} are no ${all} heads`)
  if (!isPacked) return [query, t.rows(node, KEY), t.rows(node, VALUE), headDim]
  const [q, k, v] = t.b.columns(query, { q: heads * headDim, k: kvHeads * headDim, v: kvHeads * headDim })
  return [q!, k!, v!, headDim]
}

/** Rotated dimensions; the tables are compared with the frequencies that they seem to have. */
async function ropeDims(t: Translator, node: Node, kind: 'all' | 'local'): Promise<number> {
  const { weights, signal } = t
  const [cos, sin] = [weights.constant(node, COS), weights.constant(node, SIN)]
  const [positions = 0, half = 0] = cos.dims
  if (cos.dims.length !== 2 || `${sin.dims}` !== `${cos.dims}`)
    throw unfit(node, `its tables have the shapes [${cos.dims}] and [${sin.dims}]`)
  const table = `${node.inputs[COS]} ${node.inputs[SIN]}`
  if (t.hasRope(node, kind, table)) return 2 * half
  const row = (position: number) => [position * half, (position + 1) * half, signal] as const
  const found = await recogniseRope({
    half,
    positions,
    row: async (position) => ({
      cos: await floatsOf(cos, ...row(position)),
      sin: await floatsOf(sin, ...row(position)),
    }),
  })
  if (found === undefined)
    throw unclaimed(
      node,
      `its tables ${node.inputs[COS]} and ${node.inputs[SIN]} are no rotation by fixed frequencies`,
    )
  t.noteRope(node, kind, { ...found, table, dims: 2 * half }, positions)
  return 2 * half
}
