// The nodes of attention: rotating queries and keys and storing keys and values, and attending to them.
import { NORM, PAIRING } from '../../abi/constants.ts'
import { HalfbyteError } from '../../base/errors.ts'
import {
  type AttentionShape,
  biasColumns,
  type HeadNorms,
  type Limits,
  type Quantizable,
  type RopeUse,
  type StaticBias,
  type Value,
  type WeightRef,
} from '../ir.ts'
import { broken, expectWidth, type KernelKind, nameOf, opRecord, rowsOf } from '../node.ts'

/**
 * Normalises q and k if requested, rotates them, and writes k and v to the state of `layer`. Its output is
 * the rotated q. Also overwrites k. Without k and v, the layer attends to another layer's state.
 */
export interface RopeKv {
  readonly op: 'ropeKv'
  readonly q: Value
  readonly k?: Value | undefined
  readonly v?: Value | undefined
  readonly output: Value
  readonly attention: AttentionShape
  readonly rope: RopeUse
  readonly norms?: HeadNorms | undefined
  readonly staticBias?: StaticBias | undefined
  /** Limits of rotated keys, before `staticBias` is subtracted. */
  readonly limits?: Limits | undefined
}

export const ropeKv: KernelKind<RopeKv> = {
  shape({ q, k, v, attention, rope, norms, staticBias }) {
    const { heads, kvHeads, headDim } = attention
    expectWidth(q, heads * headDim, `${heads} heads of ${headDim}`)
    for (const stored of [k, v]) {
      if (stored !== undefined) expectWidth(stored, kvHeads * headDim, `${kvHeads} heads of ${headDim}`)
    }
    if ((k === undefined) !== (v === undefined)) throw broken(q, 'is rotated with only keys or only values')
    if (norms !== undefined) checkHeadNorms(norms, attention)
    if (staticBias !== undefined && k !== undefined)
      expectWidth(k, rowsOf(staticBias.bias), `the bias ${nameOf(staticBias.bias)}`)
    if (rope.dims > headDim) throw broken(q, `rotates ${rope.dims} of ${headDim} dimensions`)
    return q.shape
  },
  record({ q, k, v, norms, staticBias, rope, attention, limits }, { rowsAt, slotsOf, stateOf }) {
    const { heads, kvHeads, headDim } = attention
    return opRecord('rope_kv', {
      ...rowsAt({ q, k, v }),
      ...stateOf(attention),
      heads,
      kv_heads: k === undefined ? 0 : kvHeads,
      head_dim: headDim,
      rope: rope.table,
      rope_dims: rope.dims,
      pairing: PAIRING[rope.pairing],
      ...slotsOf({ q_norm: norms?.q, k_norm: norms?.k }),
      eps: norms?.epsilon ?? 0,
      norm_kind: normKind(norms),
      ...slotsOf({ k_bias: staticBias?.bias }),
      still: staticBias?.from ?? 0,
      ...rangeOf(limits),
      rope_q: rope.queryTable ?? rope.table,
      ...slotsOf({ q_norm_bias: norms?.qBias, k_norm_bias: norms?.kBias }),
    })
  },
}

export interface Attention extends Quantizable {
  readonly op: 'attention'
  readonly input: Value
  readonly attention: AttentionShape
  readonly scale: number
  /** A score s becomes cap * tanh(s / cap). 0: no cap. */
  readonly cap: number
  /** Limits of scores, after the cap. */
  readonly limits?: Limits | undefined
  /** Added to scores last: the table and the reach of a `DistanceBias`. */
  readonly bias?: WeightRef | undefined
  readonly reach?: number | undefined
  /** One extra score in each head's softmax, for a position whose value is zero. */
  readonly sinks?: WeightRef | undefined
}

export const attention: KernelKind<Attention> = {
  shape({ input, attention: { heads, headDim }, bias, reach, sinks }) {
    expectWidth(input, heads * headDim, `${heads} heads of ${headDim}`)
    if (bias !== undefined) checkBias(bias, reach, heads)
    if (sinks !== undefined) expectWidth(input, rowsOf(sinks) * headDim, nameOf(sinks))
    return input.shape
  },
  record({ input, output, quantized, scale, cap, attention, limits, bias, reach = 0, sinks }, at) {
    const { rowsAt, slotsOf, stateOf, room } = at
    const { heads, kvHeads, headDim, window, after = 0, ratio = heads / kvHeads, absent = 0 } = attention
    const size = { heads, kv_heads: kvHeads, head_dim: headDim, ratio, absent }
    const scores = { window, after, scale, cap, ...rangeOf(limits), parts: after === 0 ? room() : 0 }
    const rows = rowsAt({ q: input, y: output, a8: quantized })
    const biases = { ...slotsOf({ bias, sinks }), reach }
    return opRecord('attention', { ...rows, ...size, ...scores, ...stateOf(attention), ...biases })
  },
}

/**
 * Heads of `width` numbers: the row `shared`, then the first `own` numbers of the same head of the input,
 * then zeros. All heads of the input have the same width.
 */
export interface JoinHeads {
  readonly op: 'joinHeads'
  readonly input: Value
  readonly shared?: Value | undefined
  readonly heads: number
  readonly own: number
  readonly width: number
  readonly output: Value
}

export const joinHeads: KernelKind<JoinHeads> = {
  shape({ input, shared, heads, own, width }) {
    const inputWidth = input.shape[1] / heads
    const filled = own + (shared?.shape[1] ?? 0)
    if (!Number.isInteger(inputWidth) || own > inputWidth || filled > width)
      throw broken(input, `supplies ${own} numbers to each of ${heads} heads of ${width}`)
    return [input.shape[0], heads * width]
  },
  record({ input, shared, heads, own, width, output }, { rowsAt }) {
    const rows = rowsAt({ s: shared, x: input, y: output })
    const size = { shared: shared?.shape[1] ?? 0, x_dim: input.shape[1] / heads, own, y_dim: width, heads }
    return opRecord('join_heads', { ...rows, ...size })
  },
}

/** An empty range means no limits. */
const rangeOf = ({ least, most }: Limits = { least: 0, most: 0 }) => ({ least, most })

function checkBias(table: WeightRef, reach = 0, heads = 0): void {
  const wanted = heads * biasColumns(reach)
  if (table.kind === 'vector' && rowsOf(table) === wanted) return
  throw new HalfbyteError(
    'internal',
    `the bias table ${nameOf(table)} has ${rowsOf(table)} numbers, not ${wanted} for ${heads} heads with a reach of ${reach}`,
  )
}

function normKind(norms: HeadNorms | undefined): number {
  if (norms === undefined) return 0
  const { over, isCentred, hasWeightOfEach, isLater, ofValues } = norms
  const kinds = new Map<string, boolean | undefined>([
    ['row', over === 'row'],
    ['centred', isCentred],
    ['each', hasWeightOfEach],
    ['later', isLater],
    ['values', ofValues],
  ])
  return Object.entries(NORM).reduce((bits, [kind, bit]) => bits | (kinds.get(kind) === true ? bit : 0), 0)
}

function checkHeadNorms(norms: HeadNorms, { heads, kvHeads, headDim }: AttentionShape): void {
  for (const [weight, count] of [
    [norms.q, heads],
    [norms.k, kvHeads],
    [norms.qBias, heads],
    [norms.kBias, kvHeads],
  ] as const) {
    if (weight === undefined) continue
    const isShared = norms.over === 'head' && norms.hasWeightOfEach !== true
    const wanted = isShared ? headDim : count * headDim
    if (weight.kind === 'vector' && rowsOf(weight) === wanted) continue
    throw new HalfbyteError(
      'internal',
      `the norm ${nameOf(weight)} has ${rowsOf(weight)} weights, not ${wanted}`,
    )
  }
}
