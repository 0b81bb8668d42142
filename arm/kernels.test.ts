// Kernels on arm64. In: each encoding of a matrix, drawn and at its extremes; each format of keys and values. Out: both
// builds give the definition's bits.
//
// The definition is scalar WebAssembly, whose bits no machine may change: agreeing with it here and on x64, where the
// kernels' own tests run, is agreeing with each other. Relaxed SIMD is what could differ.
import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { ACTIVATION, type OpName } from '../src/graph/op-codes.ts'
import { type Encoding, isQuantized } from '../src/weights/encoding.ts'
import { layState, layStep } from '../wasm/test/attention.ts'
import { FORMATS, fillBlock } from '../wasm/test/kv.ts'
import { compare, type Machine, type Rows, randomFrom } from '../wasm/test/machine.ts'
import { fillMatrix } from '../wasm/test/weights.ts'

const OPS: readonly (readonly [OpName, Encoding])[] = [
  ['linear_f32', 'f32'],
  ['linear_f16', 'f16'],
  ['linear_bf16', 'bf16'],
  ['linear_w8a8_g32', 'w8_g32'],
  ['linear_w4a8_g32', 'w4_g32'],
  ['linear_w4ma8_g32', 'w4m_g32'],
]
const [N, K] = [72, 160]

function layProduct(
  machine: Machine,
  name: OpName,
  encoding: Encoding,
  rows: number,
  extreme: boolean,
): void {
  const draw = randomFrom(11)
  const x = isQuantized(encoding)
    ? machine.a8Rows(
        rows,
        K,
        () => (extreme ? -128 : Math.floor(draw() * 256) - 128),
        () => draw() / 50,
      )
    : machine.rows(rows, K, () => draw() * 4 - 2)
  const bias = machine.rows(1, N, () => draw() - 0.5)
  const y = machine.rows(rows, N)
  const w = machine.matrix(encoding, N, K, fillMatrix(encoding, 3, extreme))
  machine.setStep({ sequences: [{ position: 0, rows }] })
  const fields = { w, bias: bias.at, n: N, k: K, x: x.at, x_stride: x.stride, y: y.at, y_stride: y.stride }
  machine.op(name, fields)
}

for (const [name, encoding] of OPS) {
  for (const rows of [1, 5]) {
    for (const extreme of [false, true]) {
      test(`${name} is its definition to the bit for ${rows} rows${extreme ? ' of extreme codes' : ''}`, () => {
        const { difference } = compare((machine) => layProduct(machine, name, encoding, rows, extreme))
        assert.equal(difference, undefined)
      })
    }
  }
}

const N_ROW = 100
const ROW_OPS: Readonly<Record<string, (machine: Machine, x: Rows, other: Rows) => void>> = {
  layernorm: (machine, x, other) =>
    machine.op('layernorm', {
      ...{ x: x.at, x_stride: x.stride, weight: other.at, bias: other.at, n: N_ROW, eps: 1e-5 },
      ...{ y: x.at, y_stride: x.stride },
    }),
  rescale: (machine, x) =>
    machine.op('rescale', { y: x.at, y_stride: x.stride, n: N_ROW, scale: 0.5, cap: 3 }),
  'a gate by gelu': (machine, x, other) =>
    machine.op('swiglu', {
      ...{ gate: x.at, gate_stride: x.stride, up: other.at, up_stride: 0, n: N_ROW },
      ...{ y: x.at, y_stride: x.stride, activation: ACTIVATION.gelu },
    }),
}
for (const [name, lay] of Object.entries(ROW_OPS)) {
  test(`${name} is its definition to the bit`, () => {
    const { difference } = compare((machine) => {
      const draw = randomFrom(5)
      const x = machine.rows(3, N_ROW, () => draw() * 8 - 4)
      const other = machine.rows(1, N_ROW, () => draw() + 0.5)
      machine.setStep({ sequences: [{ position: 0, rows: 3 }] })
      lay(machine, x, other)
    })
    assert.equal(difference, undefined)
  })
}

for (const format of FORMATS) {
  for (const [position, rows] of [
    [0, 5],
    [300, 1],
    [60, 9],
  ] as const) {
    test(`attention to K ${format.k}, V ${format.v} is its definition to the bit, ${position} positions before ${rows} rows`, () => {
      const shape = { heads: 7, kvHeads: 1, dim: 64, format, quantized: true, norms: 'head', cap: 4 } as const
      const { difference } = compare((machine) => {
        const state = layState(machine, shape, position + rows)
        for (const [index, block] of state.table.entries()) {
          const at = { k: block + state.kOffset, v: block + state.vOffset }
          fillBlock(machine, { kvHeads: 1, dim: 64, format }, at, index)
        }
        layStep(machine, shape, [{ position, rows }], [state])
      })
      assert.equal(difference, undefined)
    })
  }
}
