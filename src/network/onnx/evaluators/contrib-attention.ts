// Evaluators of ONNX Runtime's attention operators. In: rows of queries, keys and values, keys and values of
// earlier steps, positions. Out: rows of values; the keys and values of earlier steps, followed by the new
// ones.

import type { Node } from '../ir/graph.ts'
import {
  type Evaluation,
  flagOf,
  floatOf,
  given,
  intOf,
  scalarOf,
  unclaimed,
  unfit,
  wants,
} from '../ir/operator.ts'
import { reader, type Tensor, tensorOf, zeros } from '../ir/tensor.ts'
import {
  ADDED,
  MULTI_BIAS,
  MULTI_PAST_KEY,
  MULTI_PAST_VALUE,
  PADDING,
  plainHeadCounts,
  QKV,
} from '../operators/contrib/attention.ts'
import { biased } from './activations.ts'
import { attend, type Heads, headsOf, headWriter, joinRows, maskOf, withPast } from './attention.ts'
import { rotated, rowOf, written } from './rotations.ts'

/** Optional inputs of GroupQueryAttention. */
const POSITIONS = 9
const BIAS = 10

export function evaluateContribRotary(context: Evaluation): Tensor {
  const { node } = context
  const [x, positions, cosines, sines] = [0, 1, 2, 3].map((at) => given(context, at)) as [
    Tensor,
    Tensor,
    Tensor,
    Tensor,
  ]
  if (floatOf(node, 'scale', 1) !== 1 || flagOf(node, 'is_packed_batching'))
    throw unclaimed(node, 'it scales its input, or reads sequences one after another')
  const [rows, pairs] = cosines.dims
  if (rows === undefined || pairs === undefined || `${sines.dims}` !== `${cosines.dims}`)
    throw unfit(node, `its tables have the shapes [${cosines.dims}] and [${sines.dims}]`)
  const width = x.dims.at(-1) ?? 0
  const heads = headsOf(node, x, intOf(node, 'num_heads', 0) || width / (2 * pairs))
  if (2 * pairs > heads.size) throw unfit(node, `tables of ${pairs} pairs rotate heads of ${heads.size}`)
  const places = tokenPositions(node, positions, heads)
  const row = rowOf(node, places, rows)
  const at = rotated(
    {
      cosines,
      sines,
      pairs,
      isInterleaved: flagOf(node, 'interleaved'),
      place: (b, r, pair) => row(b, r) * pairs + pair,
    },
    heads.at,
  )
  return written(heads, x, at)
}

/** [batch][token]. */
function tokenPositions(node: Node, positions: Tensor, { batch, rows }: Heads): Tensor {
  if (`${positions.dims}` === `${[batch, rows]}`) return positions
  if (positions.data.length !== 1)
    throw unfit(node, `positions of shape [${positions.dims}] are not of ${batch} x ${rows} tokens`)
  const first = reader(positions)(0)
  return tensorOf(
    'i64',
    [batch, rows],
    Array.from({ length: batch * rows }, (_, at) => first + (at % rows)),
  )
}

/** A range of columns of each row, as a separate tensor. */
function columnsOf(tensor: Tensor, from: number, to: number): Tensor {
  const width = tensor.dims.at(-1)!
  const made = zeros(tensor.dtype, tensor.dims.with(-1, to - from))
  for (let at = 0; at < made.data.length; at++)
    made.data[at] = tensor.data[Math.floor(at / (to - from)) * width + from + (at % (to - from))]!
  return made
}

/** Queries, keys and values are in one tensor if there is no input for keys. */
function queryParts(context: Evaluation, heads: number, shared: number): [Tensor, Tensor, Tensor] {
  const q = given(context, QKV.query)
  if (q.dims.length !== 3) throw unfit(context.node, `its input has the shape [${q.dims}]`)
  const key = context.inputs[QKV.key]
  const value = context.inputs[QKV.value]
  if (key !== undefined && value !== undefined) return [q, key, value]
  const size = q.dims[2]! / (heads + 2 * shared)
  if (key !== undefined || value !== undefined || !Number.isInteger(size))
    throw unfit(context.node, `rows of ${q.dims[2]} are not ${heads} and twice ${shared} heads`)
  const first = heads * size
  const second = (heads + shared) * size
  return [columnsOf(q, 0, first), columnsOf(q, first, second), columnsOf(q, second, q.dims[2]!)]
}

/**
 * The state is a buffer in which each sequence's new rows follow its old ones. A token attends to itself and
 * to earlier tokens within the window.
 */
export function evaluateGroups(context: Evaluation): (Tensor | undefined)[] {
  const { node, inputs } = context
  const [count, shared] = plainHeadCounts(node)
  const [q, k, v] = queryParts(context, count, shared)
  const query = headsOf(node, q, count)
  const key = headsOf(node, k, shared)
  const value = headsOf(node, v, shared)
  const lengths = given(context, QKV.lengths)
  const total = scalarOf(given(context, QKV.total)) ?? 0
  const before = new Array<number>(query.batch).fill(0).map((_, b) => {
    const length = Number(lengths.data[b]) + 1
    return query.rows === total ? 0 : length - query.rows
  })
  const wrong = before.some((each) => !(each >= 0 && each + query.rows <= total))
  if (lengths.data.length !== query.batch || wrong || key.rows !== query.rows || key.batch !== query.batch)
    throw unfit(node, `lengths [${lengths.data}] of ${query.rows} new of ${total} tokens do not fit`)
  const turn = rotationOf(context, before)
  const keys = joined(node, { ...key, at: turn(key) }, inputs[QKV.pastKey], before, total, q.dtype)
  const values = joined(node, value, inputs[QKV.pastValue], before, total, q.dtype)
  const y = zeros(q.dtype, q.dims)
  const state = headsOf(node, keys, undefined)
  const rows = headsOf(node, values, undefined)
  const mask = inputs[BIAS]
  const own = mask === undefined ? () => 0 : maskOf(node, mask, query, total)
  const window = intOf(node, 'local_window_size', -1)
  attend(
    node,
    { ...query, at: turn(query) },
    state,
    rows,
    {
      scale: floatOf(node, 'scale', 0) || 1 / Math.sqrt(query.size),
      softcap: floatOf(node, 'softcap', 0),
      bias(b, h, at, other) {
        const distance = before[b]! + at - other
        const isSeen = distance >= 0 && (window < 0 || distance < window)
        return isSeen ? own(b, h, at, other) : -Infinity
      },
    },
    headWriter(query, value.size, y),
  )
  return [y, wants(node, 1) ? keys : undefined, wants(node, 2) ? values : undefined]
}

/** The buffer with each sequence's new rows after its old ones. A buffer that is too short grows. */
function joined(
  node: Node,
  own: Heads,
  past: Tensor | undefined,
  before: readonly number[],
  total: number,
  dtype: Tensor['dtype'],
): Tensor {
  const old = past === undefined ? undefined : headsOf(node, past, undefined)
  const capacity = old?.rows ?? 0
  const fits =
    old === undefined || (old.batch === own.batch && old.heads === own.heads && old.size === own.size)
  if (!fits || before.some((each) => each > capacity))
    throw unfit(node, `a past of shape [${past?.dims}] does not have [${before}] rows of ${own.heads} heads`)
  const rows = Math.max(total, capacity)
  return joinRows(own, old, before, rows, dtype)
}

/** The elements of the heads after the node's rotation. */
function rotationOf(context: Evaluation, before: readonly number[]): (heads: Heads) => Heads['at'] {
  const { node, inputs } = context
  if (!flagOf(node, 'do_rotary')) return (heads) => heads.at
  const cosines = given(context, QKV.cos)
  const sines = given(context, QKV.sin)
  const [rows, pairs] = cosines.dims
  if (rows === undefined || pairs === undefined || `${sines.dims}` !== `${cosines.dims}`)
    throw unfit(node, `its tables have the shapes [${cosines.dims}] and [${sines.dims}]`)
  return (heads) => {
    if (2 * pairs > heads.size) throw unfit(node, `tables of ${pairs} pairs rotate heads of ${heads.size}`)
    const counted = Array.from(
      { length: heads.batch * heads.rows },
      (_, at) => before[Math.floor(at / heads.rows)]! + (at % heads.rows),
    )
    const stated = inputs[POSITIONS]
    const positions = stated ?? tensorOf('i64', [heads.batch, heads.rows], counted)
    const row = rowOf(node, tokenPositions(node, positions, heads), rows)
    const isInterleaved = flagOf(node, 'rotary_interleaved')
    return rotated(
      { cosines, sines, pairs, isInterleaved, place: (b, r, pair) => row(b, r) * pairs + pair },
      heads.at,
    )
  }
}

/** The value added where a padding mask, [batch, keys] or [batch, rows, keys], is 0. */
function paddingOf(
  node: Node,
  mask: Tensor | undefined,
): (batch: number, row: number, key: number) => number {
  if (mask === undefined) return () => 0
  if (mask.dims.length < 2) throw unclaimed(node, 'its padding mask contains lengths')
  const [rows, keys] = [mask.dims.length === 2 ? 1 : mask.dims[1]!, mask.dims.at(-1)!]
  const fill = floatOf(node, 'mask_filter_value', -10000)
  return (batch, row, key) => (mask.data[(batch * rows + (row % rows)) * keys + key] ? 0 : fill)
}

export function evaluateMulti(context: Evaluation): (Tensor | undefined)[] {
  const { node, inputs } = context
  const rows = [given(context, 0), given(context, 1), given(context, 2)]
  if (rows.some(({ dims }) => dims.length !== 3)) throw unclaimed(node, 'its inputs are not rows')
  const heads = intOf(node, 'num_heads', 0)
  let from = 0
  const bias = inputs[MULTI_BIAS]
  const width = rows.reduce((sum, { dims }) => sum + dims[2]!, 0)
  if (bias !== undefined && `${bias.dims}` !== `${width}`)
    throw unfit(node, `it has a bias of shape [${bias.dims}] for ${width} columns`)
  const [q, k, v] = rows.map((tensor) => {
    const own = bias && columnsOf(bias, from, from + tensor.dims[2]!)
    from += tensor.dims[2]!
    return biased(node, tensor, own)
  }) as [Tensor, Tensor, Tensor]
  const query = headsOf(node, q, heads)
  const keys = withPast(node, headsOf(node, k, heads), inputs[MULTI_PAST_KEY], q.dtype)
  const values = withPast(node, headsOf(node, v, heads), inputs[MULTI_PAST_VALUE], q.dtype)
  const before = keys.dims[2]! - k.dims[1]!
  const mask = inputs[ADDED]
  const own = mask === undefined ? () => 0 : maskOf(node, mask, query, keys.dims[2]!)
  const hidden = paddingOf(node, inputs[PADDING])
  const isCausal = flagOf(node, 'unidirectional')
  const y = zeros(q.dtype, q.dims.with(2, v.dims[2]!))
  attend(
    node,
    query,
    headsOf(node, keys, undefined),
    headsOf(node, values, undefined),
    {
      scale: floatOf(node, 'scale', 0) || 1 / Math.sqrt(query.size),
      softcap: 0,
      bias: (b, h, at, other) =>
        isCausal && other > before + at ? -Infinity : own(b, h, at, other) + hidden(b, at, other),
    },
    headWriter(query, values.dims[3]!, y),
  )
  return [y, wants(node, 1) ? keys : undefined, wants(node, 2) ? values : undefined]
}
