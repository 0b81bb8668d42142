// Counts the memory that is passed to the browser for reading a stored file. In: a stored model, and a load
// of it. Out: the total size of the read buffers.
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { ggufFile } from '../../../../test/conformance/testing/model-files.ts'
import { randomLlama } from '../../../../test/conformance/testing/random-llama.ts'
import { type FileServer, serveFiles } from '../../../../test/helpers/file-server.ts'
import { buildModel } from '../../../engine/load/build-model.ts'
import { prepareModel } from '../../../engine/load/prepare.ts'
import { nodeHost } from '../../../tools/cli/node-host.ts'
import { openModel } from '../../arch/open-model.ts'
import { givenPlace } from '../../formats/names/named-files.ts'
import { openAddress } from '../open-address.ts'
import { memoryStorage } from '../testing/memory-folders.ts'
import { PIECE_BYTES } from './sums.ts'

let server: FileServer
let url: string
let readInto: Set<ArrayBufferLike>
beforeAll(async () => {
  const model = await ggufFile(randomLlama({ seed: 3, layers: 4, heads: 8, intermediate: 1024 }))
  server = await serveFiles({ 'm.gguf': new Uint8Array(await model.arrayBuffer()) })
  url = `${server.address}m.gguf`
})
afterAll(async () => {
  vi.restoreAllMocks()
  await server.close()
})
beforeEach(async () => {
  readInto = memoryStorage()('halfbyte-models').readInto
  for (const source of await openAddress(givenPlace(url))) source.close?.()
  readInto.clear()
})

const bytesOf = (buffers: Iterable<ArrayBufferLike>) =>
  [...buffers].reduce((sum, { byteLength }) => sum + byteLength, 0)

test('reads of any size pass only one buffer to the browser', async () => {
  const [source] = await openAddress(givenPlace(url))
  for (let at = 0; at + 300_000 <= source!.size; at += 300_000) {
    await source!.read(at, 300_000)
    await source!.readInto!(new Uint8Array(70_000), at)
  }
  expect(bytesOf(readInto)).toBe(PIECE_BYTES)
  source!.close?.()
})

test('reads into shared memory, as threads use it, are direct', async () => {
  const [source] = await openAddress(givenPlace(url))
  const memory = new SharedArrayBuffer(source!.size)
  const bytes = await source!.read(0, source!.size)
  await source!.readInto!(new Uint8Array(memory), 0)
  expect(readInto.has(memory)).toBe(true)
  expect(Buffer.compare(new Uint8Array(memory), bytes)).toBe(0)
  source!.close?.()
})

test('a whole load passes no more than one buffer, whatever the number of matrices', async () => {
  const sources = await openAddress(givenPlace(url))
  expect(sources[0]!.size).toBeGreaterThan(16 * PIECE_BYTES)
  const prepared = await prepareModel(await openModel(sources), { weights: 'auto' })
  const built = await buildModel(
    prepared,
    { threads: 1, build: 'auto', host: nodeHost() },
    { signal: new AbortController().signal, onProgress() {} },
  )
  const given = [...readInto].filter((each) => each instanceof ArrayBuffer)
  expect(bytesOf(given)).toBe(PIECE_BYTES)
  await built.dispose()
  for (const source of sources) source.close?.()
})
