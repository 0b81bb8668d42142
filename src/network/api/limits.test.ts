// Tests long runs. In: graphs that take minutes, aborts, time limits, unresponsive workers. Out: whether each
// run ends when it should, and the network's state afterwards.
import { expect, test, vi } from 'vitest'
import { localConnection } from '../../engine/wire/connection.ts'
import { nodeHost } from '../../tools/cli/node-host.ts'
import type { Node } from '../onnx/ir/graph.ts'
import { type Tensor, tensorOf } from '../onnx/ir/tensor.ts'
import { tensorBytes, writeModel } from '../onnx/proto/write-model.ts'
import { loadNetwork } from '../service/load-network.ts'
import { createNetworkService } from '../service/network-service.ts'
import { Network, type NetworkOptions } from './network.ts'

/** Numbers per row; summing a row takes about 60 ms. */
const WIDTH = 2 ** 26
/** Rows that take a minute to sum. */
const MANY = 900

const node = (op: string, inputs: readonly string[], output: string): Node => ({
  ...{ name: output, op, domain: '', version: 17, inputs, outputs: [output], attributes: new Map() },
})

function modelOf(
  nodes: readonly Node[],
  dims: readonly (number | string)[],
  constants: Record<string, Tensor>,
) {
  const bytes = writeModel(
    {
      nodes,
      inputs: new Map([['x', { dtype: 'f32', dims }]]),
      outputs: ['y'],
      constants: new Map(Object.entries(constants)),
    },
    (constant) => tensorBytes(constant as Tensor),
  )
  return new File([new Uint8Array(bytes)], 'model.onnx')
}

const list = (...values: readonly number[]) => tensorOf('i64', [values.length], values)
const long = () =>
  modelOf([node('Expand', ['x', 'wide'], 'w'), node('ReduceSum', ['w', 'axis'], 'y')], ['rows', 1], {
    wide: list(1, WIDTH),
    axis: list(1),
  })

const rows = (count: number) => ({
  x: { dtype: 'f32', dims: [count, 1], data: new Float32Array(count).fill(0.5) } as const,
})

async function load(options: NetworkOptions = {}, host = nodeHost()): Promise<Network> {
  const service = createNetworkService((request, hooks) => loadNetwork(request, hooks, host))
  return Network.through(localConnection(service), long(), options)
}

test.each([
  ['in this thread', (options: NetworkOptions) => Network.load(long(), options)],
  ['through a service', load],
] as const)(
  '%s, an abort and a time limit interrupt a run, and the next run gives the right result',
  async (_, open) => {
    const network = await open({ timeLimitMs: 60_000 })
    const control = new AbortController()
    const run = network.run(rows(MANY), { signal: control.signal })
    setTimeout(() => control.abort(new Error('no longer wanted')), 20)
    await expect(run).rejects.toThrow('no longer wanted')
    await expect(network.run(rows(MANY), { timeLimitMs: 20 })).rejects.toMatchObject({
      name: 'TimeoutError',
      message: expect.stringContaining('20 ms'),
    })
    expect((await network.run(rows(1)))['y']!.data).toHaveLength(1)
    await network.dispose()
  },
)

test('the limit of the load applies to runs without a limit of their own', async () => {
  const network = await Network.load(long(), { timeLimitMs: 20 })
  await expect(network.run(rows(MANY))).rejects.toMatchObject({ name: 'TimeoutError' })
  await network.dispose()
})

test('a queued run is aborted at once, and the one before it continues', async () => {
  const network = await load()
  const first = network.run(rows(3))
  const control = new AbortController()
  const second = network.run(rows(MANY), { signal: control.signal })
  control.abort(new Error('no longer wanted'))
  await expect(second).rejects.toThrow('no longer wanted')
  expect((await first)['y']!.data).toHaveLength(3)
  await network.dispose()
})

test('a worker that does not answer an abort is terminated, and the network says so', async () => {
  const service = createNetworkService(async (request, hooks) => ({
    ...(await loadNetwork(request, hooks, nodeHost())),
    run: () => new Promise(() => undefined),
  }))
  const network = await Network.through(localConnection(service), long())
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const run = network.run(rows(1), { timeLimitMs: 100 })
    const waiting = network.run(rows(2))
    const outcomes = Promise.allSettled([run, waiting])
    await vi.advanceTimersByTimeAsync(100)
    await expect(run).rejects.toMatchObject({ name: 'TimeoutError' })
    await vi.advanceTimersByTimeAsync(5000)
    expect(await outcomes).toMatchObject([{ status: 'rejected' }, { reason: { code: 'disposed' } }])
  } finally {
    vi.useRealTimers()
  }
  await expect(network.run(rows(1))).rejects.toMatchObject({
    code: 'disposed',
    message: expect.stringContaining('5000 ms after it was aborted'),
  })
  await network.dispose()
})

test('a file that exceeds the limits is rejected before it runs', async () => {
  const rejects = (options: NetworkOptions, limit: string) =>
    expect(Network.load(long(), options).then((network) => network.run(rows(2)))).rejects.toMatchObject({
      code: 'out-of-memory',
      detail: { limit },
    })
  await rejects({ limits: { steps: 2 ** 30 } }, 'steps')
  await rejects({ limits: { planning: 100 } }, 'planning')
  await rejects({ limits: { bytes: 8 } }, 'bytes')
  await expect(
    load({ limits: { steps: 2 ** 20 } }).then((network) => network.run(rows(1))),
  ).rejects.toMatchObject({
    detail: { limit: 'steps' },
  })
})

test.each([
  [{ limits: { byte: 7 } }, 'the nearest is bytes'],
  [{ limits: { bytes: -1 } }, 'limits.bytes is -1'],
  [{ limits: { steps: '7' } }, 'limits.steps is "7"'],
  [{ limits: 7 }, 'limits is 7'],
  [{ timeLimitMs: 0 }, 'timeLimitMs is 0'],
  [{ timeLimitMs: '1 s' }, 'timeLimitMs is "1 s"'],
])('the options %j are rejected', async (options, message) => {
  await expect(Network.load(long(), options as NetworkOptions)).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringContaining(message),
  })
})

test.each([1, 2] as const)('%d threads compute products of several parts correctly', async (threads) => {
  const size = 1700
  const model = modelOf([node('MatMul', ['x', 'x'], 'p'), node('MatMul', ['p', 'x'], 'y')], [size, size], {})
  const service = createNetworkService((request, hooks) => loadNetwork(request, hooks, nodeHost()))
  const network = await Network.through(localConnection(service), model, { threads })
  // Row r of the matrix is r % 3 in column r and 1 in the next column.
  const data = new Float32Array(size * size)
  for (let row = 0; row < size; row++) {
    data[row * size + row] = row % 3
    if (row + 1 < size) data[row * size + row + 1] = 1
  }
  const { y } = await network.run({ x: { dtype: 'f32', dims: [size, size], data } })
  const wanted = new Float32Array(size * size)
  for (let row = 0; row < size; row++) {
    const own = [0, 1, 2].map((more) => (row + more) % 3) as [number, number, number]
    wanted[row * size + row] = own[0] ** 3
    if (row + 1 < size) wanted[row * size + row + 1] = own[0] ** 2 + own[0] * own[1] + own[1] ** 2
    if (row + 2 < size) wanted[row * size + row + 2] = own[0] + own[1] + own[2]
    if (row + 3 < size) wanted[row * size + row + 3] = 1
  }
  expect(wanted.every((value, at) => value === y!.data[at])).toBe(true)
  await network.dispose()
})
