// Evaluators of rare operators and forms. In: single nodes with values at the limits of their types, and
// forms of layers that are not compiled. Out: whether they give the outputs that the standard or ONNX Runtime
// defines.
import { expect, test } from 'vitest'
import { evaluateNode } from '../evaluate.ts'
import { EVALUATORS } from '../evaluators.ts'
import type { Attribute } from '../ir/graph.ts'
import { type Tensor, tensorOf } from '../ir/tensor.ts'

const int = (value: number): Attribute => ({ kind: 'int', value })
const ints = (value: readonly number[]): Attribute => ({ kind: 'ints', value })
const float = (value: number): Attribute => ({ kind: 'float', value })
const text = (value: string): Attribute => ({ kind: 'string', value })
const floats = (dims: readonly number[], values: readonly number[]) => tensorOf('f32', dims, values)
const wholes = (...values: bigint[]) => tensorOf('i64', [values.length], values)

function run(
  op: string,
  inputs: readonly (Tensor | undefined)[],
  attributes: Readonly<Record<string, Attribute>> = {},
  { version = 21, outputs = 1 } = {},
): Tensor[] {
  const node = {
    ...{ name: op, op, domain: '' as const, version, attributes: new Map(Object.entries(attributes)) },
    inputs: inputs.map((input, at) => (input === undefined ? '' : `x${at}`)),
    outputs: Array.from({ length: outputs }, (_, at) => `y${at}`),
  }
  return evaluateNode(node, inputs, { evaluators: EVALUATORS }) as Tensor[]
}

const valuesOf = ([made]: readonly Tensor[]): number[] => Array.from(made!.data as Float32Array, Number)

test('a negative integer cast to u64 wraps at 2^64', () => {
  const [made] = run('Cast', [tensorOf('i32', [2], [-1, 7])], { to: int(13) })
  expect(made!.data).toEqual(BigUint64Array.of(2n ** 64n - 1n, 7n))
})

test('powers of i32 wrap exactly, also beyond the digits of f64', () => {
  const [made] = run('Pow', [tensorOf('i32', [3], [19, -9, 0]), tensorOf('i32', [3], [8, 21, -1])])
  const exact = [19n ** 8n, (-9n) ** 21n, 0n].map((each) => Number(BigInt.asIntN(32, each)))
  expect(Array.from(made!.data as Int32Array)).toEqual(exact)
})

test('LpNormalization of a line with NaN is NaN', () => {
  expect(valuesOf(run('LpNormalization', [floats([2], [3, Number.NaN])]))).toEqual([Number.NaN, Number.NaN])
  expect(valuesOf(run('LpNormalization', [floats([2], [0, 0])]))).toEqual([0, 0])
})

test('Hardmax marks the first NaN, like ArgMax', () => {
  const x = floats([4], [1, Number.NaN, 9, Number.NaN])
  expect(valuesOf(run('Hardmax', [x]))).toEqual([0, 1, 0, 0])
})

test('a mean of nearly equal numbers keeps the digits of its variance', () => {
  const x = floats([1, 1, 4], [1000, 1000.0625, 1000, 1000.0625])
  const made = valuesOf(run('MeanVarianceNormalization', [x], { axes: ints([2]) }))
  for (const [at, value] of made.entries()) expect(value).toBeCloseTo(at % 2 === 0 ? -1 : 1, 5)
  const same = floats([1, 1, 3], [0.1, 0.1, 0.1])
  expect(valuesOf(run('MeanVarianceNormalization', [same], { axes: ints([2]) }))).toEqual([0, 0, 0])
})

test('codes of zeros have the scale of a range of 1', () => {
  const [y, scale, zero] = run('DynamicQuantizeLinear', [floats([2], [0, -0])], {}, { outputs: 3 })
  expect([y!.data, scale!.data[0], zero!.data[0]]).toEqual([Uint8Array.of(0, 0), Math.fround(1 / 255), 0])
})

test('before opset 21, GroupNormalization has weights for each group', () => {
  const x = floats([1, 4, 1], [1, 3, 10, 30])
  const weights = [floats([2], [1, 2]), floats([2], [0, 5])]
  const made = (version: number, own: Tensor[]) =>
    valuesOf(run('GroupNormalization', [x, ...own], { num_groups: int(2), epsilon: float(0) }, { version }))
  expect(made(18, weights)).toEqual([-1, 1, 3, 7])
  const perChannel = [floats([4], [1, 1, 2, 2]), floats([4], [0, 0, 5, 5])]
  expect(made(21, perChannel)).toEqual([-1, 1, 3, 7])
})

test('a cubic GridSample outside the image moves the pixels to its border, not the position', () => {
  const x = floats([1, 1, 2, 1], [0, 1])
  const grid = floats([1, 1, 1, 2], [0, -1.25])
  const attributes = { mode: text('cubic'), padding_mode: text('border'), align_corners: int(1) }
  const [value] = valuesOf(run('GridSample', [x, grid], attributes))
  // At -0.125, the pixels at -2, -1, 0 and 1 are 0, 0, 0 and 1; the last is 1.125 away.
  expect(value).toBeCloseTo(-0.75 * ((1.125 - 5) * 1.125 + 8) * 1.125 + 3, 5)
})

test('MaxPool returns the positions of maxima, row by row or column by column', () => {
  const x = floats([1, 2, 2, 3], [1, 5, 2, 4, 3, 9, 7, 7, 7, 8, 7, 7])
  const window = { kernel_shape: ints([2, 2]) }
  const [, rows] = run('MaxPool', [x], window, { outputs: 2 })
  expect(rows!.data).toEqual(BigInt64Array.of(1n, 5n, 9n, 7n))
  const [, columns] = run('MaxPool', [x], { ...window, storage_order: int(1) }, { outputs: 2 })
  expect(columns!.data).toEqual(BigInt64Array.of(2n, 5n, 7n, 8n))
})

test('a resize of a part of an image writes extrapolation_value outside the image', () => {
  const x = floats([1, 1, 1, 3], [10, 20, 30])
  const region = floats([8], [0, 0, 0, 0.5, 1, 1, 1, 1.5])
  const made = run('Resize', [x, region, undefined, wholes(1n, 1n, 1n, 3n)], {
    ...{ mode: text('linear'), coordinate_transformation_mode: text('tf_crop_and_resize') },
    extrapolation_value: float(-1),
  })
  expect(valuesOf(made)).toEqual([20, 30, -1])
})

test('ConvTranspose with SAME_LOWER padding removes one more at the start, as with SAME_UPPER at the end', () => {
  const made = (mode: string) =>
    valuesOf(
      run('ConvTranspose', [floats([1, 1, 2], [1, 10]), floats([1, 1, 3], [1, 2, 3])], {
        ...{ strides: ints([2]), auto_pad: text(mode) },
      }),
    )
  // The whole result, without padding removed, is 1, 2, 13, 20, 30.
  expect(made('SAME_UPPER')).toEqual([1, 2, 13, 20])
  expect(made('SAME_LOWER')).toEqual([2, 13, 20, 30])
})

test('windows that skip positions under SAME padding are rejected, because runtimes disagree about them', () => {
  const x = floats([1, 1, 4], [1, 2, 3, 4])
  const window = { kernel_shape: ints([1]), strides: ints([4]), auto_pad: text('SAME_UPPER') }
  expect(() => run('MaxPool', [x], window)).toThrow(/skip positions/)
  // A stride of 2 skips one position at the end, whatever the padding.
  expect(valuesOf(run('MaxPool', [x], { ...window, strides: ints([2]) }))).toEqual([1, 3])
})
