// Tests peeking. In: a real server, with ranges and without. Out: headers, for few bytes beyond their own.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type FileServer, serveFiles } from '../../../../test/helpers/file-server.ts'
import { givenPlace } from '../../formats/names/named-files.ts'
import { fileKey } from '../device/notes.ts'
import { openAddress } from '../open-address.ts'
import { memoryStorage } from '../testing/memory-folders.ts'
import { peekAddress } from './peek.ts'

const MIB = 1 << 20
const LARGE = new Uint8Array(38 * MIB).map((_, index) => (index * 31 + (index >> 8)) & 255)
let server: FileServer

beforeEach(async () => {
  server = await serveFiles({ 'large.gguf': LARGE, 'index/config.json': new Uint8Array(10) })
})
afterEach(() => server.close())

const peek = (path: string) => peekAddress(givenPlace(server.address + path), { cache: 'none' })

test('from a server with range support, half a megabyte is requested, plus whatever is read beyond it', async () => {
  const { sources, downloadBytes, close } = await peek('large.gguf')
  expect(downloadBytes).toBe(LARGE.byteLength)
  expect(await sources[0]?.read(100, MIB)).toEqual(LARGE.slice(100, MIB + 100))
  expect(server.requests).toEqual(['GET /large.gguf bytes=0-524287', 'GET /large.gguf bytes=524288-1572863'])
  await close()
})

test('a temporarily overloaded server is asked again', async () => {
  server.behaviour = { status: 503, refusals: 2 }
  const { sources } = await peekAddress(givenPlace(`${server.address}large.gguf`), {
    cache: 'none',
    firstWaitMs: 1,
  })
  expect(await sources[0]?.read(7, 10)).toEqual(LARGE.slice(7, 17))
  expect(server.requests).toEqual(Array(3).fill('GET /large.gguf bytes=0-524287'))
})

test('a server without ranges is read from the start, and only as far as needed', async () => {
  server.behaviour = { ranges: false }
  const { sources, downloadBytes, close } = await peek('large.gguf')
  expect(downloadBytes).toBe(LARGE.byteLength)
  expect(await sources[0]?.read(MIB, 1000)).toEqual(LARGE.slice(MIB, MIB + 1000))
  expect(await sources[0]?.read(7, 1000)).toEqual(LARGE.slice(7, 1007))
  await close()
  expect(server.requests).toHaveLength(1)
})

test('a body that ends before its header causes a typed error', async () => {
  server.behaviour = { ranges: false, cutAfter: 1000 }
  const { sources, close } = await peek('large.gguf')
  await expect(sources[0]?.read(0, 2000)).rejects.toMatchObject({ code: 'network' })
  await close()
})

test('data from an earlier visit need not be downloaded', async () => {
  const url = `${server.address}large.gguf`
  const journal = { url, size: LARGE.byteLength, etag: '', sums: [null, 7, ...Array(7).fill(null), 9] }
  memoryStorage()('halfbyte-models').put(`${await fileKey(url)}.part`, JSON.stringify(journal))
  const { downloadBytes, close } = await peekAddress(givenPlace(url))
  expect(downloadBytes).toBe(LARGE.byteLength - 6 * MIB)
  await close()
})

test('reading from a server without ranges is bounded, and the connection is closed if another file is missing', async () => {
  const cancel = vi.fn()
  const pull = (controller: ReadableStreamDefaultController) => controller.enqueue(new Uint8Array(MIB))
  const endless = () =>
    new Response(new ReadableStream({ pull, cancel }), { headers: { 'content-length': '1000000000' } })
  vi.stubGlobal('fetch', async (url: string) =>
    url.includes('00002-of') ? new Response('', { status: 404 }) : endless(),
  )
  const { sources, close } = await peekAddress(givenPlace('https://example.org/one.gguf'), { cache: 'none' })
  await expect(sources[0]?.read(300 * MIB, 10)).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringContaining(
      `byte ${300 * MIB} is part of the header, but the server does not support range requests`,
    ),
  })
  await close()
  cancel.mockClear()
  const parts = peekAddress(givenPlace('https://example.org/m-00001-of-00002.gguf'), { cache: 'none' })
  await expect(parts).rejects.toMatchObject({ code: 'network', detail: { status: 404 } })
  expect(cancel).toHaveBeenCalled()
})

test('a server that reports no size is rejected, and so is one without the file', async () => {
  server.behaviour = { ranges: false, length: false }
  await expect(peek('large.gguf')).rejects.toMatchObject({ code: 'unsupported' })
  server.behaviour = {}
  await expect(peek('nothing.gguf')).rejects.toMatchObject({ code: 'network' })
})

test('a folder’s vocabulary and templates are not requested', async () => {
  server.files.set('index/model.safetensors', LARGE)
  const { sources, close } = await peek('index/')
  expect(sources.map(({ name }) => name)).toEqual(['config.json', 'model.safetensors'])
  expect(server.requests.map((line) => line.split(' ')[1])).toEqual([
    '/index/config.json',
    '/index/model.safetensors.index.json',
    '/index/model.safetensors',
  ])
  await close()
})

test('damaged headers of a stored file are read from the server and count as bytes to download', async () => {
  const folder = memoryStorage()('halfbyte-models')
  const url = `${server.address}large.gguf`
  for (const source of await openAddress(givenPlace(url))) source.close?.()
  const whole = await peekAddress(givenPlace(url))
  expect(whole.downloadBytes).toBe(0)
  await whole.close()
  const name = await fileKey(url)
  folder.entries.get(`${name}.bin`)!.bytes[5]! ^= 1
  const before = [...folder.changes]
  server.requests.length = 0
  const peeked = await peekAddress(givenPlace(url))
  expect(await peeked.sources[0]!.read(0, 100)).toEqual(LARGE.slice(0, 100))
  expect(await peeked.sources[0]!.read(9 * MIB, 100)).toEqual(LARGE.slice(9 * MIB, 9 * MIB + 100))
  expect(peeked.downloadBytes).toBe(4 * MIB)
  expect(server.requests).toHaveLength(2)
  await peeked.close()
  // A probe leaves repairs to the load.
  expect(folder.changes.filter((change) => /write|remove|truncate/.test(change))).toEqual(
    before.filter((change) => /write|remove|truncate/.test(change)),
  )
})

test('without a network, the error names the damaged header and says what the load needs', async () => {
  const folder = memoryStorage()('halfbyte-models')
  const gone = await serveFiles({ 'm.gguf': LARGE.slice(0, 5 * MIB) })
  const url = `${gone.address}m.gguf`
  for (const source of await openAddress(givenPlace(url))) source.close?.()
  await gone.close()
  folder.entries.get(`${await fileKey(url)}.bin`)!.bytes[5]! ^= 1
  const { sources, close } = await peekAddress(givenPlace(url), { firstWaitMs: 1 })
  await expect(sources[0]!.read(0, 100)).rejects.toMatchObject({
    code: 'network',
    message: expect.stringContaining('m.gguf was stored on this device but is missing'),
  })
  await close()
})
