// Attention, evaluated. In: queries, keys, values, masks, the keys and values of earlier steps. Out: the
// values weighted by the softmax of the scores; the keys and values, preceded by those of earlier steps.

import { broadcastIndices } from '../ir/broadcast.ts'
import type { Node } from '../ir/graph.ts'
import { type Evaluation, flagOf, floatOf, given, intOf, unfit, wants } from '../ir/operator.ts'
import { DTYPES, FLOATS, reader, rounder, type Tensor, writer, zeros } from '../ir/tensor.ts'
import { softmax } from './activations.ts'

/** [batch][head][row][dim], whatever the order in memory. */
export interface Heads {
  readonly batch: number
  readonly heads: number
  readonly rows: number
  readonly size: number
  readonly at: (batch: number, head: number, row: number, dim: number) => number
}

/** Reads [batch][head][row][dim], or [batch][row][head dim] with a number of heads. */
export function headsOf(node: Node, tensor: Tensor, count: number | undefined): Heads {
  const { dims } = tensor
  const read = reader(tensor)
  if (dims.length === 4) {
    const [batch, heads, rows, size] = dims as [number, number, number, number]
    return { batch, heads, rows, size, at: (b, h, r, d) => read(((b * heads + h) * rows + r) * size + d) }
  }
  const [batch, rows, width] = dims
  if (dims.length !== 3 || count === undefined || count < 1 || width! % count !== 0)
    throw unfit(node, `shape [${dims}] does not have ${count ?? 'a known count of'} heads`)
  const size = width! / count
  return {
    batch: batch!,
    heads: count,
    rows: rows!,
    size,
    at: (b, h, r, d) => read((b * rows! + r) * width! + h * size + d),
  }
}

/** The rows of earlier steps before the new ones, as [batch][head][row][dim]. */
export function withPast(node: Node, own: Heads, past: Tensor | undefined, dtype: Tensor['dtype']): Tensor {
  const before = past === undefined ? undefined : headsOf(node, past, undefined)
  const fits = before === undefined || (before.batch === own.batch && before.heads === own.heads)
  if (!fits || (before !== undefined && before.size !== own.size))
    throw unfit(node, `a past of shape [${past?.dims}] is not of ${own.heads} heads of ${own.size} numbers`)
  const earlier = before?.rows ?? 0
  return joinRows(own, before, Array(own.batch).fill(earlier), earlier + own.rows, dtype)
}

/** `rows` rows for each sequence: first `before` rows of `past`, then its own, then zeros. */
export function joinRows(
  own: Heads,
  past: Heads | undefined,
  before: readonly number[],
  rows: number,
  dtype: Tensor['dtype'],
): Tensor {
  const made = zeros(dtype, [own.batch, own.heads, rows, own.size])
  const write = writer(made)
  let next = 0
  for (let b = 0; b < own.batch; b++)
    for (let h = 0; h < own.heads; h++)
      for (let r = 0; r < rows; r++)
        for (let d = 0; d < own.size; d++, next++) {
          const fresh = r - before[b]!
          if (fresh >= 0 && fresh < own.rows) write(next, own.at(b, h, fresh, d))
          else if (past !== undefined && fresh < 0) write(next, past.at(b, h, r, d))
        }
  return made
}

export interface Scoring {
  readonly scale: number
  readonly softcap: number
  /** The value added to a score; -Infinity if the query does not attend to the key. */
  readonly bias: (batch: number, head: number, query: number, key: number) => number
  /** Rounds the results of the product, the cap, the mask and the softmax. Default: no rounding. */
  readonly round?: (value: number) => number
  /** Called with the scores of each query after the requested step. */
  readonly onScores?: { readonly after: number; readonly take: (place: number, values: Float64Array) => void }
}

/**
 * The steps after which scores can be output: product, cap, mask and softmax, numbered as in
 * `qk_matmul_output_mode`.
 */
const PRODUCT = 0
const CAPPED = 1
const MASKED = 2
const PROBABILITIES = 3

/**
 * The result of a query that attends to no key is zeros. `write` receives the elements of
 * [batch][head][query][dim].
 */
export function attend(
  node: Node,
  query: Heads,
  key: Heads,
  value: Heads,
  { scale, softcap, bias, round = (x) => x, onScores }: Scoring,
  write: (batch: number, head: number, row: number, dim: number, value: number) => void,
): void {
  const shared = query.heads / key.heads
  const fits = key.batch === query.batch && value.batch === query.batch && key.size === query.size
  if (!fits || !Number.isInteger(shared) || value.heads !== key.heads || value.rows !== key.rows)
    throw unfit(
      node,
      `${query.heads} heads of ${query.size} do not fit keys of ${key.heads} heads of ${key.size} and ` +
        `values of ${value.heads} heads in ${value.rows} of ${key.rows} rows`,
    )
  const scores = new Float64Array(key.rows)
  const mask = new Float64Array(key.rows)
  const report = (after: number, place: number) => {
    if (onScores?.after === after) onScores.take(place, scores)
  }
  let place = 0
  for (let b = 0; b < query.batch; b++) {
    for (let h = 0; h < query.heads; h++) {
      const own = Math.floor(h / shared)
      for (let q = 0; q < query.rows; q++, place++) {
        for (let k = 0; k < key.rows; k++) {
          let total = 0
          for (let d = 0; d < query.size; d++) total += query.at(b, h, q, d) * key.at(b, own, k, d)
          scores[k] = round(total * scale)
          mask[k] = bias(b, h, q, k)
        }
        report(PRODUCT, place)
        if (softcap > 0)
          for (let k = 0; k < key.rows; k++) scores[k] = round(softcap * Math.tanh(scores[k]! / softcap))
        report(CAPPED, place)
        const isSeen = mask.some((each) => each !== -Infinity)
        for (let k = 0; k < key.rows; k++) scores[k] = round(scores[k]! + mask[k]!)
        report(MASKED, place)
        // A NaN score must not spoil a query that attends to no keys.
        if (isSeen) softmax(scores)
        else scores.fill(0)
        for (let k = 0; k < key.rows; k++) scores[k] = round(scores[k]!)
        report(PROBABILITIES, place)
        for (let d = 0; d < value.size; d++) {
          let total = 0
          for (let k = 0; k < key.rows; k++) if (scores[k] !== 0) total += scores[k]! * value.at(b, own, k, d)
          write(b, h, q, d, total)
        }
      }
    }
  }
}

/** A writer of [batch][head][row][dim] into a tensor of 4 axes, or of [batch][row][head dim]. */
export function headWriter({ heads, rows }: Heads, size: number, made: Tensor) {
  const write = writer(made)
  return made.dims.length === 4
    ? (b: number, h: number, r: number, d: number, value: number) =>
        write(((b * heads + h) * rows + r) * size + d, value)
    : (b: number, h: number, r: number, d: number, value: number) =>
        write(((b * rows + r) * heads + h) * size + d, value)
}

export function evaluateAttention(context: Evaluation): (Tensor | undefined)[] {
  const { node, inputs } = context
  const q = given(context, 0)
  const k = given(context, 1)
  const v = given(context, 2)
  if (q.dims.length !== k.dims.length || q.dims.length !== v.dims.length)
    throw unfit(node, `its inputs have ${q.dims.length}, ${k.dims.length} and ${v.dims.length} dimensions`)
  if ((inputs[4] === undefined) !== (inputs[5] === undefined))
    throw unfit(node, 'it has only one of past keys and past values')
  const query = headsOf(node, q, intOf(node, 'q_num_heads', undefined))
  const heads = intOf(node, 'kv_num_heads', undefined)
  const keys = withPast(node, headsOf(node, k, heads), inputs[4], k.dtype)
  const values = withPast(node, headsOf(node, v, heads), inputs[5], v.dtype)
  const key = headsOf(node, keys, undefined)
  const value = headsOf(node, values, undefined)
  const is4D = q.dims.length === 4
  const { batch, heads: count, rows } = query
  const y = zeros(q.dtype, is4D ? [batch, count, rows, value.size] : [batch, rows, count * value.size])
  const scores = zeros(q.dtype, wants(node, 3) ? [batch, count, rows, key.rows] : [0])
  const store = writer(scores)
  const after = intOf(node, 'qk_matmul_output_mode', PRODUCT)
  if (after < PRODUCT || after > PROBABILITIES) throw unfit(node, `its qk_matmul_output_mode is ${after}`)
  const precision = DTYPES.get(intOf(node, 'softmax_precision', 1))
  if (precision === undefined || !FLOATS.includes(precision))
    throw unfit(node, 'its softmax is not computed in floats')
  attend(
    node,
    query,
    key,
    value,
    {
      scale: floatOf(node, 'scale', 1 / Math.sqrt(query.size)),
      softcap: floatOf(node, 'softcap', 0),
      bias: biasOf(context, query, key),
      round: rounder(q.dtype),
      ...(wants(node, 3) && {
        onScores: {
          after,
          take: (place: number, line: Float64Array) => {
            for (let at = 0; at < line.length; at++) store(place * key.rows + at, line[at]!)
          },
        },
      }),
    },
    headWriter(query, value.size, y),
  )
  return [y, keys, values, wants(node, 3) ? scores : undefined]
}

/** Combines the node's masks: its mask input, causal, window and padding. */
function biasOf(context: Evaluation, query: Heads, key: Heads): Scoring['bias'] {
  const { node, inputs } = context
  const [, , , mask, past, , lengths] = inputs
  if (lengths !== undefined && (lengths.data.length !== query.batch || past !== undefined))
    throw unfit(
      node,
      `it has ${lengths.data.length} lengths for ${query.batch} sequences, or a past in addition to them`,
    )
  const own = mask === undefined ? () => 0 : maskOf(node, mask, query, key.rows)
  const isCausal = flagOf(node, 'is_causal')
  const left = intOf(node, 'left_window_size', -1)
  const right = intOf(node, 'right_window_size', -1)
  const length = (b: number) => (lengths === undefined ? key.rows : Number(lengths.data[b]))
  const offset = (b: number) => (lengths === undefined ? (past?.dims[2] ?? 0) : length(b) - query.rows)
  return (b, h, q, k) => {
    const distance = q + offset(b) - k
    const isHidden =
      k >= length(b) ||
      (isCausal && distance < 0) ||
      (left >= 0 && distance > left) ||
      (right >= 0 && -distance > right)
    return isHidden ? -Infinity : own(b, h, q, k)
  }
}

/** Keys after the mask's last column are hidden. */
export function maskOf(
  node: Node,
  mask: Tensor,
  { batch, heads, rows }: Heads,
  keys: number,
): Scoring['bias'] {
  const columns = mask.dims.at(-1) ?? 0
  const dims = [batch, heads, rows, columns]
  const fits =
    mask.dims.length <= 4 &&
    mask.dims.every((size, at) => size === 1 || size === dims.at(at - mask.dims.length))
  if (!fits || columns > keys)
    throw unfit(
      node,
      `its mask of shape [${mask.dims}] does not fit ${batch} x ${heads} x ${rows} x ${keys} scores`,
    )
  const places = broadcastIndices(mask.dims, dims)
  const read = reader(mask)
  const isBoolean = mask.dtype === 'bool'
  return (b, h, q, k) => {
    if (k >= columns) return -Infinity
    const value = read(places[((b * heads + h) * rows + q) * columns + k]!)
    return isBoolean ? (value === 0 ? -Infinity : 0) : value
  }
}
