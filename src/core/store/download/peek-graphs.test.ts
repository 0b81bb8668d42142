// Tests peeking at repositories in the layout of transformers.js. In: a real server. Out: its graphs, their
// sizes, and all requests needed.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type FileServer, serveFiles } from '../../../../test/helpers/file-server.ts'
import { givenPlace } from '../../formats/names/named-files.ts'
import { fileKey } from '../device/notes.ts'
import { openAddress } from '../open-address.ts'
import { memoryStorage } from '../testing/memory-folders.ts'
import { peekAddress } from './peek.ts'

const KB = 1 << 10
const bytes = (length: number) => new Uint8Array(length)
let server: FileServer

beforeEach(async () => {
  server = await serveFiles({
    'repo/config.json': bytes(10),
    'repo/onnx/model_q4.onnx': bytes(700 * KB),
    'repo/onnx/model_q4f16.onnx': bytes(500 * KB),
    'repo/onnx/model.onnx': bytes(30 * KB),
    'repo/onnx/model.onnx_data': bytes(900 * KB),
    'repo/onnx/model.onnx_data_1': bytes(100 * KB),
    'repo/onnx/vision_encoder.onnx': bytes(90 * KB),
  })
})
afterEach(() => server.close())

const GRAPHS = [
  { file: 'onnx/model_q4.onnx', bytes: 700 * KB, downloadBytes: 700 * KB },
  { file: 'onnx/model_q4f16.onnx', bytes: 500 * KB, downloadBytes: 500 * KB },
  { file: 'onnx/model.onnx', bytes: 1030 * KB, downloadBytes: 1030 * KB },
]

test('every graph is found with its data, and every file is requested once', async () => {
  const { graphs, close } = await peekAddress(givenPlace(`${server.address}repo/`), { cache: 'none' })
  expect(await graphs?.()).toEqual(GRAPHS)
  await close()
  const paths = server.requests.map((line) => line.split(' ')[1])
  expect(paths.filter((path, index) => paths.indexOf(path) !== index)).toEqual([])
  expect(paths).not.toContain('/repo/onnx/vision_encoder.onnx')
  // The first graph is opened; for the others, one byte is enough.
  const asked = server.requests.filter((line) => /q4f16.onnx |model.onnx_data /.test(line))
  expect(asked).toEqual(asked.map((line) => line.replace(/bytes=.*/, 'bytes=0-0')))
  expect(asked).toHaveLength(2)
})

test('a server without range support gives the same result', async () => {
  server.behaviour = { ranges: false }
  const { graphs, close } = await peekAddress(givenPlace(`${server.address}repo/`), { cache: 'none' })
  expect(await graphs?.()).toEqual(GRAPHS)
  await close()
})

test('a file that the server denies is omitted', async () => {
  server.behaviour = { only: 'repo/onnx/model_q4f16.onnx', status: 403 }
  const { graphs, close } = await peekAddress(givenPlace(`${server.address}repo/`), { cache: 'none' })
  expect(await graphs?.()).toEqual(GRAPHS.filter(({ file }) => !file.includes('f16')))
  await close()
})

test('stored files need no download, and are not requested', async () => {
  const folder = memoryStorage()('halfbyte-models')
  const url = `${server.address}repo/onnx/model_q4f16.onnx`
  await openAddress(givenPlace(url))
  const held = `${server.address}repo/onnx/model.onnx_data`
  const journal = { url: held, size: 900 * KB, etag: '', sums: [] }
  folder.put(`${await fileKey(held)}.part`, JSON.stringify(journal))
  server.requests.length = 0
  const { graphs, close } = await peekAddress(givenPlace(`${server.address}repo/`))
  expect(await graphs?.()).toEqual(
    GRAPHS.map((graph) => (graph.file.includes('f16') ? { ...graph, downloadBytes: 0 } : graph)),
  )
  expect(server.requests.filter((line) => line.includes('q4f16.onnx '))).toEqual([])
  await close()
})

test.each(['repo/onnx/model_q4.onnx', 'plain/'])('%s does not offer a choice of graphs', async (path) => {
  server.files.set('plain/config.json', bytes(10))
  server.files.set('plain/model.safetensors', bytes(100))
  const { graphs, close } = await peekAddress(givenPlace(server.address + path), { cache: 'none' })
  expect(graphs).toBeUndefined()
  await close()
})
