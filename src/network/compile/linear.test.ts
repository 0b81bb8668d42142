// Tests products by the engine's kernels. In: random rows and constant matrices in every form found in files.
// Out: whether each product is within its rounding error of the exact one.
import { describe, expect, test } from 'vitest'
import { Random } from '../../../test/helpers/random.ts'
import type { Build } from '../../core/runtime/features.ts'
import { unpackPanels } from '../../core/weights/unpack.ts'
import { engineModule } from '../../engine/browser-host.ts'
import type { Graph, Node } from '../onnx/ir/graph.ts'
import { type Tensor, tensorOf } from '../onnx/ir/tensor.ts'
import { CompiledGraph, programFor } from './compiled-graph.ts'
import type { WeightPolicy } from './lower/policy.ts'
import { printProgram } from './program/print.ts'
import { emitted } from './program/step.ts'
import { laidMatrix } from './run/matrices.ts'

type Constants = Readonly<Record<string, Tensor>>

interface Case {
  readonly nodes: readonly Node[]
  readonly constants: Constants
  /** The values that the kernel's matrix represents, [k, n], and the bias that is added to each row. */
  readonly weights: Float64Array
  readonly bias?: Float32Array
}

const node = (
  op: string,
  inputs: string[],
  outputs: string[],
  attributes: Record<string, number> = {},
  domain = '',
): Node => ({
  name: `${op} of ${outputs[0]}`,
  op,
  domain,
  version: domain === '' ? 21 : 1,
  inputs,
  outputs,
  attributes: new Map(Object.entries(attributes).map(([name, value]) => [name, { kind: 'int', value }])),
})

const floats = (random: Random, count: number, by = 1) =>
  Float32Array.from({ length: count }, () => by * random.signed())
/** The transpose of a matrix [rows, columns]. */
const transposed = (data: ArrayLike<number>, rows: number, columns: number) =>
  Float32Array.from(
    { length: rows * columns },
    (_, at) => data[(at % rows) * columns + Math.floor(at / rows)]!,
  )

/** An f32 matrix [k, n] after its weights are rounded, also [k, n]. */
function rounded(data: Float32Array, k: number, n: number, encoding: 'w8_g32' | 'w4_g32'): Float64Array {
  const view = { offset: 0, dims: [k, n], strides: [n, 1] }
  return Float64Array.from(transposed(unpackPanels(encoding, laidMatrix(data, view, encoding), k), n, k))
}

const CASES: Readonly<Record<string, (random: Random, k: number, n: number) => Case>> = {
  'w8 MatMul': (random, k, n) => {
    const data = floats(random, k * n)
    return {
      nodes: [node('MatMul', ['x', 'w'], ['y'])],
      constants: { w: tensorOf('f32', [k, n], data) },
      weights: rounded(data, k, n, 'w8_g32'),
    }
  },
  'w4 Gemm': (random, k, n) => {
    const data = floats(random, k * n)
    const bias = floats(random, n)
    return {
      nodes: [
        node('Flatten', ['x'], ['flat'], { axis: 2 }),
        node('Gemm', ['flat', 'w', 'c'], ['y'], { transB: 1 }),
      ],
      constants: { w: tensorOf('f32', [n, k], transposed(data, k, n)), c: tensorOf('f32', [n], bias) },
      weights: rounded(data, k, n, 'w4_g32'),
      bias,
    }
  },
  'auto DequantizeLinear': (random, k, n) => {
    const codes = Float64Array.from({ length: k * n }, () => random.below(255) - 127)
    const scales = floats(random, n, 0.02)
    return {
      nodes: [
        node('DequantizeLinear', ['w', 'scales'], ['floats'], { axis: 1 }),
        node('MatMul', ['x', 'floats'], ['y']),
      ],
      constants: { w: tensorOf('i8', [k, n], codes), scales: tensorOf('f32', [n], scales) },
      weights: codes.map((code, at) => code * scales[at % n]!),
    }
  },
  'auto MatMulNBits': (random, k, n) => {
    const blocks = k / 32
    const bytes = Uint8Array.from({ length: (n * k) / 2 }, () => random.below(256))
    const scales = floats(random, n * blocks, 0.1)
    const bias = floats(random, n)
    const attributes = { N: n, K: k, bits: 4, block_size: 32 }
    return {
      nodes: [node('MatMulNBits', ['x', 'w', 'scales', '', '', 'bias'], ['y'], attributes, 'com.microsoft')],
      constants: {
        w: tensorOf('u8', [n, blocks, 16], bytes),
        scales: tensorOf('f32', [n * blocks], scales),
        bias: tensorOf('f32', [n], bias),
      },
      weights: Float64Array.from({ length: k * n }, (_, at) => {
        const row = Math.floor(at / n)
        const column = at % n
        const code = (bytes[(column * k + row) >> 1]! >> (4 * (row % 2))) & 15
        return (code - 8) * scales[column * blocks + Math.floor(row / 32)]!
      }),
      bias,
    }
  },
}

const graphOf = ({ nodes, constants }: Case, k: number): Graph => ({
  name: 'product',
  inputs: [{ name: 'x', type: { dtype: 'f32', dims: ['batch', 'rows', k] } }],
  outputs: ['y'],
  constants: new Map(Object.entries(constants)),
  nodes,
})

/**
 * How much a product may differ: for each number of x, half a step of its group of 32, and for each weight,
 * the rounding of its scale to f16.
 */
function boundOf(
  x: Float32Array,
  { weights }: Case,
  { row, column, k, n }: Record<'row' | 'column' | 'k' | 'n', number>,
): number {
  let bound = 1e-6
  for (let first = 0; first < k; first += 32) {
    const numbers = x.subarray(row * k + first, row * k + first + 32)
    const step = Math.max(...numbers.map(Math.abs)) / 127
    for (const [i, value] of numbers.entries()) {
      const weight = Math.abs(weights[(first + i) * n + column]!)
      bound += weight * (0.5001 * step + Math.abs(value) * 2 ** -11)
    }
  }
  return bound
}

const BUILDS: readonly Build[] = ['relaxed', 'simd128']

describe.each(BUILDS)('%s', (build) => {
  test.each(Object.keys(CASES))('%s is as accurate as 8-bit rows allow', async (name) => {
    const weights = name.split(' ')[0] as WeightPolicy
    const random = new Random(11)
    for (const [batch, rows, k, n] of [
      [1, 1, 64, 64],
      [1, 5, 128, 33],
      [3, 7, 96, 50],
      [2, 20, 320, 40],
    ] as const) {
      const made = CASES[name]!(random, k, n)
      const loadKernels = () => engineModule(build, 'plain')
      const graph = new CompiledGraph(graphOf(made, k), { fuse: build === 'relaxed', weights, loadKernels })
      const x = floats(random, batch * rows * k, 2)
      const feeds = new Map([['x', tensorOf('f32', [batch, rows, k], x)]])
      const { steps } = await graph.prepare(new Map([['x', [batch, rows, k]]]))
      expect(steps.filter((step) => 'kernel' in step)).toHaveLength(2)
      const y = (await graph.run(feeds)).get('y')!
      expect(y.data).toHaveLength(batch * rows * n)
      for (let row = 0; row < batch * rows; row++)
        for (let column = 0; column < n; column++) {
          let wanted = made.bias?.[column] ?? 0
          for (let at = 0; at < k; at++) wanted += x[row * k + at]! * made.weights[at * n + column]!
          const error = Math.abs(Number(y.data[row * n + column]) - wanted)
          expect(error).toBeLessThanOrEqual(boundOf(x, made, { row, column, k, n }))
        }
    }
  })
})

test('without kernels, and with weights f32, the same graphs are exact', async () => {
  const random = new Random(12)
  const k = 128
  const n = 40
  for (const name of Object.keys(CASES).filter((each) => each.startsWith('auto'))) {
    const made = CASES[name]!(random, k, n)
    const x = floats(random, 3 * k)
    for (const options of [{}, { weights: 'f32', loadKernels: () => engineModule('relaxed', 'plain') }]) {
      const graph = new CompiledGraph(graphOf(made, k), { fuse: true, ...(options as object) })
      const y = (await graph.run(new Map([['x', tensorOf('f32', [1, 3, k], x)]]))).get('y')!
      for (const [at, value] of y.data.entries()) {
        let wanted = made.bias?.[at % n] ?? 0
        for (let i = 0; i < k; i++) wanted += x[Math.floor(at / n) * k + i]! * made.weights[i * n + (at % n)]!
        expect(Math.abs(Number(value) - wanted)).toBeLessThan(1e-4)
      }
    }
  }
})

test.each([
  [4, 16, false],
  [4, 64, true],
  [8, 32, false],
  [8, 128, true],
] as const)(
  'with weights f32, MatMulNBits is not rounded: %i bits, blocks of %i',
  async (bits, block, hasZeros) => {
    const random = new Random(15)
    const [k, n, perByte] = [128, 64, 8 / bits]
    const bytes = (count: number) => Uint8Array.from({ length: count }, () => random.below(256))
    const [codes, scales, zeros] = [
      bytes((n * k) / perByte),
      floats(random, (n * k) / block, 0.1),
      bytes(n * Math.ceil(k / block / perByte)),
    ]
    const codeAt = (from: Uint8Array, row: number, at: number) =>
      (from[(row * from.length) / n + Math.floor(at / perByte)]! >> (bits * (at % perByte))) & (2 ** bits - 1)
    const weightAt = (at: number, column: number) => {
      const zero = hasZeros ? codeAt(zeros, column, Math.floor(at / block)) : 2 ** (bits - 1)
      return (codeAt(codes, column, at) - zero) * scales[(column * k + at - (at % block)) / block]!
    }
    const attributes = { N: n, K: k, bits, block_size: block, accuracy_level: 4 }
    const graph: Graph = {
      name: 'blocks',
      inputs: [{ name: 'x', type: { dtype: 'f32', dims: ['rows', k] } }],
      outputs: ['y'],
      constants: new Map([
        ['w', tensorOf('u8', [n, k / block, block / perByte], codes)],
        ['scales', tensorOf('f32', [scales.length], scales)],
        ['zeros', tensorOf('u8', [zeros.length], zeros)],
      ]),
      nodes: [
        node(
          'MatMulNBits',
          ['x', 'w', 'scales', hasZeros ? 'zeros' : ''],
          ['y'],
          attributes,
          'com.microsoft',
        ),
      ],
    }
    const loadKernels = () => engineModule('relaxed', 'plain')
    const made = new CompiledGraph(graph, { fuse: true, weights: 'f32', loadKernels })
    const x = floats(random, 3 * k, 3)
    const y = (await made.run(new Map([['x', tensorOf('f32', [3, k], x)]]))).get('y')!
    for (const [at, value] of y.data.entries()) {
      const [row, column] = [Math.floor(at / n), at % n]
      const terms = Array.from({ length: k }, (_, i) => x[row * k + i]! * weightAt(i, column))
      const size = terms.reduce((sum, each) => sum + Math.abs(each), 0)
      const wanted = terms.reduce((sum, each) => sum + each, 0)
      // With 8-bit rows, the error would be a thousand times larger.
      expect(Math.abs(Number(value) - wanted)).toBeLessThan(1e-6 * size)
    }
  },
)

test('rows that several matrices read are quantised once, as the printed program shows', () => {
  const random = new Random(13)
  const names = ['q', 'k', 'v']
  const graph: Graph = {
    name: 'three',
    inputs: [{ name: 'x', type: { dtype: 'f32', dims: [4, 96] } }],
    outputs: names,
    constants: new Map(
      names.map((name) => [`${name}.w`, tensorOf('f32', [96, 64], floats(random, 96 * 64))]),
    ),
    nodes: names.map((name) => node('MatMul', ['x', `${name}.w`], [name])),
  }
  const { program } = programFor(graph, new Map([['x', [4, 96]]]), 'w8')
  const kernels = program.steps.flatMap((step) => ('kernel' in step ? [step.kernel.loop] : []))
  expect(kernels.toSorted()).toEqual(['linear', 'linear', 'linear', 'quantize'])
  expect(emitted(program.steps)).toHaveLength(0)
  expect(printProgram(program)).toMatch(/product +\[4, 96, 64\] +w8_g32 /)
})

test('matrices whose sizes the kernels do not support are multiplied in f32', () => {
  for (const [k, n] of [
    [100, 64],
    [32, 8],
  ] as const) {
    const graph = graphOf(CASES['w8 MatMul']!(new Random(1), 32 * Math.ceil(k / 32), n), k)
    const constants = new Map([['w', tensorOf('f32', [k, n], new Float32Array(k * n))]])
    const { program } = programFor({ ...graph, constants }, new Map([['x', [1, 2, k]]]), 'w8')
    expect(program.steps.every((step) => 'call' in step)).toBe(true)
  }
})
