// Conformance of recurrent ops. In: outputs of the official Mamba kernels. Out: ours, by chunk and by step.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Machine, plainMachine, type Rows } from '../wasm/test/machine.ts'
import { panels, setStep, slab } from '../wasm/test/recurrent.ts'

const FOLDER = join(import.meta.dirname, '../../shared/fixtures/mamba-ops')
const isHere = existsSync(FOLDER)
if (!isHere) console.warn(`skipped: the conformance of recurrent ops needs ${FOLDER}`)

/** Nested lists, or a flat list under a shape. */
type Nested = number | readonly Nested[]
interface Stored {
  readonly data: Nested
}
type Values = Readonly<Record<string, Nested | Stored>>

/** Some gradients in there, which nobody reads here, are NaN: no JSON. */
const json = (name: string) =>
  JSON.parse(readFileSync(join(FOLDER, name), 'utf8').replaceAll(/\bNaN\b/g, 'null'))
const flat = (value: Nested | Stored | null | undefined): number[] => {
  if (value === undefined || value === null) return []
  if (typeof value === 'number') return [value]
  return Array.isArray(value) ? value.flatMap(flat) : flat((value as Stored).data)
}

/** Relative to 1 + what is right: outputs made in f32 by other orders of sums, and by products that drop 13 bits (TF32). */
const TOLERANCE = { f32: 2e-5, tf32: 5e-3 } as const
function expectClose(ours: readonly number[], right: readonly number[], made: 'f32' | 'tf32' = 'f32'): void {
  expect(ours.length).toBe(right.length)
  for (const [index, value] of right.entries()) {
    expect(Math.abs(ours[index]! - value)).toBeLessThan(TOLERANCE[made] * (1 + Math.abs(value)))
  }
}

const place = (name: string, rows: Rows) => ({ [name]: rows.at, [`${name}_stride`]: rows.stride })
/** All rows in one step, and one step for each. */
const CUTS = [(rows: number) => [rows], (rows: number) => Array<number>(rows).fill(1)]

interface Channel {
  readonly u: readonly number[]
  readonly dt: readonly number[]
  readonly z?: readonly number[] | undefined
  /** [row][state] */
  readonly b: readonly (readonly number[])[]
  readonly c: readonly (readonly number[])[]
  readonly a: readonly number[]
  readonly skip: number
  readonly state?: readonly number[] | undefined
}

/** One channel of the scan; B and C of the official kernels may differ from channel to channel. */
function scanChannel(channel: Channel, cut: readonly number[]): { y: number[]; state: number[] } {
  const machine = plainMachine('simd128')
  const { u, dt, z, b, c, a, skip } = channel
  const states = a.length
  const decay = panels(machine, 1, states, (_, n) => a[n]! * Math.LOG2E, 32)
  const state = slab(machine, 32 * states, (at) => (at % 8 === 0 ? (channel.state?.[at / 8] ?? 0) : 0))
  const skips = machine.rows(1, 32, (_, lane) => (lane === 0 ? skip : 0))
  const y: number[] = []
  let first = 0
  for (const count of cut) {
    const rows = (values: readonly number[]) =>
      machine.rows(count, 32, (row, lane) => (lane === 0 ? (values[first + row] ?? 0) : 0))
    const wide = (values: readonly (readonly number[])[]) =>
      machine.rows(count, states, (row, lane) => values[first + row]![lane]!)
    setStep(machine, [count], [state])
    const out = machine.rows(count, 32)
    machine.op('scan', {
      ...{ ...place('u', rows(u)), ...place('dt', rows(dt)), ...place('z', rows(z ?? u.map(() => 1))) },
      ...{ ...place('b', wide(b)), ...place('c', wide(c)), decay, skip: skips.at, channels: 32, states },
      ...{ group: 0, state_offset: 0, ...place('y', out) },
    })
    machine.run()
    machine.ops.length = 0
    for (let row = 0; row < count; row++) y.push(machine.floats(out, row)[0]!)
    first += count
  }
  // Without a gate, z was 1.
  const gate = 1 / (1 + Math.exp(-1))
  const ungated = z === undefined ? y.map((value) => value / gate) : y
  return { y: ungated, state: Array.from({ length: states }, (_, n) => machine.f32[state / 4 + 8 * n]!) }
}

/** Element [...at] of a row-major list of `shape`. */
const element = (values: readonly number[], shape: readonly number[], ...at: number[]): number =>
  values[at.reduce((index, each, axis) => index * shape[axis]! + each, 0)]!

describe.skipIf(!isHere)('selective scan', () => {
  interface Case {
    readonly description: string
    readonly inputs: Record<string, { shape: number[]; data: number[] }>
    readonly outputs: Record<string, { shape: number[]; data: number[] }>
  }
  const cases: Case[] = isHere ? json('selective_scan_reference.json') : []
  test.each(cases)('$description', ({ inputs, outputs }) => {
    const [batches = 0, channels = 0, rows = 0] = inputs['u']!.shape
    const states = inputs['A']!.shape[1]!
    const read = (name: string, ...at: number[]) => element(inputs[name]!.data, inputs[name]!.shape, ...at)
    /** B and C are [channel][state], [batch][channel][state], or with the row as last axis. */
    const between = (name: string, batch: number, channel: number, n: number, row: number) => {
      const axes = inputs[name]!.shape.length
      if (axes === 2) return read(name, channel, n)
      return axes === 3 ? read(name, batch, channel, n) : read(name, batch, channel, n, row)
    }
    for (const cut of CUTS) {
      for (let batch = 0; batch < batches; batch++) {
        for (let channel = 0; channel < channels; channel++) {
          const line = (name: string) =>
            Array.from({ length: rows }, (_, row) => read(name, batch, channel, row))
          const table = (name: string) =>
            Array.from({ length: rows }, (_, row) =>
              Array.from({ length: states }, (_, n) => between(name, batch, channel, n, row)),
            )
          const bias = read('dt_bias', channel)
          const { y, state } = scanChannel(
            {
              ...{ u: line('u'), dt: line('delta').map((value) => value + bias), z: line('z') },
              ...{ b: table('B'), c: table('C'), skip: read('D', channel) },
              a: Array.from({ length: states }, (_, n) => read('A', channel, n)),
            },
            cut(rows),
          )
          const { y: right, state: last } = outputs
          expectClose(y, right!.data.slice((batch * channels + channel) * rows).slice(0, rows))
          expectClose(state, last!.data.slice((batch * channels + channel) * states).slice(0, states))
        }
      }
    }
  })

  test('one decode step from a state', () => {
    const { inputs, outputs } = json('mamba_reference_cases.json').selective_state_update.baseline_full as {
      inputs: Values
      outputs: Values
    }
    const values = Object.fromEntries(Object.entries(inputs).map(([name, value]) => [name, flat(value)]))
    const read = (name: string, shape: readonly number[], ...at: number[]) =>
      element(values[name]!, shape, ...at)
    for (let batch = 0; batch < 2; batch++) {
      for (let channel = 0; channel < 3; channel++) {
        const list = (name: string, shape: readonly number[], ...at: number[]) =>
          [0, 1, 2, 3].map((n) => read(name, shape, ...at, n))
        const { y, state } = scanChannel(
          {
            u: [read('x', [2, 3], batch, channel)],
            dt: [read('dt', [2, 3], batch, channel) + read('dt_bias', [3], channel)],
            z: [read('z', [2, 3], batch, channel)],
            b: [list('B', [2, 4], batch)],
            c: [list('C', [2, 4], batch)],
            a: list('A', [3, 4], channel),
            skip: read('D', [3], channel),
            state: list('state', [2, 3, 4], batch, channel),
          },
          [1],
        )
        expectClose(y, [flat(outputs['y'])[batch * 3 + channel]!])
        expectClose(
          state,
          flat(outputs['updated_state'])
            .slice((batch * 3 + channel) * 4)
            .slice(0, 4),
        )
      }
    }
  })
})

describe.skipIf(!isHere)('causal convolution', () => {
  test.each([0, 1])('with SiLU, batch %i', (batch) => {
    const { inputs, outputs } = json('mamba_reference_cases.json').dw_causal_conv.channels_first_silu as {
      inputs: Values
      outputs: Values
    }
    const [x, weight, bias, right] = [inputs['x'], inputs['weight'], inputs['bias'], outputs['y']].map(flat)
    for (const cut of CUTS) {
      const machine = plainMachine('relaxed')
      const w = panels(machine, 8, 4, (channel, tap) => weight![channel * 4 + tap]!, 32)
      const b = machine.rows(1, 32, (_, lane) => bias![lane] ?? 0)
      const state = slab(machine, 32 * 3)
      let first = 0
      for (const count of cut(5)) {
        const input = machine.rows(count, 32, (row, lane) =>
          lane < 8 ? x![(batch * 8 + lane) * 5 + first + row]! : 0,
        )
        const y = machine.rows(count, 32)
        setStep(machine, [count], [state])
        machine.op('conv1d', {
          ...{ ...place('x', input), w, bias: b.at, channels: 32, taps: 4, group: 0, state_offset: 0 },
          ...{ ...place('y', y), q: 0 },
        })
        machine.run()
        machine.ops.length = 0
        for (let row = 0; row < count; row++) {
          const wanted = Array.from({ length: 8 }, (_, lane) => right![(batch * 8 + lane) * 5 + first + row]!)
          expectClose([...machine.floats(y, row).slice(0, 8)], wanted)
        }
        first += count
      }
    }
  })
})

/** The official kernel clamps exponents at 0: a head whose A is positive, as no trained one's is, would be another recurrence. */
describe.skipIf(!isHere)('SSD', () => {
  test.each([0, 1])('from a state, with a skip per channel, batch %i', (batch) => {
    const { inputs, outputs } = json('mamba_reference_cases.json').ssd_combined.combined_full as {
      inputs: Values
      outputs: Values
    }
    const values = Object.fromEntries(Object.entries(inputs).map(([name, value]) => [name, flat(value)]))
    const read = (name: string, shape: readonly number[], ...at: number[]) =>
      element(values[name]!, shape, ...at)
    // Heads of 3 channels are padded to 4.
    const lane = (name: string, row: number, at: number) =>
      at % 4 === 3 ? 0 : read(name, [2, 6, 2, 3], batch, row, Math.floor(at / 4), at % 4)
    for (const cut of CUTS) {
      const machine: Machine = plainMachine('relaxed')
      const initial = (at: number) =>
        at % 16 >= 12
          ? 0
          : read(
              'initial_states',
              [2, 2, 3, 4],
              batch,
              Math.floor(at / 16),
              Math.floor((at % 16) / 4),
              at % 4,
            )
      const state = slab(machine, 32, initial)
      const perHead = (value: (head: number) => number) => machine.rows(1, 2, (_, head) => value(head)).at
      const decay = perHead((head) => read('A', [2], head) * Math.LOG2E)
      const [skip, bias] = [perHead(() => 0), perHead((head) => read('dt_bias', [2], head))]
      let first = 0
      for (const count of cut(6)) {
        const rows = (width: number, value: (row: number, at: number) => number) =>
          machine.rows(count, width, (row, at) => value(first + row, at))
        const y = machine.rows(count, 8)
        setStep(machine, [count], [state])
        machine.op('ssd', {
          ...place(
            'x',
            rows(8, (row, at) => lane('X', row, at)),
          ),
          ...place(
            'z',
            rows(8, (row, at) => lane('z', row, at)),
          ),
          ...place(
            'dt',
            rows(2, (row, head) => read('dt', [2, 6, 2], batch, row, head)),
          ),
          ...place(
            'b',
            rows(4, (row, n) => read('B', [2, 6, 1, 4], batch, row, 0, n)),
          ),
          ...place(
            'c',
            rows(4, (row, n) => read('C', [2, 6, 1, 4], batch, row, 0, n)),
          ),
          ...{ decay, skip, dt_bias: bias, heads: 2, head_dim: 4, groups: 1, states: 4 },
          ...{ group: 0, state_offset: 0, ...place('y', y) },
        })
        machine.run()
        machine.ops.length = 0
        for (let row = 0; row < count; row++) {
          for (let at = 0; at < 6; at++) {
            const [head, p] = [Math.floor(at / 3), at % 3]
            if (read('A', [2], head) > 0) continue
            const [x, z] = [lane('X', first + row, head * 4 + p), lane('z', first + row, head * 4 + p)]
            const skipped = (read('D', [2, 3], head, p) * x * z) / (1 + Math.exp(-z))
            const right = element(flat(outputs['y']), [2, 6, 2, 3], batch, first + row, head, p)
            expectClose([machine.floats(y, row)[head * 4 + p]! + skipped], [right], 'tf32')
          }
        }
        first += count
      }
      for (let at = 0; at < 32; at++) {
        if (at % 16 >= 12) continue
        const [head, p] = [Math.floor(at / 16), Math.floor((at % 16) / 4)]
        if (read('A', [2], head) > 0) continue
        const right = element(flat(outputs['final_states']), [2, 2, 3, 4], batch, head, p, at % 4)
        expectClose([machine.f32[state / 4 + at]!], [right], 'tf32')
      }
    }
  })
})
