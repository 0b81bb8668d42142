// Networks on the hub. In: a hub with repositories of graphs, without a tokenizer or with other weights too.
// Out: which files are requested, the outputs with external data, and what an error says.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type FileServer, serveFiles } from '../../../../test/helpers/file-server.ts'
import { localConnection } from '../../../engine/wire/connection.ts'
import { Network } from '../../../network/api/network.ts'
import { TYPE } from '../../../network/onnx/testing/node-writer.ts'
import { modelBytes } from '../../../network/onnx/testing/write-model.ts'
import { loadNetwork as loadFromPage } from '../../../network/service/load-network.ts'
import { createNetworkService } from '../../../network/service/network-service.ts'
import { nodeHost } from '../node-host.ts'
import { loadNetwork } from './node-models.ts'

const text = (value: string) => new TextEncoder().encode(value)
const X = { dtype: 'f32', dims: [2], data: Float32Array.of(1, 2) } as const

/** y = x * w, with w in the graph or in a file beside it. */
const graph = (external?: Readonly<Record<string, string>>): Uint8Array =>
  modelBytes({
    nodes: [{ op: 'Mul', inputs: ['x', 'w'], outputs: ['y'] }],
    constants: [
      {
        ...{ name: 'w', type: TYPE.f32, dims: [2] },
        ...(external === undefined ? { raw: new Uint8Array(Float32Array.of(3, 4).buffer) } : { external }),
      },
    ],
    inputs: ['x'],
    outputs: ['y'],
  })

let hub: FileServer
beforeAll(async () => {
  hub = await serveFiles({
    'owner/picture/resolve/main/config.json': text('{"model_type":"resnet"}'),
    'owner/picture/resolve/main/preprocessor_config.json': text('{}'),
    'owner/picture/resolve/main/model.safetensors': new Uint8Array(8),
    'owner/picture/resolve/main/onnx/model.onnx': graph(),
    'owner/large/resolve/main/onnx/model.onnx': graph({ location: 'model.onnx_data' }),
    'owner/large/resolve/main/onnx/model.onnx_data': new Uint8Array(Float32Array.of(5, 6).buffer),
    'owner/parts/resolve/main/onnx/encoder_model.onnx': graph(),
  })
})
beforeEach(() => {
  hub.requests.length = 0
})
afterAll(() => hub.close())

/** In Node, and through the service of a page's worker. */
const LOADERS = [
  ['Node', loadNetwork],
  [
    'a worker',
    (source: string, options: object) => {
      const service = createNetworkService((request, hooks) => loadFromPage(request, hooks, nodeHost()))
      return Network.through(localConnection(service), source, options)
    },
  ],
] as const

const yOf = async (network: Network) => {
  const { y } = await network.run({ x: X })
  await network.dispose()
  return [...(y!.data as Float32Array)]
}

test.each(LOADERS)('%s loads the graph of a repository, and no other file of it', async (_, load) => {
  const options = { hub: { baseUrl: hub.address }, cache: 'none' } as const
  expect(await yOf(await load('owner/picture', options))).toEqual([3, 8])
  const found = new Set(hub.requests.map((asked) => asked.split(' ')[1]!))
  expect([...found].at(-1)).toBe('/owner/picture/resolve/main/onnx/model.onnx')
  expect([...found].every((path) => path.endsWith('.onnx'))).toBe(true)
})

test.each(LOADERS)('%s finds the external data of a graph in its folder', async (_, load) => {
  const options = { hub: { baseUrl: hub.address }, cache: 'none' } as const
  expect(await yOf(await load('owner/large', options))).toEqual([5, 12])
})

test.each(LOADERS)('%s says how to name a graph that has another name', async (_, load) => {
  const options = { hub: { baseUrl: hub.address }, cache: 'none' } as const
  await expect(load('owner/parts', options)).rejects.toMatchObject({
    code: 'network',
    message: expect.stringMatching(/neither model\.onnx nor .* name its graph, as in owner\/name:onnx\/enc/),
  })
  await expect(load('owner/parts', { ...options, dtype: 'q4' })).rejects.toThrow(/no onnx\/model_q4\.onnx/)
  expect(await yOf(await load('owner/parts:onnx/encoder_model.onnx', options))).toEqual([3, 8])
})
