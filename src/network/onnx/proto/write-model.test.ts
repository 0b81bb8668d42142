// Tests written models. In: nodes with every type of attribute, constants of every dtype, types. Out: whether
// reading the bytes restores them.
import { expect, test } from 'vitest'
import { bufferSource } from '../../../core/base/bytes.ts'
import type { Attribute, Constant, Graph, Node, Type } from '../ir/graph.ts'
import { ALL_DTYPES, isFloat, type Tensor, tensorOf } from '../ir/tensor.ts'
import { readModel } from '../read-model.ts'
import { tensorBytes, writeModel } from './write-model.ts'

const node = (
  inputs: readonly string[],
  output: string,
  attributes: Record<string, Attribute> = {},
): Node => ({
  name: `node of ${output}`,
  op: 'Anything',
  domain: 'test.domain',
  version: 3,
  inputs,
  outputs: [output],
  attributes: new Map(Object.entries(attributes)),
})

const tensor = (values: readonly number[]): Tensor => tensorOf('i64', [values.length], values)

const inner: Graph = {
  name: 'branch',
  inputs: [{ name: 'turn', type: { dtype: 'i64', dims: [] } }],
  outputs: ['made'],
  constants: new Map([['own', tensorOf('f16', [2], [0.5, -3])]]),
  nodes: [node(['turn', 'own', 'x'], 'made')],
}

const ATTRIBUTES: Record<string, Attribute> = {
  int: { kind: 'int', value: -7 },
  large: { kind: 'int', value: 2 ** 53 },
  ints: { kind: 'ints', value: [0, -1, 2 ** 40] },
  float: { kind: 'float', value: 0.5 },
  floats: { kind: 'floats', value: [1.5, -0.25, 0] },
  string: { kind: 'string', value: 'größer' },
  strings: { kind: 'strings', value: ['a', '', 'c'] },
  tensor: { kind: 'tensor', value: tensor([1, -2]) },
  graph: { kind: 'graph', value: inner },
}

const INPUTS = new Map<string, Type>([
  ['x', { dtype: 'f32', dims: ['rows', 4, '2*rows + 1'] }],
  ['of any rank', { dtype: 'bool', dims: undefined }],
  ['number', { dtype: 'u8', dims: [] }],
])

const constants = new Map<string, Constant>(
  ALL_DTYPES.map((dtype) => {
    const values = dtype === 'bool' ? [1, 0, 1] : isFloat(dtype) ? [0.5, -1.5, 2] : [1, 7, 5]
    const small = { i2: [1, -2, 0], u2: [3, 1, 2], f8e8m0: [0.5, 4, 2 ** -127] }[dtype as string]
    return [dtype, tensorOf(dtype, [3, 1], small ?? values)]
  }),
)

async function readBack(
  nodes: readonly Node[],
  outputs: readonly string[],
  inputs: ReadonlyMap<string, Type> = INPUTS,
): Promise<Graph> {
  const model = { nodes, constants, inputs, outputs }
  const bytes = writeModel(model, (constant) => tensorBytes(constant as Tensor))
  return (await readModel(bufferSource('model.onnx', bytes), { oldestOpset: 1 })).graph
}

test('reading restores the written model', async () => {
  const nodes = [node(['x', '', 'number'], 'y', ATTRIBUTES), node(['y', ...constants.keys()], 'z')]
  const graph = await readBack(nodes, ['z', 'y'])
  expect(graph.nodes).toEqual(nodes)
  expect(graph.constants).toEqual(constants)
  expect(new Map(graph.inputs.map(({ name, type }) => [name, type]))).toEqual(INPUTS)
  expect(graph.outputs).toEqual(['z', 'y'])
})

test('negative 4-bit codes, and bf16 of both signs, keep their values', () => {
  expect(tensorBytes(tensorOf('i4', [3], [-8, 7, -1]))).toEqual(Uint8Array.of(0x78, 0x0f))
  expect(tensorBytes(tensorOf('u4', [2], [15, 1]))).toEqual(Uint8Array.of(0x1f))
  expect(tensorBytes(tensorOf('bf16', [2], [1, -2]))).toEqual(Uint8Array.of(0x80, 0x3f, 0, 0xc0))
})

test('sizes that an exporter left unnamed are read as sizes of their own', async () => {
  const type: Type = { dtype: 'f32', dims: ['?', 3, '?', 'None', '-1', 'width'] }
  const inputs = new Map([['x', type]])
  const graph = await readBack([node(['x'], 'y')], ['y'], inputs)
  expect(graph.inputs[0]?.type?.dims).toEqual(['[x 0]', 3, '[x 2]', '[x 3]', '[x 4]', 'width'])
})
