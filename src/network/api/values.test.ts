// Tests what callers pass for sequences, strings and optional inputs, and what they get. In: small graphs, in
// this thread and in a service. Out: the values, the descriptions, and the error for each mistake.
import { expect, test } from 'vitest'
import { localConnection } from '../../engine/wire/connection.ts'
import { nodeHost } from '../../tools/cli/node-host.ts'
import { TYPE } from '../onnx/testing/node-writer.ts'
import { modelBytes } from '../onnx/testing/write-model.ts'
import { loadNetwork } from '../service/load-network.ts'
import { createNetworkService } from '../service/network-service.ts'
import { Network, type NetworkInput, type NetworkResult } from './network.ts'

const BYTES = modelBytes({
  nodes: [
    { op: 'Identity', inputs: ['list'], outputs: ['same'] },
    { op: 'Gather', inputs: ['names', 'ids'], outputs: ['labels'] },
    { op: 'Identity', inputs: ['more'], outputs: ['passed'] },
    { op: 'Identity', inputs: ['names'], outputs: ['all'] },
  ],
  constants: [{ name: 'names', type: TYPE.string, dims: [2], strings: ['a cat', 'ein Häschen'] }],
  inputs: [
    { name: 'list', type: TYPE.f32, dims: [2], form: 'sequence' },
    { name: 'ids', type: TYPE.i64, dims: ['n'] },
    { name: 'more', type: TYPE.string, dims: [1], form: 'optional' },
  ],
  outputs: [
    { name: 'same', type: TYPE.f32, form: 'sequence' },
    { name: 'labels', type: TYPE.string },
    { name: 'passed', type: TYPE.string, form: 'optional' },
    { name: 'all', type: TYPE.string },
  ],
})

const file = () => new File([new Uint8Array(BYTES)], 'values.onnx')

function remote(): Promise<Network> {
  const service = createNetworkService((request, hooks) => loadNetwork(request, hooks, nodeHost()))
  return Network.through(localConnection(service), file(), {})
}

const list = [
  { dtype: 'f32', dims: [2], data: Float32Array.of(1, 2) },
  { dtype: 'f32', dims: [2], data: Float32Array.of(3, 4) },
] as const
const ids = { dtype: 'i64', dims: [2], data: BigInt64Array.of(1n, 0n) } as const
const more = { dtype: 'string', dims: [1], data: ['x'] } as const

test.each([
  ['this thread', () => Network.load(file())],
  ['a service', remote],
] as const)('sequences, strings and optional values go in and come out of %s', async (_, load) => {
  const network = await load()
  expect(network.inputs).toEqual([
    { name: 'list', dtype: 'f32', dims: undefined, isSequence: true },
    { name: 'ids', dtype: 'i64', dims: ['n'] },
    { name: 'more', dtype: 'string', dims: [1], isOptional: true },
  ])
  expect(network.outputs).toMatchObject([
    { name: 'same', dtype: 'f32', isSequence: true },
    { name: 'labels', dtype: 'string' },
    { name: 'passed' },
    { name: 'all', dtype: 'string', dims: [2] },
  ])
  // Outputs of a worker are transferred, so those that are constants must be copies.
  for (const _ of [1, 2]) {
    const made = await network.run<NetworkResult>({ list, ids, more })
    expect(made).toEqual({
      same: list,
      labels: { dtype: 'string', dims: [2], data: ['ein Häschen', 'a cat'] },
      passed: more,
      all: { dtype: 'string', dims: [2], data: ['a cat', 'ein Häschen'] },
    })
  }
  const without = await network.run<NetworkResult>({ list: [], ids, more: undefined })
  expect(Object.keys(without)).toEqual(['same', 'labels', 'all'])
  expect(without['same']).toEqual([])
  await network.dispose()
})

test('mistakes are errors that name the input', async () => {
  const network = await Network.load(file())
  const rejects = (change: Record<string, unknown>, text: string) =>
    expect(network.run({ list, ids, ...change } as Record<string, NetworkInput>)).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringContaining(text),
    })
  await rejects({ list: list[0] }, 'the input list')
  await rejects({ list: [list[0], ids] }, 'list[1]')
  await rejects({ list: undefined }, 'the input list is missing')
  await rejects({ more: { ...more, data: 'x' } }, 'more')
  await rejects({ more: { ...more, data: [1] } }, 'a list of strings')
  await rejects({ more: { ...more, dims: [2] } }, 'the input more has 1 elements')
  await rejects({ more: { ...more, dtype: 'u8' } }, 'string')
  await network.dispose()
})
