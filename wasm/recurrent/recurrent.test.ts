// Recurrent kernels. In: ragged steps over slabs. Out: the definition's bits, the same
// bits for any chunking, and the true values.
import { describe, expect, test } from 'vitest'
import { ACTIVATION } from '../../src/core/abi/constants.ts'
import {
  BUILDS,
  type Build,
  compare,
  evaluate,
  type Machine,
  plainMachine,
  type Rows,
} from '../testing/machine.ts'
import { conv1d, delta, lru, type Part, scan, setStep, slab, ssd, wkv } from '../testing/recurrent.ts'

/** Slabs that begin with bytes of other ops, and continue with a nonzero state. */
const slabs = (machine: Machine, part: Part, words: number): number[] =>
  part.map((_, index) => slab(machine, 16 + words, (at) => (at < 16 ? 7 : Math.sin(at + index))))

const sum = (part: Part): number => part.reduce((all, rows) => all + rows, 0)

/** Floats of state of each op below, including padding channels. */
type Op = {
  readonly words: number
  readonly lay: (machine: Machine, count: number, first?: number) => { y: Rows }
}
const CONVS: Op[] = [
  { words: 96 * 3, lay: (m, count, first) => conv1d(m, { channels: 96, taps: 4 }, count, first) },
  { words: 160 * 2, lay: (m, count, first) => conv1d(m, { channels: 160, taps: 3 }, count, first) },
  { words: 32, lay: (m, count, first) => conv1d(m, { channels: 32, taps: 2, bias: false }, count, first) },
  { words: 80 * 6, lay: (m, count, first) => conv1d(m, { channels: 80, taps: 7 }, count, first) },
  { words: 112 * 3, lay: (m, count, first) => conv1d(m, { channels: 112, taps: 4 }, count, first) },
  {
    words: 72 * 2,
    lay: (m, count, first) => conv1d(m, { channels: 72, taps: 3, bias: false }, count, first),
  },
]
const SCANS: Op[] = [
  { words: 96 * 16, lay: (m, count, first) => scan(m, { channels: 96, states: 16 }, count, first) },
  { words: 32 * 5, lay: (m, count, first) => scan(m, { channels: 32, states: 5 }, count, first) },
  { words: 64, lay: (m, count, first) => scan(m, { channels: 64, states: 1 }, count, first) },
]
const SSDS: Op[] = [
  {
    words: 6 * 64 * 128,
    lay: (m, count, first) => ssd(m, { heads: 6, dim: 64, groups: 2, states: 128 }, count, first),
  },
  {
    words: 2 * 16 * 4,
    lay: (m, count, first) => ssd(m, { heads: 2, dim: 16, groups: 1, states: 4 }, count, first),
  },
  {
    words: 8 * 16 * 4,
    lay: (m, count, first) =>
      ssd(m, { heads: 8, dim: 16, groups: 1, states: 4, limits: [0.1, 1.5] }, count, first),
  },
  {
    words: 7 * 8,
    lay: (m, count, first) => ssd(m, { heads: 7, dim: 1, groups: 1, states: 8 }, count, first),
  },
  {
    words: 3 * 7 * 8,
    lay: (m, count, first) => ssd(m, { heads: 3, dim: 7, groups: 1, states: 8 }, count, first),
  },
  {
    words: 256 * 8,
    lay: (m, count, first) => ssd(m, { heads: 1, dim: 256, groups: 1, states: 8 }, count, first),
  },
]
const DELTA = { heads: 4, keyHeads: 2, keyDim: 16, dim: 20, ratio: 2 }
const DELTAS: Op[] = [
  { words: 4 * 16 * 20, lay: (m, count, first) => delta(m, DELTA, count, first) },
  {
    words: 4 * 16 * 20,
    lay: (m, count, first) =>
      delta(m, { ...DELTA, ratio: 1, gate: ACTIVATION.sigmoid, scale: 2 }, count, first),
  },
  { words: 4 * 16 * 20, lay: (m, count, first) => delta(m, { ...DELTA, channels: true }, count, first) },
  {
    words: 128 * 128,
    lay: (m, count, first) =>
      delta(m, { heads: 1, keyHeads: 1, keyDim: 128, dim: 128, ratio: 1 }, count, first),
  },
]
const LRUS: Op[] = [
  { words: 96, lay: (m, count, first) => lru(m, { channels: 96, blocks: 2 }, count, first) },
  { words: 60, lay: (m, count, first) => lru(m, { channels: 60, blocks: 5 }, count, first) },
  { words: 160, lay: (m, count, first) => lru(m, { channels: 160, blocks: 8 }, count, first) },
]
const WKVS: Op[] = [{ words: 3 * 96, lay: (m, count, first) => wkv(m, { channels: 96 }, count, first) }]

describe.each([
  ['conv1d', CONVS],
  ['scan', SCANS],
  ['ssd', SSDS],
  ['delta', DELTAS],
  ['lru', LRUS],
  ['wkv', WKVS],
] as const)('%s', (_, ops) => {
  const cases = ops.flatMap((op) => [[1], [9], [2, 1, 5], [1, 1, 1, 1]].map((part) => ({ ...op, part })))
  test.each(cases)(
    'matches its definition bit for bit: $words words of state, rows $part',
    ({ words, lay, part }) => {
      const { difference } = compare((machine) => {
        const states = slabs(machine, part, words)
        setStep(machine, part, states)
        lay(machine, sum(part))
      })
      expect(difference).toBeUndefined()
    },
  )

  /** The outputs of 11 rows, split into steps as `part` says, then the state. */
  const run = ({ words, lay }: Op, part: Part, build: Build) => {
    const machine = plainMachine(build)
    const [state = 0] = slabs(machine, [0], words)
    const rows: Float32Array[] = []
    let first = 0
    for (const count of part) {
      setStep(machine, [count], [state], first)
      const { y } = lay(machine, count, first)
      machine.run()
      for (let row = 0; row < count; row++) rows.push(machine.floats(y, row))
      machine.ops.length = 0
      first += count
    }
    return { rows, state: machine.f32.slice(state / 4, state / 4 + 16 + words) }
  }

  test.each(ops)('$words words of state: any chunking gives the same rows and state', (op) => {
    const right = run(op, [11], 'relaxed')
    expect(right.state.subarray(0, 16).every((value) => value === 7)).toBe(true)
    for (const build of BUILDS) {
      for (const part of [
        [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
        [4, 7],
        [5, 1, 3, 2],
      ]) {
        expect(run(op, part, build)).toEqual(right)
      }
    }
  })
})

test('a sequence without rows in a step keeps its state', () => {
  const machine = plainMachine('relaxed')
  const states = slabs(machine, [0, 3], 96 * 16)
  const before = machine.f32.slice(states[0]! / 4, states[0]! / 4 + 96 * 16)
  setStep(machine, [0, 3], states)
  scan(machine, { channels: 96, states: 16 }, 3)
  machine.run()
  expect(machine.f32.slice(states[0]! / 4, states[0]! / 4 + 96 * 16)).toEqual(before)
})

describe('softplus', () => {
  test('is within 5e-7 of the true value from -87 to 87, identically in both builds and in its scalar form', () => {
    const inputs = Float32Array.from({ length: 200_000 }, (_, i) => -87 + (i / 200_000) * 174)
    const relaxed = evaluate(plainMachine('relaxed'), 'step_size', inputs)
    expect(relaxed.vector).toEqual(evaluate(plainMachine('simd128'), 'step_size', inputs).vector)
    expect(relaxed.vector).toEqual(relaxed.scalar)
    let worst = 0
    for (const [i, x] of inputs.entries()) {
      const right = Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)))
      worst = Math.max(worst, Math.abs(relaxed.vector[i]! / right - 1))
    }
    expect(worst).toBeLessThan(5e-7)
  })

  test('keeps large numbers and NaN, and stays above zero', () => {
    const { vector } = evaluate(
      plainMachine('relaxed'),
      'step_size',
      Float32Array.of(1e6, -1e6, 20, Number.NaN),
    )
    expect(vector[0]).toBe(1e6)
    expect(vector[1]! / Math.exp(-87)).toBeCloseTo(1, 5)
    expect(vector[2]! / (20 + Math.exp(-20))).toBeCloseTo(1, 6)
    expect(vector[3]).toBeNaN()
  })
})
