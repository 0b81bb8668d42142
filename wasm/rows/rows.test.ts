// Row kernels: embed, rmsnorm, quantize, swiglu, gate_rows, join_heads, add. In: rows at the edges. Out: the
// definition's bits, and the true values.

import { describe, expect, test } from 'vitest'
import { ABI, ACTIVATION, ROWS, SELECTOR } from '../../src/core/abi/constants.ts'
import type { PackedEncoding } from '../../src/core/abi/encodings.ts'
import {
  ENCODINGS,
  type Encoding,
  groupEncoding,
  matrixBytes,
  roundUp,
} from '../../src/core/abi/encodings.ts'
import { packedMatrix } from '../../src/core/weights/testing/reference.ts'
import { randomFrom } from '../../test/helpers/random.ts'
import { BUILDS, compare, evaluate, type Machine, plainMachine, type Rows } from '../testing/machine.ts'
import { fillMatrix } from '../testing/weights.ts'

const tokens = (machine: Machine, rows: number) => machine.setStep({ sequences: [{ position: 0, rows }] })
/** The encodings allowed for a table; the others exist only for linear ops. */
const TESTED = (Object.keys(ENCODINGS) as PackedEncoding[]).filter(
  (encoding): encoding is Encoding => groupEncoding(encoding) === encoding,
)

/** Rows with ordinary groups, a group of zeros, one with an outlier and one too small to be scaled. */
const awkward = (seed: number) => {
  const random = randomFrom(seed)
  return (row: number, lane: number) => {
    const kind = (row + (lane >> 5)) % 4
    const value = random() * 2 - 1
    if (kind === 1) return 0
    if (kind === 2) return lane % 32 === 7 ? -1000 : value
    return kind === 3 ? value * 2 ** -110 : value
  }
}

describe('embed', () => {
  test.each(TESTED)('reads rows of a %s table, and never past its end', (encoding) => {
    for (const build of BUILDS) {
      const vocab = 37
      const n = 80
      const scale = 1.7
      const machine = plainMachine(build)
      const table = machine.matrix(encoding, vocab, n, fillMatrix(encoding, 11))
      const ids = [0, 36, 8, 13, 37, 2 ** ABI.ID_BITS - 1]
      const y = machine.rows(ids.length, n)
      machine.setStep({ sequences: [{ position: 0, rows: ids.length }], ids })
      machine.op('embed', {
        table,
        encoding: ENCODINGS[encoding].code,
        vocab,
        n,
        first: 0,
        whole: vocab,
        y: y.at,
        y_stride: y.stride,
        scale,
      })
      machine.run()
      const bytes = machine.u8.slice(table, table + matrixBytes(encoding, vocab, n))
      const weights = packedMatrix(encoding, bytes, roundUp(vocab, 32), n)
      for (const [row, id] of ids.entries()) {
        const from = Math.min(id, vocab - 1) * n
        const expected = weights.slice(from, from + n).map((weight) => Math.fround(scale) * weight)
        expect(machine.floats(y, row)).toEqual(expected)
        expect(machine.floats({ ...y, width: 96 }, row).subarray(80)).toEqual(new Float32Array(16))
      }
    }
  })

  test('reads a row by the id or the kind of a token', () => {
    const n = 40
    const machine = plainMachine('simd128')
    const table = machine.matrix('f32', 3, n, fillMatrix('f32', 12))
    const ids = [2, 1 + 2 ** ABI.ID_BITS, 2 * 2 ** ABI.ID_BITS]
    const byId = machine.rows(3, n)
    const byKind = machine.rows(3, n)
    machine.setStep({ sequences: [{ position: 0, rows: 3 }], ids })
    for (const [y, by] of [[byId, SELECTOR.id] as const, [byKind, SELECTOR.kind] as const]) {
      const size = { encoding: 0, vocab: 3, n, first: 0, whole: 3, scale: 1 }
      machine.op('embed', { table, ...size, by, y: y.at, y_stride: y.stride })
    }
    machine.run()
    const rows = (y: typeof byId) => ids.map((_, row) => machine.floats(y, row))
    expect(rows(byId)).toEqual(rows(byKind).toReversed())
    expect(new Set(rows(byKind).map(String)).size).toBe(3)
  })

  test('copies the rows supplied by the step, only on the first of several shards', () => {
    const n = 40
    const machine = plainMachine('simd128')
    const table = machine.matrix('f32', 3, n, fillMatrix('f32', 12))
    const ids = [2, 2 ** ABI.INPUT_BIT + 7, 1, 2 ** ABI.INPUT_BIT]
    const inputs = machine.allocate(4 * ids.length * n)
    const brought = Float32Array.from({ length: ids.length * n }, (_, i) => Math.fround(Math.sin(i)))
    new Float32Array(machine.u8.buffer, inputs, brought.length).set(brought)
    machine.setStep({ sequences: [{ position: 0, rows: ids.length }], ids, inputs })
    const size = { table, encoding: 0, vocab: 3, n, scale: 2 }
    const outputs = [
      { by: SELECTOR.id, first: 0, whole: 3 },
      { by: SELECTOR.id, first: 3, whole: 6 },
      { by: SELECTOR.input, first: 0, whole: 0 },
    ].map((use) => {
      const y = machine.rows(ids.length, n)
      machine.op('embed', { ...size, ...use, y: y.at, y_stride: y.stride })
      return y
    })
    machine.run()
    const [own, other, all] = outputs.map((y) => ids.map((_, row) => machine.floats(y, row)))
    const given = ids.map((_, row) => brought.slice(row * n, (row + 1) * n))
    const zeros = new Float32Array(n)
    const weights = packedMatrix('f32', machine.u8.slice(table, table + matrixBytes('f32', 3, n)), 32, n)
    const doubled = (id: number) => weights.slice(id * n, (id + 1) * n).map((weight) => 2 * weight)
    expect(all).toEqual(given)
    expect(own).toEqual([doubled(2), given[1], doubled(1), given[3]])
    expect(other).toEqual([zeros, zeros, zeros, zeros])
  })

  test('writes zeros for ids whose rows are on another shard', () => {
    const vocab = 32
    const n = 40
    const machine = plainMachine('simd128')
    const table = machine.matrix('f32', vocab, n, fillMatrix('f32', 11))
    const ids = [63, 64, 95, 96, 2 ** ABI.ID_BITS - 1]
    const y = machine.rows(ids.length, n)
    machine.setStep({ sequences: [{ position: 0, rows: ids.length }], ids })
    const cut = { vocab, first: 64, whole: 200 }
    machine.op('embed', { table, encoding: 0, n, ...cut, y: y.at, y_stride: y.stride, scale: 1 })
    machine.run()
    const weights = packedMatrix(
      'f32',
      machine.u8.slice(table, table + matrixBytes('f32', vocab, n)),
      vocab,
      n,
    )
    const rows = ids.map((_, row) => machine.floats(y, row))
    const zeros = new Float32Array(n)
    expect(rows).toEqual([zeros, weights.slice(0, n), weights.slice(31 * n, 32 * n), zeros, zeros])
  })
})

function norm(
  machine: Machine,
  n: number,
  m: number,
  want: 'y' | 'q' | 'both',
  logitRows?: readonly number[],
) {
  const x = machine.rows(m, n, awkward(n + m))
  const weight = machine.rows(1, n, (_, lane) => 0.5 + (lane % 7) / 4)
  const y = machine.rows(m, n)
  const q = machine.a8Rows(m, n)
  if (logitRows === undefined) tokens(machine, m)
  else machine.setStep({ sequences: [{ position: 0, rows: m }], logitRows })
  machine.op('rmsnorm', {
    x: x.at,
    x_stride: x.stride,
    weight: weight.at,
    n,
    eps: 1e-5,
    y: want === 'q' ? 0 : y.at,
    y_stride: y.stride,
    q: want === 'y' ? 0 : q.at,
    q_stride: q.stride,
    rows: logitRows === undefined ? ROWS.tokens : ROWS.logits,
  })
  return { x, y, q }
}

describe('rmsnorm', () => {
  test.each([
    [32, 1, 'both'],
    [64, 9, 'y'],
    [172, 3, 'q'],
    [896, 5, 'both'],
    [40, 2, 'both'],
  ] as const)('matches its definition bit for bit for %i lanes, %i rows, %s', (n, m, want) => {
    expect(compare((machine) => norm(machine, n, m, want)).difference).toBeUndefined()
  })

  test('gathers the rows whose logits are needed', () => {
    expect(compare((machine) => norm(machine, 64, 6, 'both', [5, 0, 3])).difference).toBeUndefined()
    const all = plainMachine('relaxed')
    const some = plainMachine('relaxed')
    const a = norm(all, 64, 6, 'y')
    const b = norm(some, 64, 6, 'y', [5, 0])
    all.run()
    some.run()
    expect(some.floats(b.y, 0)).toEqual(all.floats(a.y, 5))
    expect(some.floats(b.y, 1)).toEqual(all.floats(a.y, 0))
  })

  test('divides by the root mean square', () => {
    const machine = plainMachine('relaxed')
    const { x, y } = norm(machine, 172, 3, 'both')
    machine.run()
    for (let m = 0; m < 3; m++) {
      const input = machine.floats(x, m)
      const mean = input.reduce((sum, value) => sum + value * value, 0) / 172
      for (const [lane, value] of machine.floats(y, m).entries()) {
        const expected = (input[lane]! * (0.5 + (lane % 7) / 4)) / Math.sqrt(mean + 1e-5)
        expect(Math.abs(value - expected)).toBeLessThanOrEqual(Math.abs(expected) * 2e-6)
      }
    }
  })
})

function quantize(
  machine: Machine,
  n: number,
  m: number,
  value = awkward(n),
  places?: readonly number[],
  whole = 0,
): { x: Rows; q: Rows } {
  const x = machine.rows(m, n, value)
  const q = machine.a8Rows(m, n)
  const order = places === undefined ? 0 : machine.rows(1, n, (_, lane) => places[lane] ?? 0).at
  tokens(machine, m)
  machine.op('quantize', { x: x.at, x_stride: x.stride, n, q: q.at, q_stride: q.stride, order, whole })
  return { x, q }
}

describe('quantize', () => {
  test.each([
    [32, 1],
    [172, 4],
    [1056, 3],
    [4864, 2],
  ])('matches its definition bit for bit for %i lanes, %i rows', (n, m) => {
    expect(compare((machine) => quantize(machine, n, m)).difference).toBeUndefined()
  })

  test('with an order, it equals the quantised reordered row', () => {
    const n = 1056
    const m = 3
    const random = randomFrom(4)
    const places = Array.from({ length: n }, (_, lane) => lane)
    for (let lane = n - 1; lane > 0; lane--) {
      const other = Math.floor(random() * (lane + 1))
      ;[places[lane], places[other]] = [places[other] ?? 0, places[lane] ?? 0]
    }
    const drawn = awkward(n)
    const table = Array.from({ length: m * n }, (_, at) => drawn(Math.floor(at / n), at % n))
    const value = (row: number, lane: number) => table[row * n + lane] ?? 0
    expect(compare((machine) => quantize(machine, n, m, value, places)).difference).toBeUndefined()
    const moved = plainMachine('relaxed')
    const plain = plainMachine('relaxed')
    const rows = [
      quantize(moved, n, m, value, places),
      quantize(plain, n, m, (row, lane) => value(row, places[lane] ?? 0)),
    ]
    moved.run()
    plain.run()
    const [left, right] = [moved, plain].map((machine, index) =>
      Array.from({ length: m }, (_, row) => machine.dequantized(rows[index]!.q, row)),
    )
    expect(left).toEqual(right)
  })

  test.each([
    [32, 1],
    [172, 4],
    [1056, 3],
    [4864, 2],
  ])('with one scale for all of %i lanes it matches its definition bit for bit for %i rows', (n, m) => {
    const places = Array.from({ length: n }, (_, lane) => n - 1 - lane)
    for (const order of n % 32 === 0 ? [undefined, places] : [undefined]) {
      expect(compare((machine) => quantize(machine, n, m, undefined, order, 1)).difference).toBeUndefined()
    }
  })

  test('with one scale keeps every value within half a step of the largest', () => {
    const machine = plainMachine('relaxed pairs')
    const { x, q } = quantize(machine, 172, 8, undefined, undefined, 1)
    machine.run()
    for (let m = 0; m < 8; m++) {
      const input = machine.floats(x, m)
      const output = machine.dequantized(q, m)
      const largest = input.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
      const scales = new Set(
        machine.f32.slice((q.at + m * q.stride + 192) / 4, (q.at + m * q.stride + 192) / 4 + 6),
      )
      expect(scales).toEqual(new Set([Math.fround(largest / 127)]))
      for (const [lane, value] of output.entries())
        expect(Math.abs(value - input[lane]!)).toBeLessThanOrEqual((largest / 127) * 0.5001)
    }
  })

  test('keeps every value within half a step, even in groups of zeros', () => {
    const machine = plainMachine('simd128')
    const { x, q } = quantize(machine, 172, 8)
    machine.run()
    for (let m = 0; m < 8; m++) {
      const input = machine.floats(x, m)
      const output = machine.dequantized(q, m)
      for (let lane = 0; lane < 172; lane++) {
        const group = input.subarray(lane & ~31, (lane & ~31) + 32)
        const largest = group.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
        expect(Math.abs(output[lane]! - input[lane]!)).toBeLessThanOrEqual(
          (largest / 127) * 0.5001 + 2 ** -100,
        )
      }
    }
  })

  test('rounds halves to even and propagates NaN', () => {
    const machine = plainMachine('relaxed')
    const row = [127, 0.5, 1.5, 2.5, -0.5, -1.5, -126.5, -127]
    const { q } = quantize(machine, 64, 1, (_, lane) => (lane === 40 ? Number.NaN : (row[lane] ?? 0)))
    machine.run()
    expect([...machine.dequantized(q, 0).subarray(0, 8)]).toEqual(
      [127, 0, 2, 2, 0, -2, -126, -127].map((v) => v + 0),
    )
    expect(machine.dequantized(q, 0).subarray(32).every(Number.isNaN)).toBe(true)
  })
})

function glu(
  machine: Machine,
  n: number,
  m: number,
  want: 'y' | 'q' | 'both',
  activation: keyof typeof ACTIVATION = 'silu',
) {
  const random = randomFrom(n)
  const gate = machine.rows(m, n, (row) => (random() - 0.5) * (row === 0 ? 250 : 20))
  const up = machine.rows(m, n, () => random() * 2 - 1)
  const y = machine.rows(m, n)
  const q = machine.a8Rows(m, n)
  tokens(machine, m)
  machine.op('swiglu', {
    gate: gate.at,
    gate_stride: gate.stride,
    up: up.at,
    up_stride: up.stride,
    n,
    y: want === 'q' ? 0 : y.at,
    y_stride: y.stride,
    q: want === 'y' ? 0 : q.at,
    q_stride: q.stride,
    activation: ACTIVATION[activation],
  })
  return { gate, up, y }
}

describe('swiglu', () => {
  test.each([
    [32, 1, 'both'],
    [172, 3, 'y'],
    [1056, 2, 'q'],
    [4864, 1, 'both'],
  ] as const)('matches its definition bit for bit for %i lanes, %i rows, %s', (n, m, want) => {
    for (const activation of Object.keys(ACTIVATION) as (keyof typeof ACTIVATION)[])
      expect(compare((machine) => glu(machine, n, m, want, activation)).difference).toBeUndefined()
  })

  test.each([
    ['silu', 1],
    ['gelu_quick', 1.702],
  ] as const)(
    '%s is within 4e-7 of gate * sigmoid(%d * gate) * up, except for rounding of the slope',
    (activation, slope) => {
      const machine = plainMachine('relaxed')
      const { gate, up, y } = glu(machine, 1056, 3, 'y', activation)
      machine.run()
      for (let m = 0; m < 3; m++) {
        const g = machine.floats(gate, m)
        const u = machine.floats(up, m)
        for (const [lane, value] of machine.floats(y, m).entries()) {
          const expected = (g[lane]! / (1 + Math.exp(-slope * g[lane]!))) * u[lane]!
          // Below e^-87 the gate is closed, because it no longer changes an f32 sum. A slope rounds the
          // exponent.
          const rounding = slope === 1 ? 0 : Math.abs(slope * g[lane]!) * 2 ** -24
          const bound = Math.abs(expected) * (4e-7 + rounding) + 1e-35
          expect(Math.abs(value - expected)).toBeLessThanOrEqual(bound)
        }
      }
    },
  )
})

describe('gate_rows', () => {
  test.each([
    [32, 1, 1],
    [172, 5, 1],
    [2080, 3, 1],
    [2050, 3, 1],
    [48, 3, 4],
    [4160, 2, 52],
    [2080, 3, 20],
  ])(
    'matches its definition bit for bit for %i lanes, %i rows, %i gates, and is a sigmoid',
    (n, m, gates) => {
      let laid: { x: Rows; y: Rows } | undefined
      const value = (row: number, lane: number) => row + lane / n - 1
      const { machine, difference } = compare((each) => {
        const x = each.rows(m, gates, (row, place) => 3 * row - 4 + place / gates)
        const y = each.rows(m, n, value)
        tokens(each, m)
        each.op('gate_rows', {
          x: x.at,
          x_stride: x.stride,
          y: y.at,
          y_stride: y.stride,
          n,
          width: n / gates,
        })
        laid = { x, y }
      })
      expect(difference).toBeUndefined()
      for (let row = 0; row < m; row++) {
        const gate = (lane: number) =>
          1 / (1 + Math.exp(4 - 3 * row - Math.floor((lane * gates) / n) / gates))
        for (const [lane, made] of machine.floats(laid!.y, row).entries())
          expect(Math.abs(made - gate(lane) * value(row, lane))).toBeLessThan(1e-6 * (1 + row))
      }
    },
  )
})

describe('join_heads', () => {
  test.each([
    ['keys with a shared part', { heads: 3, shared: 6, own: 10, dim: 10, width: 20 }],
    ['values padded with zeros', { heads: 5, shared: 0, own: 7, dim: 7, width: 12 }],
    ['values taken from wider heads', { heads: 4, shared: 0, own: 9, dim: 16, width: 9 }],
  ])('%s', (_, { heads, shared, own, dim, width }) => {
    const m = 3
    let y: Rows | undefined
    const { machine, difference } = compare((each) => {
      const s = each.rows(m, Math.max(1, shared), (row, lane) => 1000 * (row + 1) + lane)
      const x = each.rows(m, heads * dim, (row, lane) => 100_000 * (row + 1) + lane)
      y = each.rows(m, heads * width)
      tokens(each, m)
      const from = { s: shared > 0 ? s.at : 0, s_stride: s.stride, shared, x: x.at, x_stride: x.stride }
      const to = { y: y.at, y_stride: y.stride, y_dim: width }
      each.op('join_heads', { ...from, x_dim: dim, own, ...to, heads })
    })
    expect(difference).toBeUndefined()
    for (let row = 0; row < m; row++) {
      const right = Array.from({ length: heads * width }, (_, i) => {
        const d = i % width
        if (d < shared) return 1000 * (row + 1) + d
        const lane = Math.floor(i / width) * dim + d - shared
        return d < shared + own ? 100_000 * (row + 1) + lane : 0
      })
      expect([...machine.floats(y!, row)]).toEqual(right)
    }
  })
})

describe('add', () => {
  test.each([
    [32, 1],
    [172, 5],
    [2080, 2],
  ])('matches its definition bit for bit for %i lanes, %i rows', (n, m) => {
    let y: Rows | undefined
    const { machine, difference } = compare((each) => {
      const random = randomFrom(n)
      const x = each.rows(m, n, () => random() - 0.5)
      y = each.rows(m, n, () => random() * 100)
      tokens(each, m)
      each.op('add', { x: x.at, x_stride: x.stride, y: y.at, y_stride: y.stride, n, scale: 1 })
    })
    expect(difference).toBeUndefined()
    expect(machine.floats(y!, m - 1).every((value) => value > -0.5 && value < 100.5)).toBe(true)
  })
})

describe('the exponential', () => {
  test('is within 1.2e-7 of the true value from -87 to 88, identically in both builds and in its scalar form', () => {
    const inputs = Float32Array.from({ length: 200_000 }, (_, i) => -87 + (i / 200_000) * 175)
    const relaxed = evaluate(plainMachine('relaxed'), 'exponential', inputs)
    const simd128 = evaluate(plainMachine('simd128'), 'exponential', inputs)
    expect(relaxed.vector).toEqual(simd128.vector)
    expect(relaxed.vector).toEqual(relaxed.scalar)
    let worst = 0
    for (const [i, x] of inputs.entries())
      worst = Math.max(worst, Math.abs(relaxed.vector[i]! / Math.exp(x) - 1))
    expect(worst).toBeLessThan(1.2e-7)
  })

  test('clamps results outside f32 and keeps NaN', () => {
    const { vector } = evaluate(
      plainMachine('relaxed'),
      'exponential',
      Float32Array.of(-1000, 1000, -Infinity, Number.NaN),
    )
    expect(vector[0]! / Math.exp(-87)).toBeCloseTo(1, 5)
    expect(vector[1]! / Math.exp(88)).toBeCloseTo(1, 5)
    expect(vector[2]).toBe(vector[0])
    expect(vector[3]).toBeNaN()
  })
})

describe('check_parts', () => {
  test('writes the checksums of its definition after the parts, and touches nothing else', () => {
    const lay = (machine: Machine) => {
      const random = randomFrom(3)
      const parts = [64, 640, 8256].map((bytes) => {
        const at = machine.allocate(bytes)
        for (let word = 0; word < bytes / 4; word++) machine.u32[at / 4 + word] = random() * 2 ** 32
        return [at, bytes, 0, 0, 0, 0]
      })
      tokens(machine, 1)
      machine.op('check_parts', { parts: machine.words(parts.flat()), count: parts.length, touch: 0 })
    }
    expect(compare(lay).difference).toBeUndefined()
  })
})
