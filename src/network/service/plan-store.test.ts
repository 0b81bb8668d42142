// Plans in a page's storage. In: a graph on a server, an origin's private file system, a full disk. Out: the
// entries beside the graph's file, and the outputs of each load.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { bertBytes } from '../../../lab/bench/graphs/bert.ts'
import { type FileServer, serveFiles } from '../../../test/helpers/file-server.ts'
import { givenPlace } from '../../core/formats/names/named-files.ts'
import { isPlan } from '../../core/store/derived.ts'
import { removeFiles } from '../../core/store/stored-models.ts'
import { memoryStorage } from '../../core/store/testing/memory-folders.ts'
import { storedFiles, unstore } from '../../engine/api/stored.ts'
import { encoderInputs } from '../api/testing/encoder-inputs.ts'
import { loadNetwork } from './load-network.ts'
import type { NetworkRequest } from './network-protocol.ts'

const SHAPE = { layers: 1, hidden: 16, heads: 2, intermediate: 24, vocabulary: 30, positions: 12 }

let storage: ReturnType<typeof memoryStorage>
let server: FileServer
beforeEach(async () => {
  storage = memoryStorage()
  server = await serveFiles({ 'm.onnx': bertBytes(SHAPE) })
  server.behaviour.etag = '"1"'
})
afterEach(async () => {
  await server.close()
  vi.restoreAllMocks()
})

async function outputs(tokens: number, how: Partial<NetworkRequest> = {}) {
  const request = {
    source: givenPlace(`${server.address}m.onnx`),
    cache: 'opfs',
    hub: undefined,
    dtype: undefined,
    assets: {},
    build: 'auto',
    weights: 'auto',
    threads: 1,
    ...how,
  } as NetworkRequest
  const hooks = { signal: new AbortController().signal, onProgress() {} }
  const host = { loadModule: () => Promise.reject(new Error('no kernels are needed')), cores: 1 }
  const network = await loadNetwork(request, hooks, host)
  try {
    const feeds = new Map(Object.entries(encoderInputs(SHAPE.vocabulary, [1, tokens], () => 1)))
    return await network.run(feeds)
  } finally {
    await network.dispose()
  }
}

const plans = async () => (await storedFiles()).filter(({ url }) => isPlan(url))

test('a second visit runs stored plans without a network, and "unstore" removes them', async () => {
  const first = await outputs(3)
  expect(await plans()).toHaveLength(2)
  server.behaviour.status = 503
  const { entries } = storage('halfbyte-models')
  const before = [...entries].filter(([name]) => name.endsWith('.bin')).map(([, { changed }]) => changed)
  expect(await outputs(3)).toEqual(first)
  const after = [...entries].filter(([name]) => name.endsWith('.bin')).map(([, { changed }]) => changed)
  expect(after).toEqual(before)
  await unstore(`${server.address}m.onnx`)
  expect(await storedFiles()).toEqual([])
})

test('several loads at once store each plan once', async () => {
  const made = await Promise.all([3, 3, 4, 3].map((tokens) => outputs(tokens)))
  expect(made[1]).toEqual(made[0])
  expect(made[3]).toEqual(made[0])
  expect(await plans()).toHaveLength(3)
})

test('nothing is stored with cache: none', async () => {
  await outputs(3, { cache: 'none' })
  expect(await storedFiles()).toEqual([])
})

test('on a full disk, networks run without plans, and their files stay', async () => {
  const first = await outputs(3)
  const folder = storage('halfbyte-models')
  await removeFiles(await plans())
  folder.disk = { step() {}, take: () => 0 }
  expect(await outputs(3)).toEqual(first)
  expect(await plans()).toEqual([])
  expect((await storedFiles()).map(({ isComplete }) => isComplete)).toEqual([true])
})
