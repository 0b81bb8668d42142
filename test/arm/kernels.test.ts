// Kernels on arm64. In: each matrix encoding, random and at its extremes, and each format of keys and values.
// Out: whether every form in both builds is bit-identical to the definition, and the relaxed build uses the
// form for 32 registers.
//
// The definition is scalar WebAssembly, which gives the same bits on every machine. Builds that agree with it
// here and on x64, where the kernels' own tests run, therefore agree with each other. Only relaxed SIMD could
// differ.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { ACTIVATION, ROWS } from '../../src/core/abi/constants.ts'
import {
  ENCODINGS,
  type Encoding,
  isQuantized,
  matrixBytes,
  readsWholeRows,
} from '../../src/core/abi/encodings.ts'
import type { OpName } from '../../src/core/abi/ops.ts'
import { layState, layStep } from '../../wasm/testing/attention.ts'
import { FORMATS, fillBlock } from '../../wasm/testing/kv.ts'
import {
  BUILDS,
  compareAll,
  DOT_FORM,
  type Machine,
  plainMachine,
  type Rows,
} from '../../wasm/testing/machine.ts'
import { layRoute } from '../../wasm/testing/routes.ts'
import { fillMatrix } from '../../wasm/testing/weights.ts'
import { randomFrom } from '../helpers/random.ts'

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
const GATED: readonly (readonly [OpName, Encoding])[] = [
  ['linear_swiglu_w8a8_g32', 'w8_g32'],
  ['linear_swiglu_w4a8_g32', 'w4_g32'],
  ['linear_swiglu_w4ma8_g32', 'w4m_g32'],
]
const N = 72
const K = 160

function layProduct(
  machine: Machine,
  name: OpName,
  encoding: Encoding,
  rows: number,
  extreme: number | undefined,
  k = K,
): void {
  const draw = randomFrom(11)
  const isWhole = readsWholeRows(encoding)
  const x = isQuantized(encoding)
    ? machine.a8Rows(
        rows,
        k,
        () => extreme ?? Math.floor(draw() * 255) - 127,
        (row) => (isWhole ? 0.01 + row / 50 : draw() / 50),
      )
    : machine.rows(rows, k, () => draw() * 4 - 2)
  const bias = machine.rows(1, N, () => draw() - 0.5)
  const y = machine.rows(rows, N)
  const w = machine.matrix(encoding, N, k, fillMatrix(encoding, 3, extreme !== undefined))
  machine.setStep({ sequences: [{ position: 0, rows }] })
  const fields = { w, bias: bias.at, n: N, k, x: x.at, x_stride: x.stride, y: y.at, y_stride: y.stride }
  machine.op(name, fields)
}

test('on Arm, the relaxed build uses the form for 32 registers and simd128 uses products', () => {
  const taken = { relaxed: 'relaxed wide', simd128: 'simd128 products' } as const
  for (const build of ['relaxed', 'simd128'] as const) {
    if (!BUILDS.includes(build)) continue
    const form = DOT_FORM[process.arch === 'arm64' ? taken[build] : build]
    const machine = plainMachine(build)
    layProduct(machine, 'linear_w4a8_g32', 'w4_g32', 1, undefined)
    machine.exports.choose_dots(-1) // the form with which a module starts
    assert.equal(machine.exports.dots_in_use(), -1)
    machine.run()
    assert.equal(machine.exports.dots_in_use(), form)
  }
})

/**
 * A kernel's cases: every row tile, many rows, odd counts and chunks, with random codes or with all codes
 * `extreme`.
 */
const ofRows = (name: OpName, encoding: Encoding, rows: readonly number[], extreme?: number) =>
  Object.fromEntries(
    rows.map((count) => [
      `${count} rows${extreme === undefined ? '' : ` of codes ${extreme}`}`,
      (machine: Machine) => layProduct(machine, name, encoding, count, extreme),
    ]),
  )

for (const [name, encoding] of OPS) {
  test(`${name} matches its definition bit for bit`, () => {
    const rows = [1, 2, 3, 4, 5, 19, 34]
    const scenes = {
      ...ofRows(name, encoding, rows),
      ...ofRows(name, encoding, rows, -128),
      // Sums of more groups than are processed at once, including a partial batch.
      '3 rows of 1088 inputs': (machine: Machine) => layProduct(machine, name, encoding, 3, undefined, 1088),
      '17 rows of 288 inputs': (machine: Machine) => layProduct(machine, name, encoding, 17, undefined, 288),
    }
    assert.deepEqual(compareAll(scenes), [])
  })
}

for (const [name, encoding] of GATED) {
  test(`${name} matches its definition bit for bit`, () => {
    const scenes = [1, 2, 3, 18].map((rows) => [
      `${rows} rows`,
      (machine: Machine) => {
        const draw = randomFrom(11)
        const x = machine.a8Rows(
          rows,
          K,
          () => Math.floor(draw() * 255) - 127,
          () => draw() / 2000,
        )
        const q = machine.a8Rows(rows, 96)
        const w = machine.matrix(encoding, 192, K, fillMatrix(encoding, 3))
        machine.setStep({ sequences: [{ position: 0, rows }] })
        machine.op(name, { w, n: 96, k: K, x: x.at, x_stride: x.stride, q: q.at, q_stride: q.stride })
      },
    ])
    assert.deepEqual(compareAll(Object.fromEntries(scenes)), [])
  })
}

for (const [name, encoding] of OPS.filter(([, each]) => isQuantized(each))) {
  test(`linear_experts gives the rows of ${name} in every form`, () => {
    const STARTS = [0, 3, 3, 20]
    const images = BUILDS.map((build) => {
      const machine = plainMachine(build)
      const draw = randomFrom(11)
      const x = machine.a8Rows(
        20,
        K,
        () => Math.floor(draw() * 255) - 127,
        (row) => 0.01 + row / 50,
      )
      const bytes = matrixBytes(encoding, N, K)
      const w = machine.allocate(3 * bytes)
      for (const e of [0, 1, 2])
        fillMatrix(encoding, e + 1)(machine.u8.subarray(w + e * bytes, w + (e + 1) * bytes), K)
      const route = layRoute(machine, STARTS)
      const all = machine.rows(20, N)
      const each = machine.rows(20, N)
      machine.setStep({ sequences: [{ position: 0, rows: 20 }] })
      const shape = { n: N, k: K, x_stride: x.stride }
      machine.op('linear_experts', {
        ...shape,
        rows: ROWS.routed + 1,
        w,
        x: x.at,
        y: all.at,
        y_stride: all.stride,
        route,
        experts: 3,
        encoding: ENCODINGS[encoding].code,
        expert_bytes: bytes,
      })
      // For comparison: the linear of the first expert, to which the first three rows are routed.
      machine.op(name, { ...shape, w, x: x.at, y: each.at, y_stride: each.stride })
      machine.run()
      for (const row of [0, 1, 2]) assert.deepEqual(machine.floats(all, row), machine.floats(each, row))
      return machine.image()
    })
    for (const image of images) assert.equal(Buffer.compare(image, images[0]!), 0)
  })
}

const N_ROW = 100
const ROW_OPS: Readonly<Record<string, (machine: Machine, x: Rows, other: Rows) => void>> = {
  layernorm: (machine, x, other) =>
    machine.op('layernorm', {
      x: x.at,
      x_stride: x.stride,
      weight: other.at,
      bias: other.at,
      n: N_ROW,
      eps: 1e-5,
      y: x.at,
      y_stride: x.stride,
    }),
  rescale: (machine, x) =>
    machine.op('rescale', { y: x.at, y_stride: x.stride, n: N_ROW, scale: 0.5, cap: 3 }),
  clamp: (machine, x) =>
    machine.op('clamp', {
      x: x.at,
      x_stride: x.stride,
      y: x.at,
      y_stride: x.stride,
      n: N_ROW,
      least: -1,
      most: 0.5,
    }),
  'a gate by gelu': (machine, x, other) =>
    machine.op('swiglu', {
      gate: x.at,
      gate_stride: x.stride,
      up: other.at,
      up_stride: 0,
      n: N_ROW,
      y: x.at,
      y_stride: x.stride,
      activation: ACTIVATION.gelu,
    }),
}
test(`${Object.keys(ROW_OPS).join(', ')} match their definitions bit for bit`, () => {
  const scenes = Object.entries(ROW_OPS).map(([name, lay]) => [
    name,
    (machine: Machine) => {
      const draw = randomFrom(5)
      const x = machine.rows(3, N_ROW, () => draw() * 8 - 4)
      const other = machine.rows(1, N_ROW, () => draw() + 0.5)
      machine.setStep({ sequences: [{ position: 0, rows: 3 }] })
      lay(machine, x, other)
    },
  ])
  assert.deepEqual(compareAll(Object.fromEntries(scenes)), [])
})

for (const format of FORMATS) {
  test(`attention over K ${format.k}, V ${format.v} matches its definition bit for bit`, () => {
    const scenes = (
      [
        [0, 5],
        [300, 1],
        [60, 9],
      ] as const
    ).map(([position, rows]) => [
      `${position} positions before ${rows} rows`,
      (machine: Machine) => {
        const shape = {
          heads: 7,
          kvHeads: 1,
          dim: 64,
          format,
          quantized: true,
          norms: 0,
          cap: 4,
        } as const
        const state = layState(machine, shape, position + rows)
        for (const [index, block] of state.table.entries()) {
          const at = { k: block + state.kOffset, v: block + state.vOffset }
          fillBlock(machine, { kvHeads: 1, dim: 64, format }, at, index)
        }
        layStep(machine, shape, [{ position, rows }], [state])
      },
    ])
    assert.deepEqual(compareAll(Object.fromEntries(scenes)), [])
  })
}
