// Tests concurrent reads of a stored file. In: a file whose chunks have not been compared yet. Out: the right
// bytes for each read, and no false alarms.
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type FileServer, serveFiles } from '../../../../test/helpers/file-server.ts'
import { givenPlace } from '../../formats/names/named-files.ts'
import { openAddress } from '../open-address.ts'
import { memoryStorage } from '../testing/memory-folders.ts'
import { CHUNK_BYTES } from './sums.ts'

const BYTES = new Uint8Array(2 * CHUNK_BYTES).map((_, index) => (index * 31 + (index >> 16) * 7) & 255)
let server: FileServer
beforeAll(async () => {
  server = await serveFiles({ 'model.onnx.data': BYTES })
})
afterAll(async () => {
  vi.restoreAllMocks()
  await server.close()
})

test.each([
  ['of two chunks', 1000, CHUNK_BYTES + 1000],
  ['of one chunk', 1000, 700_000],
])('two concurrent reads %s return the right bytes and fetch nothing again', async (_, one, other) => {
  memoryStorage()
  const url = `${server.address}model.onnx.data`
  for (const source of await openAddress(givenPlace(url))) source.close?.()
  server.requests.length = 0
  const [source] = await openAddress(givenPlace(url))
  const read = await Promise.all([one, other].map((offset) => source!.read(offset, 5000)))
  expect(read).toEqual([one, other].map((offset) => BYTES.slice(offset, offset + 5000)))
  expect(server.requests).toEqual([])
  source?.close?.()
})
