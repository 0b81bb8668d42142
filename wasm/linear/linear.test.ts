// Linear kernels. In: every encoding, shapes at the edges. Out: the definition's bits from both builds, and
// the true product.

import { describe, expect, test } from 'vitest'
import { ROWS } from '../../src/core/abi/constants.ts'
import {
  type Encoding,
  isQuantized,
  matrixBytes,
  readsWholeRows,
  roundUp,
} from '../../src/core/abi/encodings.ts'
import type { OpName } from '../../src/core/abi/ops.ts'
import { packedMatrix } from '../../src/core/weights/testing/reference.ts'
import { randomFrom } from '../../test/helpers/random.ts'
import { BUILDS, compare, type Machine, plainMachine, type Rows } from '../testing/machine.ts'
import { fillMatrix } from '../testing/weights.ts'

const OPS: readonly (readonly [OpName, Encoding])[] = [
  ['linear_f32', 'f32'],
  ['linear_f16', 'f16'],
  ['linear_bf16', 'bf16'],
  ['linear_w8a8_g32', 'w8_g32'],
  ['linear_w4a8_g32', 'w4_g32'],
  ['linear_w4ma8_g32', 'w4m_g32'],
  ['linear_w4a8_channel', 'w4_channel'],
  ['linear_w2a8_g256', 'w2_g256'],
]

interface Case {
  readonly n: number
  readonly k: number
  readonly m: number
  readonly extreme?: boolean
  readonly bias?: boolean
  readonly accumulate?: boolean
}

/** Input row m is the same in every scene, for any number of rows. */
function layInput(machine: Machine, encoding: Encoding, { k, m, extreme = false }: Case): Rows {
  const randoms = Array.from({ length: m }, (_, row) => randomFrom(1000 + row))
  const draw = (row: number) => randoms[row]!()
  if (!isQuantized(encoding)) return machine.rows(m, k, (row) => draw(row) * 4 - 2)
  const code = (row: number) => (extreme ? -128 : Math.floor(draw(row) * 255) - 127)
  // Whole rows have one scale.
  if (readsWholeRows(encoding))
    return machine.a8Rows(m, k, code, (row) => (row % 5 === 4 ? 0 : 0.01 + row / 500))
  return machine.a8Rows(m, k, code, (row, group) => ((row + group) % 5 === 4 ? 0 : 0.01 + draw(row) / 50))
}

function scene(name: OpName, encoding: Encoding, c: Case): (machine: Machine) => Rows {
  return (machine) => {
    const { n, k, m } = c
    const x = layInput(machine, encoding, c)
    const draw = randomFrom(7)
    const bias = c.bias ? machine.rows(1, n, () => draw() - 0.5).at : 0
    const y = machine.rows(m, n, c.accumulate ? (row, lane) => ((row * 7 + lane) % 13) / 8 : undefined)
    const w = machine.matrix(encoding, n, k, fillMatrix(encoding, 3, c.extreme))
    machine.setStep({ sequences: [{ position: 0, rows: m }] })
    machine.op(name, {
      w,
      bias,
      n,
      k,
      x: x.at,
      x_stride: x.stride,
      y: y.at,
      y_stride: y.stride,
      accumulate: c.accumulate ? 1 : 0,
    })
    return y
  }
}

describe.each(OPS)('%s', (name, encoding) => {
  test.each<Case>([
    { n: 8, k: 32, m: 1 },
    { n: 40, k: 64, m: 2, bias: true },
    { n: 512, k: 64, m: 3, accumulate: true },
    { n: 96, k: 172, m: 5, bias: true, accumulate: true },
    { n: 40, k: 896, m: 4 },
    { n: 288, k: 64, m: 9, bias: true },
    { n: 288, k: 172, m: 19, bias: true, accumulate: true },
    { n: 32, k: 96, m: 130 },
    { n: 96, k: 1056, m: 35, bias: true },
    { n: 160, k: 2080, m: 39, accumulate: true },
    { n: 64, k: 96, m: 6, extreme: true },
    { n: 32, k: 4864, m: 17, extreme: true },
  ])('matches its definition bit for bit for $n outputs, $k inputs, $m rows', (c) => {
    let y: Rows | undefined
    const { machine, difference } = compare((each) => {
      y = scene(name, encoding, c)(each)
    })
    expect(difference).toBeUndefined()
    expect(machine.floats(y!, c.m - 1).every(Number.isFinite)).toBe(true)
  })

  test('gives a row the same bits whatever other rows are in the step', () => {
    for (const build of BUILDS) {
      const run = (m: number) => {
        const machine = plainMachine(build)
        const y = scene(name, encoding, { n: 72, k: 160, m, bias: true })(machine)
        machine.run()
        return Array.from({ length: m }, (_, row) => machine.rowBytes(y, row, 'f32'))
      }
      const all = run(36)
      for (const m of [1, 2, 3, 4, 5, 7, 9, 15, 16, 17, 18, 19, 32, 33, 35])
        expect(run(m)).toEqual(all.slice(0, m))
    }
  })

  test('is the product of the weights and the activations', () => {
    const n = 40
    const k = 172
    const m = 3
    const machine = plainMachine('relaxed')
    const y = scene(name, encoding, { n, k, m })(machine)
    const x = layInput(machine, encoding, { n, k, m })
    machine.run()
    const bytes = new Uint8Array(matrixBytes(encoding, n, k))
    fillMatrix(encoding, 3)(bytes, k)
    const w = packedMatrix(encoding, bytes, roundUp(n, 32), k)
    for (let row = 0; row < m; row++) {
      const found = machine.floats(y, row)
      const input = isQuantized(encoding) ? machine.dequantized(x, row) : machine.floats(x, row)
      for (let i = 0; i < n; i++) {
        let sum = 0
        let magnitude = 0
        for (let j = 0; j < k; j++) {
          sum += w[i * k + j]! * input[j]!
          magnitude += Math.abs(w[i * k + j]! * input[j]!)
        }
        // A chain of k roundings, each at most half a unit of 2^-24 of the magnitude so far.
        expect(Math.abs(found[i]! - sum)).toBeLessThanOrEqual(magnitude * k * 2 ** -23 + 1e-30)
      }
    }
  })

  test('computes exactly the rows whose logits are needed', () => {
    const { difference } = compare((machine) => {
      const c = { n: 40, k: 64, m: 5 }
      const x = layInput(machine, encoding, c)
      const y = machine.rows(5, c.n)
      const w = machine.matrix(encoding, c.n, c.k, fillMatrix(encoding, 5))
      machine.setStep({ sequences: [{ position: 0, rows: 5 }], logitRows: [4, 1] })
      machine.op(name, {
        rows: ROWS.logits,
        w,
        n: c.n,
        k: c.k,
        x: x.at,
        x_stride: x.stride,
        y: y.at,
        y_stride: y.stride,
      })
    })
    expect(difference).toBeUndefined()
  })
})
