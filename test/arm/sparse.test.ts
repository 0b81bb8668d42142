// Sparse kernels on arm64. Out: whether every form is bit-identical to the definition, as in kernels.test.ts.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import type { PackedEncoding, SparseEncoding } from '../../src/core/abi/encodings.ts'
import { ENCODINGS, isSparse, matrixBytes, sparseParts } from '../../src/core/abi/encodings.ts'
import { sparseSlot } from '../../src/core/weights/sparse/pack.ts'
import { dropWeights, keeper } from '../../src/core/weights/sparse/testing/matrices.ts'
import { compareAll, type Machine } from '../../wasm/testing/machine.ts'
import { fillMatrix } from '../../wasm/testing/weights.ts'
import { randomFrom } from '../helpers/random.ts'

const TESTED = (Object.keys(ENCODINGS) as PackedEncoding[]).filter(isSparse)
const N = 96
const K = 160

function layProduct(machine: Machine, encoding: SparseEncoding, rows: number, extreme: boolean): void {
  const { base, format } = sparseParts(encoding)
  const panels = new Uint8Array(matrixBytes(base, N, K))
  fillMatrix(base, 3, extreme)(panels)
  dropWeights(base, panels, K, keeper(format, 0.4, randomFrom(17)))
  const slot = sparseSlot(base, format, panels, K)
  const draw = randomFrom(11)
  const code = () => (extreme ? -128 : Math.floor(draw() * 256) - 128)
  const x = machine.a8Rows(rows, K, code, () => draw() / 50)
  const y = machine.rows(rows, N)
  const w = machine.allocate(slot.length)
  machine.u8.set(slot, w)
  machine.setStep({ sequences: [{ position: 0, rows }] })
  machine.op('linear_sparse', {
    w,
    bias: 0,
    n: N,
    k: K,
    x: x.at,
    x_stride: x.stride,
    y: y.at,
    y_stride: y.stride,
    encoding: ENCODINGS[encoding].code,
  })
}

for (const encoding of TESTED) {
  test(`${encoding} matches its definition bit for bit`, () => {
    const scenes = [1, 5].flatMap((rows) =>
      [false, true].map((extreme) => [
        `${rows} rows${extreme ? ' of extreme codes' : ''}`,
        (machine: Machine) => layProduct(machine, encoding, rows, extreme),
      ]),
    )
    assert.deepEqual(compareAll(Object.fromEntries(scenes)), [])
  })
}
