// Gated linears. In: quantised encodings, shapes at the edges. Out: the bits of a linear and a swiglu, from
// both builds.

import { describe, expect, test } from 'vitest'
import { ROWS } from '../../src/core/abi/constants.ts'
import { type Encoding, roundUp } from '../../src/core/abi/encodings.ts'
import type { OpName } from '../../src/core/abi/ops.ts'
import { randomFrom } from '../../test/helpers/random.ts'
import { BUILDS, compare, type Machine, plainMachine, type Rows } from '../testing/machine.ts'
import { fillMatrix } from '../testing/weights.ts'

const OPS: readonly (readonly [OpName, OpName, Encoding])[] = [
  ['linear_swiglu_w8a8_g32', 'linear_w8a8_g32', 'w8_g32'],
  ['linear_swiglu_w4a8_g32', 'linear_w4a8_g32', 'w4_g32'],
  ['linear_swiglu_w4ma8_g32', 'linear_w4ma8_g32', 'w4m_g32'],
]

interface Case {
  /** Gated values of a row. */
  readonly n: number
  readonly k: number
  readonly m: number
  readonly bias?: boolean
  readonly logitRows?: readonly number[]
}

/** Padding rows of the matrix are zeros, as the loader writes them. */
function layWeights(machine: Machine, encoding: Encoding, { n, k }: Case): number {
  const wide = roundUp(n, 32)
  return machine.matrix(encoding, 2 * wide, k, (bytes) => {
    fillMatrix(encoding, 3)(bytes)
    const panelBytes = (bytes.length / 2 / wide) * 8
    const groupBytes = panelBytes / (roundUp(k, 32) / 32)
    const scaleBytes = encoding === 'w4m_g32' ? 32 : 16
    for (let row = 0; row < 2 * wide; row++) {
      if (row % wide < n) continue
      const half = (row % 4) * 4 + (Math.floor(row / 4) % 2) * 2
      const panel = Math.floor(row / 8) * panelBytes
      for (let at = panel; at < panel + panelBytes; at += groupBytes) {
        for (let part = 0; part < scaleBytes; part += 16)
          bytes.fill(0, at + part + half, at + part + half + 2)
      }
    }
  })
}

/** The inputs of both scenes. Input row m is the same for any number of rows. */
function layInputs(machine: Machine, encoding: Encoding, c: Case) {
  const wide = roundUp(c.n, 32)
  const randoms = Array.from({ length: c.m }, (_, row) => randomFrom(1000 + row))
  const x = machine.a8Rows(
    c.m,
    c.k,
    (row) => Math.floor(randoms[row]!() * 255) - 127,
    (row, group) => ((row + group) % 5 === 4 ? 0 : 0.0004 + randoms[row]!() / 2000),
  )
  const draw = randomFrom(7)
  const bias = c.bias ? machine.rows(1, 2 * wide, (_, lane) => (lane % wide < c.n ? draw() - 0.5 : 0)).at : 0
  const w = layWeights(machine, encoding, c)
  machine.setStep({ sequences: [{ position: 0, rows: c.m }], logitRows: c.logitRows ?? [] })
  const rows = c.logitRows === undefined ? ROWS.tokens : ROWS.logits
  return { rows, w, bias, k: c.k, x: x.at, x_stride: x.stride }
}

function fused(machine: Machine, name: OpName, encoding: Encoding, c: Case): Rows {
  const inputs = layInputs(machine, encoding, c)
  const q = machine.a8Rows(c.m, c.n)
  machine.op(name, { ...inputs, n: c.n, q: q.at, q_stride: q.stride })
  return q
}

function separate(machine: Machine, name: OpName, encoding: Encoding, c: Case): Rows {
  const inputs = layInputs(machine, encoding, c)
  const { rows } = inputs
  const q = machine.a8Rows(c.m, c.n)
  const wide = roundUp(c.n, 32)
  const y = machine.rows(c.m, 2 * wide)
  machine.op(name, { ...inputs, n: 2 * wide, y: y.at, y_stride: y.stride })
  const gates = { gate: y.at, gate_stride: y.stride, up: y.at + 4 * wide, up_stride: y.stride }
  machine.op('swiglu', { rows, ...gates, n: c.n, q: q.at, q_stride: q.stride })
  return q
}

describe.each(OPS)('%s', (name, linear, encoding) => {
  test.each<Case>([
    { n: 8, k: 32, m: 1 },
    { n: 40, k: 64, m: 2, bias: true },
    { n: 96, k: 172, m: 5, bias: true },
    { n: 300, k: 96, m: 33 },
    { n: 1120, k: 64, m: 1 },
    { n: 1120, k: 64, m: 3, bias: true },
    { n: 128, k: 32, m: 70 },
    { n: 172, k: 64, m: 3, logitRows: [2, 0] },
  ])('matches a linear plus a swiglu bit for bit for $n outputs, $k inputs, $m rows', (c) => {
    let q: Rows | undefined
    const { machine, difference } = compare((each) => {
      q = fused(each, name, encoding, c)
    })
    expect(difference).toBeUndefined()
    for (const build of BUILDS) {
      const one = plainMachine(build)
      const two = plainMachine(build)
      const found = fused(one, name, encoding, c)
      const expected = separate(two, linear, encoding, c)
      one.run()
      two.run()
      const rows = c.logitRows?.length ?? c.m
      for (let m = 0; m < rows; m++) {
        expect(one.rowBytes(found, m, 'a8')).toEqual(two.rowBytes(expected, m, 'a8'))
      }
      const values = one.dequantized(found, 0)
      expect(values.every(Number.isFinite) && values.some((value) => value !== 0)).toBe(true)
    }
    // Padding codes are zeros.
    const padding = machine.rowBytes(q!, 0, 'a8').subarray(c.n, roundUp(c.n, 32))
    expect(padding.every((code) => code === 0)).toBe(true)
  })

  test('gives a row the same bits whatever other rows are in the step', () => {
    const run = (m: number) => {
      const machine = plainMachine('relaxed')
      const q = fused(machine, name, encoding, { n: 1120, k: 64, m })
      machine.run()
      return Array.from({ length: m }, (_, row) => machine.rowBytes(q, row, 'a8'))
    }
    const all = run(40)
    for (const m of [1, 2, 3, 4, 7, 17, 32, 33]) expect(run(m)).toEqual(all.slice(0, m))
  })
})
