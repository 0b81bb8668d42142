// Offers of graphs. In: repositories of real graphs, on a server and as picked files. Out: what a probe
// reports about each of them.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type FileServer, serveFiles } from '../../../test/helpers/file-server.ts'
import { givenPlace } from '../../core/formats/names/named-files.ts'
import { EXACT_KV } from '../../core/graph/ir.ts'
import { nodeHost } from '../../tools/cli/node-host.ts'
import { peekRequestedFiles } from '../load/open/requested-files.ts'
import type { ProbeRequest } from '../wire/protocol.ts'
import { graphOffers } from './graph-offers.ts'
import { probeModel } from './probe.ts'

const EXPORTS = join(import.meta.dirname, '../../../test/conformance/onnx/exports')
const NAMES = {
  'model_int8.onnx': 'dynamic-i8',
  'model_fp16.onnx': 'f16-inside',
  'model.onnx': 'qwen2-cache',
}

let server: FileServer
let sizes: Record<string, number>
beforeAll(async () => {
  const files = Object.entries(NAMES).map(async ([name, folder]) => [
    `repo/onnx/${name}`,
    new Uint8Array(await readFile(join(EXPORTS, folder, 'model.onnx'))),
  ])
  const graphs: Record<string, Uint8Array> = Object.fromEntries(await Promise.all(files))
  sizes = Object.fromEntries(Object.entries(graphs).map(([path, { length }]) => [path, length]))
  server = await serveFiles({ 'repo/config.json': new TextEncoder().encode('{}'), ...graphs })
})
afterAll(() => server.close())

const REQUEST = {
  threads: 1,
  build: 'auto',
  weights: 'auto',
  kvCache: EXACT_KV,
  contextLength: 64,
  cache: 'none',
  assets: {},
} as const

const probe = (request: Pick<ProbeRequest, 'source' | 'dtype' | 'limitBytes'>) =>
  probeModel(
    { ...REQUEST, ...request },
    { signal: new AbortController().signal },
    nodeHost(),
    peekRequestedFiles,
  )

test('a probe of a repository reports the cost of each graph, and the one that a load picks', async () => {
  server.requests.length = 0
  const { graphs, neededBytes, downloadBytes } = await probe({ source: givenPlace(`${server.address}repo/`) })
  const about = (name: string, dtype: string) => ({
    file: `onnx/${name}`,
    dtype,
    fits: true,
    downloadBytes: sizes[`repo/onnx/${name}`],
  })
  expect(graphs).toMatchObject([
    { ...about('model_int8.onnx', 'int8'), isDefault: true, neededBytes },
    { ...about('model_fp16.onnx', 'fp16'), isDefault: false },
    { ...about('model.onnx', 'fp32'), isDefault: false },
  ])
  expect(downloadBytes).toBe(graphs?.[0]?.downloadBytes)
  const missed = server.requests
    .map((line) => line.split(' ')[1] as string)
    .filter((path) => !server.files.has(path.slice(1)))
  expect(missed.filter((path, index) => missed.indexOf(path) !== index)).toEqual([])
})

test('a given dtype leaves no choice', async () => {
  const { graphs } = await probe({ source: givenPlace(`${server.address}repo/`), dtype: 'fp16' })
  expect(graphs).toBeUndefined()
})

test('a graph that needs more than is granted does not fit', async () => {
  const whole = await probe({ source: givenPlace(`${server.address}repo/`) })
  const limitBytes = whole.neededBytes - 1
  const { graphs } = await probe({ source: givenPlace(`${server.address}repo/`), limitBytes })
  expect(graphs?.map(({ fits }) => fits)).toEqual([false, false, false])
})

test('picked files are told apart by their names', async () => {
  const files = ['config.json', ...Object.keys(NAMES).map((name) => `onnx/${name}`)].map(
    (path) => new File([server.files.get(`repo/${path}`) as BlobPart], path.replace('onnx/', '')),
  )
  const { graphs } = await probe({ source: files })
  expect(graphs?.map(({ file }) => file)).toEqual(['model_int8.onnx', 'model_fp16.onnx', 'model.onnx'])
})

test('with two graphs of the same precision, dtype loads the first', () => {
  const graph = (file: string) => ({ file, bytes: 1600, downloadBytes: 0 })
  const graphs = ['model_quantized.onnx', 'model_q4.onnx', 'decoder_model_merged_quantized.onnx'].map(graph)
  const offers = graphOffers(graphs, { weightBytes: 1000, neededBytes: 5000 }, 5650)
  expect(offers.map(({ dtype }) => dtype)).toEqual(['q8', 'q4', undefined])
  // In memory, 8-bit codes have one scale per 32.
  expect(offers.map(({ neededBytes }) => neededBytes)).toEqual([5000, 5600, 5700])
  expect(offers.map(({ fits }) => fits)).toEqual([true, true, false])
})
