// Tests networks in a worker's service. In: a small encoder, threads, aborts, mistakes. Out: the same results
// and errors as from a network in this thread.
import { expect, test } from 'vitest'
import { bertBytes } from '../../../lab/bench/graphs/bert.ts'
import { localConnection } from '../../engine/wire/connection.ts'
import { nodeHost } from '../../tools/cli/node-host.ts'
import { loadNetwork } from '../service/load-network.ts'
import { createNetworkService } from '../service/network-service.ts'
import { Network, type NetworkOptions } from './network.ts'
import { encoderInputs, ids } from './testing/encoder-inputs.ts'

const SHAPE = { layers: 1, hidden: 64, heads: 2, intermediate: 96, vocabulary: 30, positions: 40 }
const BYTES = bertBytes(SHAPE)

const inputsOf = (batch: number, tokens: number) => encoderInputs(SHAPE.vocabulary, [batch, tokens])

const file = () => new File([new Uint8Array(BYTES)], 'bert.onnx')

function load(options: NetworkOptions = {}, host = nodeHost()): Promise<Network> {
  const service = createNetworkService((request, hooks) => loadNetwork(request, hooks, host))
  return Network.through(localConnection(service), file(), options)
}

test.each([1, 2] as const)(
  'a service with threads %d gives the same results as this thread',
  async (threads) => {
    const here = await Network.load(file())
    const there = await load({ threads })
    expect(there).toMatchObject({ inputs: here.inputs, outputs: here.outputs, build: here.build, threads })
    expect(there.metadata).toEqual(here.metadata)
    for (const [batch, tokens] of [
      [1, 3],
      [2, 40],
      [1, 3],
    ] as const) {
      const inputs = inputsOf(batch, tokens)
      expect(await there.run(inputs)).toEqual(await here.run(inputs))
      // The caller still owns the inputs.
      expect(inputs.input_ids.data).toHaveLength(batch * tokens)
    }
    const { memoryBytes, codeBytes } = there.memory()
    expect(memoryBytes).toBeGreaterThan(65_536)
    expect(codeBytes - here.memory().codeBytes).toBeLessThan(16)
    await Promise.all([here.dispose(), there.dispose()])
    await expect(there.run(inputsOf(1, 3))).rejects.toMatchObject({ code: 'disposed' })
  },
)

test('auto uses one thread per core, at most eight', async () => {
  const host = nodeHost()
  const few = await load({ threads: 'auto' }, { ...host, cores: 3 })
  expect(few.threads).toBe(3)
  await few.dispose()
  const many = await load({ threads: 'auto' }, { ...host, cores: 64 })
  expect(many.threads).toBe(8)
  await many.dispose()
})

test('mistakes give the same errors as in this thread', async () => {
  const network = await load()
  const right = inputsOf(1, 4)
  const wrong = ids([1, 4], () => SHAPE.vocabulary)
  await expect(network.run({ ...right, input_ids: wrong })).rejects.toMatchObject({ code: 'format' })
  const short = { ...right, attention_mask: inputsOf(1, 5).attention_mask }
  await expect(network.run(short)).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringContaining('[1,5]'),
  })
  expect(await network.run(right)).toHaveProperty('last_hidden_state')
  await network.dispose()
})

test('an abort rejects with its reason, and a later run gives the right result', async () => {
  const network = await load()
  const inputs = inputsOf(1, 6)
  const wanted = await network.run(inputs)
  const control = new AbortController()
  const run = network.run(inputs, { signal: control.signal })
  control.abort(new Error('no longer wanted'))
  await expect(run).rejects.toThrow('no longer wanted')
  expect(await network.run(inputs)).toEqual(wanted)
  await network.dispose()
  const early = new AbortController()
  const loading = load({ signal: early.signal })
  early.abort(new Error('closed'))
  await expect(loading).rejects.toThrow('closed')
})

test('disposing rejects pending runs', async () => {
  const network = await load()
  const run = network.run(inputsOf(1, 6))
  const [outcome] = await Promise.allSettled([run, network.dispose()])
  expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'disposed' } })
})

test('errors name invalid options, and a worker that cannot start threads rejects the load', async () => {
  const rejects = (options: object, message: string) =>
    expect(Network.load(file(), options)).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringContaining(message),
    })
  await rejects({ worker: 'yes' }, 'worker is "yes"')
  await rejects({ worker: false, threads: 2 }, 'worker is false but must be true with 2 threads')
  await rejects({ threads: 0 }, 'threads is 0')
  await rejects({ thread: 2 }, 'the nearest is threads')
  await rejects({ assets: { wasmm: '/' } }, 'wasmm')
  await rejects({ pool: 'shared' }, 'pool is not one of the options')
  // Node has no web workers.
  await rejects({ worker: true }, 'no workers can be started here')
  const host = nodeHost()
  const broken = () => {
    const port = host.startWorker!()
    return { ...port, postMessage: () => port.postMessage({ type: 'code', code: undefined as never }) }
  }
  await expect(load({ threads: 2 }, { ...host, startWorker: broken })).rejects.toMatchObject({
    code: 'internal',
  })
})
