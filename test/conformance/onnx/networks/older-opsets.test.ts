// Networks of opsets 7 to 10. In: small networks with each operator that changed until opset 11. Out: whether
// they match onnxruntime-web, and whether forms without an equivalent are rejected by name.
import { InferenceSession, Tensor } from 'onnxruntime-web'
import { expect, test } from 'vitest'
import { Network } from '../../../../src/network/api/network.ts'
import { tensorOf } from '../../../../src/network/onnx/ir/tensor.ts'
import {
  modelBytes,
  type WrittenGraph,
  type WrittenNode,
  type WrittenTensor,
} from '../../../../src/network/onnx/testing/write-model.ts'
import { Random } from '../../../helpers/random.ts'

const random = new Random(7)
const X = [2, 4, 6, 5] as const
const draw = (count: number) => Float32Array.from({ length: count }, () => random.signed())
const count = (dims: readonly number[]) => dims.reduce((product, size) => product * size, 1)

const constant = (name: string, dims: readonly number[], values = draw(count(dims))): WrittenTensor => ({
  name,
  type: 1,
  dims,
  raw: new Uint8Array(values.buffer),
})
const whole = (name: string, dims: readonly number[], ...values: readonly number[]): WrittenTensor => ({
  name,
  type: 7,
  dims,
  raw: new Uint8Array(BigInt64Array.from(values, BigInt).buffer),
})
const node = (op: string, inputs: readonly string[], attributes: WrittenNode['attributes'] = {}) => ({
  op,
  inputs,
  outputs: ['y'],
  attributes,
})

const bytesOf = (opset: number, nodes: readonly WrittenNode[], constants: readonly WrittenTensor[] = []) => {
  const graph: WrittenGraph = {
    inputs: [{ name: 'x', type: 1, dims: [...X] }],
    outputs: [{ name: 'y', type: 1 }],
    nodes,
    constants,
  }
  return new Uint8Array(modelBytes(graph, opset, 4))
}

const NORM = ['scale', 'shift', 'mean', 'variance'].map((name) =>
  constant(name, [4], name === 'variance' ? new Float32Array(4).fill(0.5) : draw(4)),
)
const scales = (...values: readonly number[]) => constant('scales', [4], Float32Array.from(values))
const sized = (...values: readonly number[]) => ({ scales: { floats: values }, mode: { text: 'linear' } })

type Case = [name: string, opset: number, node: WrittenNode, constants?: readonly WrittenTensor[]]

const CASES: readonly Case[] = [
  ['BatchNormalization', 7, node('BatchNormalization', ['x', ...NORM.map(({ name }) => name)]), NORM],
  [
    'BatchNormalization with its default stated',
    8,
    node('BatchNormalization', ['x', ...NORM.map(({ name }) => name)], { spatial: 1 }),
    NORM,
  ],
  ['Clip with two limits', 9, node('Clip', ['x'], { min: { float: -0.2 }, max: { float: 0.3 } })],
  ['Clip with one limit', 7, node('Clip', ['x'], { min: { float: 0 } })],
  ['Clip with none', 10, node('Clip', ['x'])],
  ['Pad', 9, node('Pad', ['x'], { pads: { ints: [0, 0, 1, 2, 0, 0, 0, 1] }, value: { float: 0.5 } })],
  [
    'Pad by reflection',
    7,
    node('Pad', ['x'], { pads: { ints: [0, 0, 1, 1, 0, 0, 1, 1] }, mode: { text: 'reflect' } }),
  ],
  ['PRelu', 7, node('PRelu', ['x', 'slope']), [constant('slope', [4, 1, 1])]],
  [
    'Slice',
    9,
    node('Slice', ['x'], { axes: { ints: [1, 3] }, starts: { ints: [1, -3] }, ends: { ints: [9, -1] } }),
  ],
  [
    'Slice from the first axis on',
    7,
    node('Slice', ['x'], { starts: { ints: [0, 1] }, ends: { ints: [1, 3] } }),
  ],
  [
    'Upsample by an attribute',
    7,
    node('Upsample', ['x'], { ...sized(1, 1, 2, 3), mode: { text: 'nearest' } }),
  ],
  ['Upsample, linear', 8, node('Upsample', ['x'], sized(1, 1, 2, 2))],
  ['Upsample by an input', 9, node('Upsample', ['x', 'scales']), [scales(1, 1, 2, 1.5)]],
  ['Resize to more', 10, node('Resize', ['x', 'scales']), [scales(1, 1, 1.7, 2.5)]],
  ['Resize to less', 10, node('Resize', ['x', 'scales']), [scales(1, 1, 0.6, 0.5)]],
  [
    'Resize, linear',
    10,
    node('Resize', ['x', 'scales'], { mode: { text: 'linear' } }),
    [scales(1, 1, 1.7, 0.6)],
  ],
  ['ReduceMean', 9, node('ReduceMean', ['x'], { axes: { ints: [2, 3] } })],
  ['ReduceMax', 7, node('ReduceMax', ['x'], { axes: { ints: [1] }, keepdims: 0 })],
  ['Max', 7, node('Max', ['x', 'x'])],
  [
    'Scatter',
    9,
    node('Scatter', ['x', 'at', 'rows'], { axis: 1 }),
    [whole('at', [1, 1, 1, 2], 2, 0), constant('rows', [1, 1, 1, 2])],
  ],
]

test.each<Case>(CASES)('%s of opset %i', { timeout: 30_000 }, async (_, opset, each, constants = []) => {
  const bytes = bytesOf(opset, [each], constants)
  const data = draw(count(X))
  const session = await InferenceSession.create(bytes, { executionProviders: ['wasm'], logSeverityLevel: 4 })
  const { y: wanted } = await session.run({ x: new Tensor('float32', data, [...X]) })
  const network = await Network.load(new File([bytes], 'net.onnx'))
  const { y: found } = await network.run({ x: tensorOf('f32', [...X], data) })
  await network.dispose()
  expect(found?.dims).toEqual(wanted?.dims)
  const theirs = wanted?.data as Float32Array
  expect(theirs.length).toBeGreaterThan(0)
  for (const [at, value] of theirs.entries()) expect(Number(found?.data[at])).toBeCloseTo(value, 5)
})

test('the largest elements and a sum of parts in one network of opset 9', { timeout: 30_000 }, async () => {
  const nodes: readonly WrittenNode[] = [
    { op: 'TopK', inputs: ['x'], outputs: ['most', ''], attributes: { k: 3, axis: 3 } },
    { op: 'Split', inputs: ['most'], outputs: ['a', 'b'], attributes: { axis: 1, split: { ints: [2, 2] } } },
    { op: 'Sum', inputs: ['a', 'b'], outputs: ['c'] },
    { op: 'Squeeze', inputs: ['d'], outputs: ['y'], attributes: { axes: { ints: [0] } } },
    { op: 'Unsqueeze', inputs: ['c'], outputs: ['d'], attributes: { axes: { ints: [0] } } },
  ]
  const bytes = bytesOf(9, nodes)
  const data = draw(count(X))
  const network = await Network.load(new File([bytes], 'net.onnx'))
  const { y } = await network.run({ x: tensorOf('f32', [...X], data) })
  await network.dispose()
  const most = (start: number) => data.slice(start, start + 5).sort((a, b) => b - a)
  expect(y?.dims).toEqual([2, 2, 6, 3])
  for (const [at, value] of [...(y?.data ?? [])].entries()) {
    const row = Math.floor(at / 3)
    const [batch, rest] = [Math.floor(row / 12), row % 12]
    const start = (batch * 24 + rest) * 5
    expect(Number(value)).toBeCloseTo(most(start)[at % 3]! + most(start + 60)[at % 3]!, 5)
  }
})

test.each<[string, number, WrittenNode, RegExp]>([
  [
    'statistics for each position',
    7,
    node('BatchNormalization', ['x', ...NORM.map(({ name }) => name)], { spatial: 0 }),
    /BatchNormalization.*spatial/,
  ],
  ['an opset before 7', 6, node('Relu', ['x']), /opset 6, but Halfbyte supports 7 and later/],
])('%s is rejected by name', async (_, opset, each, message) => {
  const bytes = bytesOf(opset, [each], NORM)
  const x = tensorOf('f32', [...X], draw(count(X)))
  const run = async () => (await Network.load(new File([bytes], 'net.onnx'))).run({ x })
  await expect(run()).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringMatching(message),
  })
})
