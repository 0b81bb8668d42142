// Sparse kernels. In: every sparse encoding, masks of all kinds. Out: the definition's bits, and those of the
// dense kernel.

import { describe, expect, test } from 'vitest'
import { ROWS } from '../../src/core/abi/constants.ts'
import type { PackedEncoding, SparseBase, SparseEncoding } from '../../src/core/abi/encodings.ts'
import { ENCODINGS, isSparse, matrixBytes, sparseParts } from '../../src/core/abi/encodings.ts'
import { sparseSlot } from '../../src/core/weights/sparse/pack.ts'
import { dropWeights, keeper } from '../../src/core/weights/sparse/testing/matrices.ts'
import { randomFrom } from '../../test/helpers/random.ts'
import { BUILDS, compare, type Machine, plainMachine, type Rows } from '../testing/machine.ts'
import { fillMatrix } from '../testing/weights.ts'

const TESTED = (Object.keys(ENCODINGS) as PackedEncoding[]).filter(isSparse)

interface Case {
  readonly n: number
  readonly k: number
  readonly m: number
  /** Share of kept units. */
  readonly kept: number
  readonly bias?: boolean
  readonly accumulate?: boolean
  readonly extreme?: boolean
}

function densePanels(encoding: SparseEncoding, { n, k, kept, extreme }: Case): Uint8Array {
  const { base, format } = sparseParts(encoding)
  const panels = new Uint8Array(matrixBytes(base, n, k))
  fillMatrix(base, 3, extreme)(panels)
  dropWeights(base, panels, k, keeper(format, kept, randomFrom(17)))
  return panels
}

function layInput(machine: Machine, { k, m, extreme }: Case): Rows {
  const randoms = Array.from({ length: m }, (_, row) => randomFrom(1000 + row))
  const code = (row: number) => (extreme ? -128 : Math.floor(randoms[row]!() * 255) - 127)
  return machine.a8Rows(m, k, code, (row, group) =>
    (row + group) % 5 === 4 ? 0 : 0.01 + randoms[row]!() / 50,
  )
}

function lay(machine: Machine, bytes: Uint8Array): number {
  const at = machine.allocate(bytes.length)
  machine.u8.set(bytes, at)
  return at
}

function scene(
  encoding: SparseEncoding | SparseBase,
  c: Case,
  panels: Uint8Array,
): (machine: Machine) => Rows {
  return (machine) => {
    const { n, k, m } = c
    const x = layInput(machine, c)
    const draw = randomFrom(7)
    const bias = c.bias ? machine.rows(1, n, () => draw() - 0.5).at : 0
    const y = machine.rows(m, n, c.accumulate ? (row, lane) => ((row * 7 + lane) % 13) / 8 : undefined)
    const fields = {
      bias,
      n,
      k,
      x: x.at,
      x_stride: x.stride,
      y: y.at,
      y_stride: y.stride,
      accumulate: c.accumulate ? 1 : 0,
    }
    machine.setStep({ sequences: [{ position: 0, rows: m }] })
    if (encoding === 'w4_g32' || encoding === 'w8_g32') {
      const name = encoding === 'w4_g32' ? 'linear_w4a8_g32' : 'linear_w8a8_g32'
      machine.op(name, { ...fields, w: lay(machine, panels) })
    } else {
      const { base, format } = sparseParts(encoding)
      const w = lay(machine, sparseSlot(base, format, panels, k))
      machine.op('linear_sparse', { ...fields, w, encoding: ENCODINGS[encoding].code })
    }
    return y
  }
}

function rowsOf(build: (typeof BUILDS)[number], lays: (machine: Machine) => Rows): Uint8Array[] {
  const machine = plainMachine(build)
  const y = lays(machine)
  machine.run()
  return Array.from({ length: y.count }, (_, row) => machine.rowBytes(y, row, 'f32'))
}

describe.each(TESTED)('linear_sparse of %s', (encoding) => {
  test.each<Case>([
    { n: 8, k: 32, m: 1, kept: 0.5 },
    { n: 40, k: 64, m: 2, kept: 0.3, bias: true },
    { n: 96, k: 172, m: 5, kept: 0.5, bias: true, accumulate: true },
    { n: 40, k: 896, m: 4, kept: 0.7 },
    { n: 64, k: 1100, m: 3, kept: 0.5, accumulate: true },
    { n: 32, k: 96, m: 130, kept: 0.5 },
    { n: 64, k: 256, m: 6, kept: 0 },
    { n: 64, k: 256, m: 6, kept: 1 },
    { n: 64, k: 96, m: 6, kept: 0.8, extreme: true },
  ])('matches its definition and the dense kernel bit for bit: $n x $k, $m rows, $kept kept', (c) => {
    const panels = densePanels(encoding, c)
    const { difference } = compare(scene(encoding, c, panels))
    expect(difference).toBeUndefined()
    for (const build of BUILDS) {
      expect(rowsOf(build, scene(encoding, c, panels))).toEqual(
        rowsOf(build, scene(sparseParts(encoding).base, c, panels)),
      )
    }
  })

  test('gives a row the same bits whatever other rows are in the step', () => {
    for (const build of BUILDS) {
      const run = (m: number) => {
        const c = { n: 72, k: 160, m, kept: 0.5, bias: true }
        return rowsOf(build, scene(encoding, c, densePanels(encoding, c)))
      }
      const all = run(33)
      for (let m = 1; m <= 9; m++) expect(run(m)).toEqual(all.slice(0, m))
    }
  })

  test('computes exactly the rows whose logits are needed', () => {
    const { difference } = compare((machine) => {
      const c = { n: 40, k: 64, m: 5, kept: 0.5 }
      const x = layInput(machine, c)
      const y = machine.rows(5, c.n)
      const { base, format } = sparseParts(encoding)
      const w = lay(machine, sparseSlot(base, format, densePanels(encoding, c), c.k))
      machine.setStep({ sequences: [{ position: 0, rows: 5 }], logitRows: [4, 1] })
      machine.op('linear_sparse', {
        rows: ROWS.logits,
        w,
        n: c.n,
        k: c.k,
        encoding: ENCODINGS[encoding].code,
        x: x.at,
        x_stride: x.stride,
        y: y.at,
        y_stride: y.stride,
      })
    })
    expect(difference).toBeUndefined()
  })

  test.each([
    { n: 32, k: 64, m: 1 },
    { n: 200, k: 160, m: 3 },
    { n: 1100, k: 64, m: 1 },
    { n: 96, k: 96, m: 70 },
  ])('linear_swiglu_sparse equals linear_swiglu with the dense weights: $n x $k, $m rows', ({ n, k, m }) => {
    const { base, format } = sparseParts(encoding)
    const wide = Math.ceil(n / 32) * 32
    const c = { n: 2 * wide, k, m, kept: 0.5 }
    const panels = densePanels(encoding, c)
    const run = (build: (typeof BUILDS)[number], isSparse: boolean) => {
      const machine = plainMachine(build)
      const x = layInput(machine, c)
      const bias = machine.rows(1, 2 * wide, (_, lane) => (lane % 9) / 8 - 0.5).at
      const q = machine.a8Rows(m, n)
      machine.setStep({ sequences: [{ position: 0, rows: m }] })
      const fields = { bias, n, k, x: x.at, x_stride: x.stride, q: q.at, q_stride: q.stride }
      if (isSparse) {
        const w = lay(machine, sparseSlot(base, format, panels, k))
        machine.op('linear_swiglu_sparse', { ...fields, w, encoding: ENCODINGS[encoding].code })
      } else {
        const name = base === 'w4_g32' ? 'linear_swiglu_w4a8_g32' : 'linear_swiglu_w8a8_g32'
        machine.op(name, { ...fields, w: lay(machine, panels) })
      }
      machine.run()
      return Array.from({ length: m }, (_, row) => machine.rowBytes(q, row, 'a8'))
    }
    const expected = run('relaxed', false)
    for (const build of BUILDS) expect(run(build, true)).toEqual(expected)
  })
})
