import { expect } from 'vitest'
import { type Build, type Machine, plainMachine, type Rows } from '../../../wasm/testing/machine.ts'
import { panels, setStep, slab } from '../../../wasm/testing/recurrent.ts'
import { fixtureText } from '../../helpers/fixture.ts'

/** A tensor's numbers, row by row. */
export class Tensor {
  readonly shape: readonly number[]
  readonly values: readonly number[]

  constructor(shape: readonly number[], values: readonly number[]) {
    this.shape = shape
    this.values = values
  }

  at(...place: number[]): number {
    return this.values[place.reduce((index, each, axis) => index * this.shape[axis]! + each, 0)]!
  }
  /** The numbers along the last axis, at this index of the other axes. */
  line(...place: number[]): number[] {
    return Array.from({ length: this.shape.at(-1)! }, (_, last) => this.at(...place, last))
  }
}
export type Tensors = Readonly<Record<string, Tensor>>
export interface Case {
  readonly inputs: Tensors
  readonly outputs: Tensors
}

/** Nested lists, or flat lists with a shape. */
type Nested = number | readonly Nested[]
type Stored = Nested | { readonly shape: readonly number[]; readonly data: Nested }
const flat = (value: Nested): number[] => (typeof value === 'number' ? [value] : value.flatMap(flat))
const shapeOf = (value: Nested): number[] =>
  typeof value === 'number' ? [] : [value.length, ...shapeOf(value[0] ?? 0)]

export const json = (name: string) => JSON.parse(fixtureText(`mamba-ops/${name}`))

/** The tensors of a case. Skips other entries, such as sizes and names. */
export function caseOf(stored: Record<'inputs' | 'outputs', Record<string, unknown>>): Case {
  const tensors = (group: Record<string, unknown>): Tensors =>
    Object.fromEntries(
      Object.entries(group).flatMap(([name, value]) => {
        if (typeof value !== 'object' || value === null) return []
        if (!Array.isArray(value) && !('data' in value)) return []
        const stored = value as Exclude<Stored, number>
        const data = 'data' in stored ? stored.data : stored
        return [[name, new Tensor('shape' in stored ? stored.shape : shapeOf(data), flat(data))]]
      }),
    )
  return { inputs: tensors(stored.inputs), outputs: tensors(stored.outputs) }
}
export const reference = (group: string, name: string): Case =>
  caseOf(json('mamba_reference_cases.json')[group][name])

/**
 * Tolerances, relative to 1 + the expected value. Expected outputs were computed in f32 with other summation
 * orders, in TF32 (whose products drop 13 bits), or were stored in 16 bits.
 */
const TOLERANCE = { f32: 2e-5, tf32: 5e-3, bf16: 2 ** -8, f16: 2 ** -10 } as const
export function expectClose(
  ours: readonly number[],
  right: readonly number[],
  made: keyof typeof TOLERANCE = 'f32',
): void {
  expect(ours.length).toBe(right.length)
  for (const [index, value] of right.entries()) {
    expect(Math.abs(ours[index]! - value)).toBeLessThan(TOLERANCE[made] * (1 + Math.abs(value)))
  }
}

export const BOTH_BUILDS: readonly Build[] = ['relaxed', 'simd128']
/** All rows in one step, or one step for each row. */
export const CUTS = [(rows: number) => [rows], (rows: number) => Array<number>(rows).fill(1)]

export const silu = (z: number): number => z / (1 + Math.exp(-z))
/** The inverse of softplus. */
const beforeSoftplus = (step: number): number => Math.log(Math.expm1(step))
const place = (name: string, rows: Rows) => ({ [name]: rows.at, [`${name}_stride`]: rows.stride })

export interface Channel {
  readonly u: readonly number[]
  /** Step sizes before softplus; with `steps`, the step sizes themselves. */
  readonly dt?: readonly number[]
  readonly steps?: readonly number[]
  readonly z?: readonly number[] | undefined
  /** [row][state] */
  readonly b: readonly (readonly number[])[]
  readonly c: readonly (readonly number[])[]
  readonly a: readonly number[]
  readonly skip?: number | undefined
  readonly state?: readonly number[] | undefined
}

/**
 * One channel of the scan. Our kernel's step sizes come from a softplus and are above 0. A negative step size
 * is equivalent to a positive one with u, A and the skip negated, so rows of different sign run in separate
 * steps.
 */
export function scanChannel(
  build: Build,
  channel: Channel,
  cut: (rows: number) => number[],
): { y: number[]; state: number[] } {
  const machine = plainMachine(build)
  const { u, steps, z, b, c, a, skip = 0 } = channel
  const dt = steps?.map((step) => beforeSoftplus(Math.abs(step))) ?? channel.dt ?? []
  const signs = u.map((_, row) => ((steps?.[row] ?? 1) < 0 ? -1 : 1))
  const states = a.length
  const bySign = (sign: number) => ({
    decay: panels(machine, 1, states, (_, n) => sign * a[n]! * Math.LOG2E, 32),
    skip: machine.rows(1, 32, (_, lane) => (lane === 0 ? sign * skip : 0)).at,
  })
  const weights = new Map([1, -1].map((sign) => [sign, bySign(sign)]))
  const state = slab(machine, 32 * states, (at) => (at % 8 === 0 ? (channel.state?.[at / 8] ?? 0) : 0))
  const y: number[] = []
  for (const [first, count] of stretches(signs, cut(u.length))) {
    const sign = signs[first]!
    const rows = (value: (row: number) => number) =>
      machine.rows(count, 32, (row, lane) => (lane === 0 ? value(first + row) : 0))
    const wide = (values: readonly (readonly number[])[]) =>
      machine.rows(count, states, (row, lane) => values[first + row]![lane]!)
    setStep(machine, [count], [state])
    const out = machine.rows(count, 32)
    machine.op('scan', {
      ...place(
        'u',
        rows((row) => sign * u[row]!),
      ),
      ...place(
        'dt',
        rows((row) => dt[row]!),
      ),
      ...place(
        'z',
        rows((row) => z?.[row] ?? 1),
      ),
      ...place('b', wide(b)),
      ...place('c', wide(c)),
      ...weights.get(sign),
      channels: 32,
      states,
      group: 0,
      state_offset: 0,
      ...place('y', out),
    })
    machine.run()
    machine.ops.length = 0
    for (let row = 0; row < count; row++) y.push(machine.floats(out, row)[0]!)
  }
  // Without a gate, z was set to 1.
  const ungated = z === undefined ? y.map((value) => value / silu(1)) : y
  return { y: ungated, state: Array.from({ length: states }, (_, n) => machine.f32[state / 4 + 8 * n]!) }
}

/** First row and length of each step of `cut`, split again where the sign changes. */
function stretches(signs: readonly number[], cut: readonly number[]): [number, number][] {
  const ends = new Set(cut.map((_, index) => cut.slice(0, index + 1).reduce((sum, rows) => sum + rows, 0)))
  const starts = signs.flatMap((sign, row) =>
    row === 0 || ends.has(row) || sign !== signs[row - 1] ? [row] : [],
  )
  return starts.map((start, index) => [start, (starts[index + 1] ?? signs.length) - start])
}

export interface Head {
  /** [row][channel] */
  readonly x: readonly (readonly number[])[]
  /** Step sizes before softplus, without bias; or the step sizes themselves, above 0. */
  readonly dt?: readonly number[]
  readonly steps?: readonly number[]
  readonly bias?: number
  readonly z?: readonly (readonly number[])[] | undefined
  /** [row][state] */
  readonly b: readonly (readonly number[])[]
  readonly c: readonly (readonly number[])[]
  readonly a: number
  /** Skip factors per channel. The kernel has one per head, which is set to 0. */
  readonly skips?: readonly number[] | undefined
  /** [channel][state] */
  readonly state?: readonly (readonly number[])[] | undefined
  /** Lower and upper limit of a step size. */
  readonly limits?: readonly [number, number] | undefined
}

/** One head of SSD; its channels are padded to a multiple of 4. */
export function ssdHead(
  build: Build,
  head: Head,
  cut: (rows: number) => number[],
): { y: number[][]; state: number[][] } {
  const machine: Machine = plainMachine(build)
  const { x, z, b, c, a, steps, bias = 0, skips, limits = [0, Number.POSITIVE_INFINITY] } = head
  const width = x[0]!.length
  const states = b[0]!.length
  const dim = Math.ceil(width / 4) * 4
  const dt = steps?.map(beforeSoftplus) ?? head.dt ?? []
  const single = (value: number) => machine.rows(1, 1, () => value).at
  const weights = { decay: single(a * Math.LOG2E), skip: single(0), dt_bias: single(bias) }
  const initial = (at: number) => head.state?.[Math.floor(at / states)]?.[at % states] ?? 0
  const state = slab(machine, dim * states, initial)
  const y: number[][] = []
  let first = 0
  for (const count of cut(x.length)) {
    const rows = (size: number, value: (row: number, at: number) => number) =>
      machine.rows(count, size, (row, at) => value(first + row, at))
    const out = machine.rows(count, dim)
    setStep(machine, [count], [state])
    machine.op('ssd', {
      ...place(
        'x',
        rows(dim, (row, at) => x[row]![at] ?? 0),
      ),
      ...place(
        'z',
        rows(dim, (row, at) => (z === undefined ? 1 : (z[row]![at] ?? 0))),
      ),
      ...place(
        'dt',
        rows(1, (row) => dt[row]!),
      ),
      ...place(
        'b',
        rows(states, (row, n) => b[row]![n]!),
      ),
      ...place(
        'c',
        rows(states, (row, n) => c[row]![n]!),
      ),
      ...weights,
      heads: 1,
      head_dim: dim,
      groups: 1,
      states,
      group: 0,
      state_offset: 0,
      ...place('y', out),
      least: limits[0],
      most: limits[1],
    })
    machine.run()
    machine.ops.length = 0
    for (let row = 0; row < count; row++) {
      const made = [...machine.floats(out, row).slice(0, width)]
      const gates = z?.[first + row]
      const gate = (at: number) => silu(gates?.[at] ?? 1)
      const inputs = x[first + row] ?? []
      const skipped = (at: number) => (skips?.[at] ?? 0) * inputs[at]! * gate(at)
      y.push(made.map((value, at) => (value + skipped(at)) / (z === undefined ? gate(at) : 1)))
    }
    first += count
  }
  const stateOf = (p: number) =>
    Array.from({ length: states }, (_, n) => machine.f32[state / 4 + p * states + n]!)
  return { y, state: Array.from({ length: width }, (_, p) => stateOf(p)) }
}
