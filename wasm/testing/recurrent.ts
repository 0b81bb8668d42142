// Places conv1d and the recurrent ops in a machine with their weights and slabs.
import { SEQUENCE, SEQUENCE_WORDS, STEP } from '../../src/core/abi/constants.ts'
import { randomFrom } from '../../test/helpers/random.ts'
import type { Machine, Rows } from './machine.ts'

/** Rows of each sequence in one step. */
export type Part = readonly number[]
type Value = (row: number, lane: number) => number

/** Padded lanes of slabs and panels. */
export const roundTo = (value: number, multiple: number): number => Math.ceil(value / multiple) * multiple

/** [channels/8][k][8] of value(channel, k); channels past the last are zero. */
export function panels(
  machine: Machine,
  channels: number,
  k: number,
  value: Value,
  padded = channels,
): number {
  const at = machine.allocate(roundTo(padded, 32) * k * 4)
  for (let c = 0; c < roundTo(padded, 32); c++) {
    for (let j = 0; j < k; j++) {
      machine.f32[at / 4 + Math.floor(c / 8) * k * 8 + j * 8 + (c % 8)] = c < channels ? value(c, j) : 0
    }
  }
  return at
}

/** A slab of `words` words: zeros or the given values. */
export function slab(machine: Machine, words: number, value: (index: number) => number = () => 0): number {
  const at = machine.allocate(words * 4)
  for (let index = 0; index < words; index++) machine.f32[at / 4 + index] = value(index)
  return at
}

/** A step whose sequences have one slab each: `tables[0]` is its address. */
export function setStep(machine: Machine, part: Part, slabs: readonly number[], position = 0): void {
  machine.setStep({ sequences: part.map((rows) => ({ position, rows })) })
  const sequences = machine.u32[machine.step / 4 + STEP.seqs]! / 4
  for (const [index, at] of slabs.entries())
    machine.u32[sequences + index * SEQUENCE_WORDS + SEQUENCE.tables] = at
}

/** Random inputs [row][lane]. A row, counted from `first`, has the same inputs in any chunk. */
export function drawn(seed: number, width: number, size = 1, first = 0): Value {
  const cache = new Map<number, Float32Array>()
  return (row, lane) => {
    const key = first + row
    const random = cache.get(key) ?? rowOf(seed * 1000 + key, width, size)
    cache.set(key, random)
    return random[lane] ?? 0
  }
}

function rowOf(seed: number, width: number, size: number): Float32Array {
  const random = randomFrom(seed)
  return Float32Array.from({ length: width }, () => (random() * 2 - 1) * size)
}

const place = (name: string, rows: Rows) => ({ [name]: rows.at, [`${name}_stride`]: rows.stride })

export interface Conv {
  readonly channels: number
  readonly taps: number
  readonly bias?: boolean
}

/** Adds conv1d over `count` rows; the slab's floats from `state_offset` on are its window. */
export function conv1d(machine: Machine, { channels, taps, bias = true }: Conv, count: number, first = 0) {
  const x = machine.rows(count, channels, drawn(1, channels, 2, first))
  const w = panels(machine, channels, taps, drawn(2, taps, 1))
  const b = machine.rows(1, channels, drawn(3, channels))
  const y = machine.rows(count, channels)
  const q = machine.a8Rows(count, channels)
  machine.op('conv1d', {
    ...place('x', x),
    w,
    bias: bias ? b.at : 0,
    channels,
    taps,
    group: 0,
    state_offset: 64,
    ...place('y', y),
    ...place('q', q),
  })
  return { x, y, q }
}

export interface Scan {
  readonly channels: number
  readonly states: number
}

export function scan(machine: Machine, { channels, states }: Scan, count: number, first = 0) {
  const rows = (seed: number, width: number, size: number) =>
    machine.rows(count, width, drawn(seed, width, size, first))
  const u = rows(4, channels, 1)
  const dt = rows(5, channels, 6)
  const z = rows(6, channels, 4)
  const b = rows(7, states, 1)
  const c = rows(8, states, 1)
  const decay = panels(machine, channels, states, (channel, n) => -(n + 1) * (0.3 + (channel % 7) / 4))
  const skip = machine.rows(1, channels, drawn(9, channels))
  const y = machine.rows(count, channels)
  const q = machine.a8Rows(count, channels)
  machine.op('scan', {
    ...place('u', u),
    ...place('dt', dt),
    ...place('z', z),
    ...place('b', b),
    ...place('c', c),
    decay,
    skip: skip.at,
    channels,
    states,
    group: 0,
    state_offset: 64,
    ...place('y', y),
    ...place('q', q),
  })
  return { y, q }
}

export interface Ssd {
  readonly heads: number
  readonly dim: number
  readonly groups: number
  readonly states: number
  /** Range of step sizes. */
  readonly limits?: readonly [number, number]
}

export function ssd(
  machine: Machine,
  { heads, dim, groups, states, limits = [0, Number.POSITIVE_INFINITY] }: Ssd,
  count: number,
  first = 0,
) {
  const rows = (seed: number, width: number, size: number) =>
    machine.rows(count, width, drawn(seed, width, size, first))
  const x = rows(10, heads * dim, 1)
  const z = rows(11, heads * dim, 4)
  const dt = rows(12, heads, 6)
  const b = rows(13, groups * states, 1)
  const c = rows(14, groups * states, 1)
  const vector = (seed: number, value?: Value) => machine.rows(1, heads, value ?? drawn(seed, heads)).at
  const y = machine.rows(count, heads * dim)
  machine.op('ssd', {
    ...place('x', x),
    ...place('dt', dt),
    ...place('z', z),
    ...place('b', b),
    ...place('c', c),
    decay: vector(0, (_, head) => -0.2 - head),
    skip: vector(15),
    dt_bias: vector(16),
    heads,
    head_dim: dim,
    groups,
    states,
    group: 0,
    state_offset: 64,
    ...place('y', y),
    least: limits[0],
    most: limits[1],
  })
  return { y }
}

export interface Delta {
  readonly heads: number
  readonly keyHeads: number
  readonly keyDim: number
  readonly dim: number
  /** Head i reads key head i / ratio % keyHeads. */
  readonly ratio: number
  readonly channels?: boolean
  readonly gate?: number
  /** Factor for the share of a value that is replaced. */
  readonly scale?: number
}

export function delta(
  machine: Machine,
  { heads, keyHeads, keyDim, dim, ratio, channels = false, gate = 0, scale = 1 }: Delta,
  count: number,
  first = 0,
) {
  const rows = (seed: number, width: number, size: number) =>
    machine.rows(count, width, drawn(seed, width, size, first))
  const steps = channels ? heads * keyDim : heads
  const x = rows(17, 2 * keyHeads * keyDim + heads * dim, 1)
  const dt = rows(18, steps, 4)
  const beta = rows(19, heads, 3)
  const z = rows(20, heads * dim, 4)
  const y = machine.rows(count, heads * dim)
  machine.op('delta', {
    ...place('x', x),
    ...place('dt', dt),
    ...place('beta', beta),
    ...place('z', z),
    decay: machine.rows(1, heads, (_, head) => -0.1 - head / 3).at,
    dt_bias: machine.rows(1, steps, drawn(21, steps)).at,
    weight: machine.rows(1, dim, drawn(22, dim)).at,
    heads,
    key_heads: keyHeads,
    ratio,
    key_dim: keyDim,
    head_dim: dim,
    channels: channels ? 1 : 0,
    gate,
    group: 0,
    state_offset: 64,
    ...place('y', y),
    scale,
    eps: 1e-6,
  })
  return { y }
}

export interface Lru {
  readonly channels: number
  readonly blocks: number
}

export function lru(machine: Machine, { channels, blocks }: Lru, count: number, first = 0) {
  const x = machine.rows(count, channels, drawn(23, channels, 1, first))
  const size = (channels * channels) / blocks
  const weight = (seed: number) => {
    const value = drawn(seed, size, 0.3)
    return slab(machine, size, (index) => value(0, index))
  }
  const vector = (seed: number) => machine.rows(1, channels, drawn(seed, channels)).at
  const y = machine.rows(count, channels)
  machine.op('lru', {
    ...place('x', x),
    enter_weight: weight(24),
    enter_bias: vector(25),
    stay_weight: weight(26),
    stay_bias: vector(27),
    param: vector(28),
    channels,
    blocks,
    group: 0,
    state_offset: 64,
    ...place('y', y),
  })
  return { y }
}

export function wkv(machine: Machine, { channels }: { readonly channels: number }, count: number, first = 0) {
  const k = machine.rows(count, channels, drawn(29, channels, 6, first))
  const v = machine.rows(count, channels, drawn(30, channels, 1, first))
  const y = machine.rows(count, channels)
  machine.op('wkv', {
    ...place('k', k),
    ...place('v', v),
    decay: machine.rows(1, channels, (_, channel) => -0.05 - (channel % 9) / 3).at,
    first: machine.rows(1, channels, drawn(31, channels)).at,
    channels,
    group: 0,
    state_offset: 64,
    ...place('y', y),
  })
  return { y }
}
