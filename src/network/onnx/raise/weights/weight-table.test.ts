// The weight table. In: a constant that nodes read in several shapes and roles. Out: a weight for each.
import { expect, test } from 'vitest'
import { bufferSource } from '../../../../core/base/bytes.ts'
import type { Graph, Node } from '../../ir/graph.ts'
import { tensorOf } from '../../ir/tensor.ts'
import { WeightTable } from './weight-table.ts'

const K = 64
const codesOf = (rows: number) => tensorOf('u8', [rows, 2, 16], Array<number>(rows * 32).fill(0x99))
const scalesOf = (rows: number) => tensorOf('f32', [rows * 2], Array<number>(rows * 2).fill(0.5))
const codes = codesOf(4)
const scales = scalesOf(4)
const others = scalesOf(4)
const tableOf = (constants: Graph['constants'] = new Map()) =>
  new WeightTable('model.onnx', { name: 'main', inputs: [], outputs: [], nodes: [], constants })
const reading: Node = {
  name: 'n',
  op: 'Add',
  domain: '',
  version: 17,
  outputs: ['y'],
  inputs: [],
  attributes: new Map(),
}
const form = { n: 4, k: K, bits: 4, block: 32, codes, scales }

test('codes that two nodes read in the same way are one weight; with other scales or zero points they are another', () => {
  const weights = tableOf()
  const first = weights.blocks(form, 'w')
  const second = weights.blocks({ ...form, zero: undefined }, 'w')
  expect(second).toEqual(first)
  expect(weights.blocks({ ...form, scales: others }, 'w')).not.toEqual(first)
  expect(weights.blocks({ ...form, zero: 3 }, 'w')).not.toEqual(first)
  expect(weights.tensors.size).toBe(3)
})

test('codes that a table and a product read in different shapes are one weight', () => {
  const weights = tableOf()
  const first = weights.blocks(form, 'w')
  const asRows = { ...codes, dims: [4, 32] }
  const asList = { ...scales, dims: [4, 2] }
  expect(weights.blocks({ ...form, codes: asRows, scales: asList, zero: 8 }, 'w')).toEqual(first)
  expect(weights.tensors.size).toBe(1)
})

test('two names for the same bytes of a file are one weight; for different bytes, they are two', () => {
  const source = bufferSource('data', new Uint8Array(1 << 12))
  const at = (offset: number) => ({ dtype: 'f16', dims: [4, K], source, offset, byteLength: 512 }) as const
  const weights = tableOf(
    new Map([
      ['a', at(0)],
      ['b', at(0)],
      ['c', at(512)],
    ]),
  )
  const read = (name: string) => weights.float({ ...reading, inputs: ['x', name] }, 1, true)
  expect(read('b')).toEqual(read('a'))
  expect(read('c')).not.toEqual(read('a'))
  expect(weights.float({ ...reading, inputs: ['x', 'b'] }, 1, false)).not.toEqual(read('a'))
  expect(weights.tensors.size).toBe(3)
})

test.each([
  ['codes', { n: 6 }, /128 bytes of codes, but its shape needs 192/],
  ['scales', { scales: scalesOf(3) }, /24 bytes of scales, but its shape needs 32/],
  ['zero points', { zeros: tensorOf('u8', [2], [1, 2]) }, /2 bytes of zero points, but its shape needs 4/],
] as const)("%s whose shape differs from the node's are rejected", (_, change, message) => {
  const weights = tableOf()
  weights.blocks(form, 'w')
  expect(() => weights.blocks({ ...form, ...change }, 'w')).toThrow(
    expect.objectContaining({ code: 'unsupported', message: expect.stringMatching(message) }),
  )
})

test('a vector read as a norm and as a bias with a different size is rejected', () => {
  const vector = tensorOf('f32', [8], Array<number>(8).fill(1))
  const weights = tableOf(new Map([['v', vector]]))
  const node: Node = { ...reading, inputs: ['x', 'v'] }
  expect(weights.vector(node, 1, 8, 'norm')).not.toEqual(weights.vector(node, 1, 8, 'bias'))
  expect(() => weights.vector(node, 1, 6, 'norm')).toThrow(expect.objectContaining({ code: 'format' }))
  expect(() => weights.named('v', 'layers.0.ssm_skip', 6)).toThrow(
    expect.objectContaining({ code: 'unsupported' }),
  )
})
