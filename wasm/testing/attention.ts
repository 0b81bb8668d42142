// Sets up a step of rope_kv and attention over blocks in a machine.

import { ABI, NORM, PAIRING } from '../../src/core/abi/constants.ts'
import { EXACT_KV, type KvFormat } from '../../src/core/graph/ir.ts'
import { formatFields, keyBytes, valueBytes } from './kv.ts'
import type { Machine, Rows } from './machine.ts'

export interface Shape {
  readonly heads: number
  readonly kvHeads: number
  readonly dim: number
  readonly ropeDims?: number
  readonly pairing?: number
  readonly window?: number
  readonly quantized?: boolean
  readonly format?: KvFormat
  /** Query heads of one KV head, and how many of the first KV head are absent. */
  readonly ratio?: number
  readonly absent?: number
  /** Bits of norm_kind for the norms of q and k; 0: each head, before rotation. */
  readonly norms?: number
  readonly normBias?: boolean
  /** Soft cap of the scores. */
  readonly cap?: number
  /** Ranges that scores and rotated keys are clamped to. */
  readonly scoreLimits?: readonly [number, number]
  readonly keyLimits?: readonly [number, number]
  /** Positions after its own that a row attends to. Default 0. */
  readonly after?: number
  /** The maximum position of a row, if scores get a bias by head and distance. */
  readonly reach?: number
  /** Adds a score for each head, of a position whose value is zero. */
  readonly sinks?: boolean
  /** Omits the memory for parts, so no step splits positions among tiles. */
  readonly unsplit?: boolean
}
/** Rows [position, position + rows) of a sequence whose earlier positions are already in its blocks. */
export interface Part {
  readonly position: number
  readonly rows: number
  /** Whether its rows attend to each other. Default false. */
  readonly whole?: boolean
}

/**
 * Element `d` of vector `kind` of sequence `s` at `position`. It is the same for any split of the sequence
 * into steps.
 */
export function element(kind: number, s: number, position: number, d: number): number {
  let x = (kind * 73856093 + s * 19349663 + position * 83492791 + d * 2654435761) >>> 0
  x = Math.imul(x ^ (x >>> 15), 2246822519) >>> 0
  x = Math.imul(x ^ (x >>> 13), 3266489917) >>> 0
  return ((x ^ (x >>> 16)) >>> 0) / 2 ** 31 - 1
}
export const angle = (position: number, i: number) => position * 10000 ** (-i / 16)

export const kvOf = ({ kvHeads, dim, format = EXACT_KV }: Shape) => ({ kvHeads, dim, format })

/**
 * Blocks for `positions` positions; K and V of layer 1 of 2 start at the offsets. Past positions are filled
 * by `rope_kv`.
 */
export function layState(machine: Machine, shape: Shape, positions: number) {
  const [k, v] = [keyBytes(kvOf(shape)), valueBytes(kvOf(shape))].map((bytes) => bytes * shape.kvHeads)
  const blocks = Array.from({ length: Math.ceil(positions / 64) }, () => machine.allocate(2 * (k! + v!)))
  // Places blocks out of order, like those of a pool.
  const parts = machine.scratch(8 * shape.heads * 16 * (12 + shape.dim) * 4)
  return { table: blocks.reverse(), kOffset: k! + v!, vOffset: 2 * k! + v!, parts }
}

function layNorms(
  machine: Machine,
  { heads, kvHeads, dim, norms: kind, normBias = false }: Shape,
): Record<string, number> {
  if (kind === undefined) return {}
  const isWhole = (kind & (NORM.row | NORM.each)) !== 0
  const weights = (count: number, least: number) =>
    machine.rows(1, isWhole ? count * dim : dim, (_, lane) => least + (lane % 5) / 4).at
  return {
    q_norm: weights(heads, 0.5),
    k_norm: weights(kvHeads, 0.5),
    norm_kind: kind,
    eps: 1e-6,
    ...(normBias && { q_norm_bias: weights(heads, -0.5), k_norm_bias: weights(kvHeads, -0.5) }),
  }
}

/** The bias of a head's score for a position `distance` after the row's own. */
export const biasOf = (head: number, distance: number) =>
  2 * element(4, head, Math.abs(distance), distance > 0 ? 1 : 0)

/** The sink of a head, which is far above every score for some heads and far below for others. */
export const sinkOf = (head: number) => 12 * element(5, head, 0, 0)

/** The table of biases. Its columns past the last distance are poison, which no visible score may read. */
function layBiases(machine: Machine, { heads, reach }: Shape): Record<string, number> {
  if (reach === undefined) return { bias: 0, reach: 0 }
  const width = 2 * reach + ABI.BLOCK_POSITIONS
  const bias = machine.allocate(heads * width * 4)
  for (let at = 0; at < heads * width; at++) {
    const distance = (at % width) - reach
    machine.f32[bias / 4 + at] = distance > reach ? Number.NaN : biasOf(Math.floor(at / width), distance)
  }
  return { bias, reach }
}

const NO_LIMITS: readonly [number, number] = [0, 0]
const rangeFields = ([least, most]: readonly [number, number]) => ({ least, most })

export interface Laid {
  readonly q: Rows
  readonly y: Rows
  readonly a8: Rows
}

/** One step: rope_kv then attention for all parts; `state` is reused between steps. */
export function layStep(
  machine: Machine,
  shape: Shape,
  parts: readonly Part[],
  states: readonly ReturnType<typeof layState>[],
): Laid {
  const {
    heads,
    kvHeads,
    dim,
    ropeDims = dim,
    pairing = PAIRING.halves,
    window = 0,
    quantized = false,
    format = EXACT_KV,
    cap = 0,
    scoreLimits = NO_LIMITS,
    keyLimits = NO_LIMITS,
  } = shape
  const rows = parts.flatMap(({ position, rows }, s) =>
    Array.from({ length: rows }, (_, r) => ({ s, position: position + r })),
  )
  const m = rows.length
  const at = (kind: number) => (row: number, lane: number) =>
    element(kind, rows[row]!.s, rows[row]!.position, lane) * (kind === 0 ? 3 : 1)
  const q = machine.rows(m, heads * dim, at(0))
  const k = machine.rows(m, kvHeads * dim, at(1))
  const v = machine.rows(m, kvHeads * dim, at(2))
  const y = machine.rows(m, heads * dim)
  const a8 = machine.a8Rows(m, heads * dim)
  const table = machine.allocate(m * ropeDims * 4)
  for (const [row, { position }] of rows.entries()) {
    for (let i = 0; i < ropeDims / 2; i++) {
      machine.f32[table / 4 + row * ropeDims + 2 * i] = Math.cos(angle(position, i))
      machine.f32[table / 4 + row * ropeDims + 2 * i + 1] = Math.sin(angle(position, i))
    }
  }
  machine.setStep({
    // The layer uses the second group's table.
    sequences: parts.map((part, s) => ({ ...part, tables: [[0], states[s]!.table] })),
    ropes: [0, table],
  })
  machine.ops.length = 0
  const common = { heads, kv_heads: kvHeads, head_dim: dim, group: 1, ...formatFields(format) }
  const offsets = { k_offset: states[0]!.kOffset, v_offset: states[0]!.vOffset }
  machine.op('rope_kv', {
    ...common,
    ...offsets,
    q: q.at,
    q_stride: q.stride,
    k: k.at,
    k_stride: k.stride,
    v: v.at,
    v_stride: v.stride,
    rope: 1,
    rope_q: 1,
    rope_dims: ropeDims,
    pairing,
    ...layNorms(machine, shape),
    ...rangeFields(keyLimits),
  })
  machine.op('attention', {
    ...common,
    ratio: shape.ratio ?? heads / kvHeads,
    absent: shape.absent ?? 0,
    ...offsets,
    q: q.at,
    q_stride: q.stride,
    y: y.at,
    y_stride: y.stride,
    a8: quantized ? a8.at : 0,
    a8_stride: a8.stride,
    window,
    cap,
    ...rangeFields(scoreLimits),
    scale: dim ** -0.5,
    parts: shape.unsplit ? 0 : states[0]!.parts,
    after: shape.after ?? 0,
    ...layBiases(machine, shape),
    sinks: shape.sinks === true ? machine.rows(1, heads, (_, head) => sinkOf(head)).at : 0,
  })
  return { q, y, a8 }
}
