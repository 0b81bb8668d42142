// Tests damage on the device. In: a stored GGUF with flipped or zeroed bytes. Out: the right bytes from the
// next load.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type FileServer, serveFiles } from '../../../../test/helpers/file-server.ts'
import { openRequestedFiles } from '../../../engine/load/open/requested-files.ts'
import type { HalfbyteError } from '../../base/errors.ts'
import { givenPlace } from '../../formats/names/named-files.ts'
import { memoryStorage } from '../testing/memory-folders.ts'
import { distrust, trust } from './load-marks.ts'
import { fileKey } from './notes.ts'
import { CHUNK_BYTES } from './sums.ts'

/** Slightly more than sixteen chunks. */
const SIZE = 16 * CHUNK_BYTES + 1000
const BYTES = new Uint8Array(SIZE).map((_, index) => (index * 31 + (index >> 9)) & 255)

let server: FileServer
let url: string
let folder: ReturnType<ReturnType<typeof memoryStorage>>
let name: string
beforeEach(async () => {
  folder = memoryStorage()('halfbyte-models')
  server = await serveFiles({ 'm.gguf': BYTES })
  server.behaviour.etag = '"1"'
  url = `${server.address}m.gguf`
  name = await fileKey(url)
  expect(await isRight()).toBe(true)
  await trust(url)
  server.requests.length = 0
})
afterEach(async () => {
  vi.restoreAllMocks()
  await server.close()
})

const open = () => {
  const hooks = { signal: new AbortController().signal, onProgress() {} }
  return openRequestedFiles({ source: givenPlace(url), cache: 'opfs', hub: undefined }, hooks)
}

/** Whether a load reads the server's bytes. */
async function isRight(): Promise<boolean> {
  const { sources, close } = await open()
  const read = await sources[0]!.read(0, SIZE)
  await close()
  return Buffer.compare(read, BYTES) === 0
}

const asked = () =>
  server.requests.splice(0).map((line) => Number(/bytes=(\d+)-/.exec(line)?.[1] ?? -1) / CHUNK_BYTES)

/** Changes the stored bytes. `isSeen`: as a program would, so that the file system records the change. */
function damage(isSeen: boolean, ...at: readonly number[]): void {
  const entry = folder.entries.get(`${name}.bin`)!
  for (const index of at) entry.bytes[index]! ^= 1
  if (isSeen) entry.changed++
}

test('intact chunks are not requested, and are compared again only if something wrote to them', async () => {
  expect(await isRight()).toBe(true)
  damage(true)
  expect(await isRight()).toBe(true)
  expect(await isRight()).toBe(true)
  expect(asked()).toEqual([])
})

describe('bytes written by another program', () => {
  test('are found wherever they are, and their chunks are downloaded again', async () => {
    damage(true, 0, 3 * CHUNK_BYTES - 1, SIZE - 1)
    expect(await isRight()).toBe(true)
    expect(asked().sort((a, b) => a - b)).toEqual([0, 2, 16])
    expect(await isRight()).toBe(true)
    expect(asked()).toEqual([])
  })

  test('are found if they are zeros', async () => {
    const entry = folder.entries.get(`${name}.bin`)!
    entry.bytes.fill(0)
    entry.changed++
    expect(await isRight()).toBe(true)
    expect(asked()).toHaveLength(17)
  })
})

test('bytes lost by the disk are downloaded again before any of them is used', async () => {
  damage(false, 7 * CHUNK_BYTES + 5, 15 * CHUNK_BYTES)
  const { sources, close } = await open()
  const at = 7 * CHUNK_BYTES - 100
  const length = 1000
  const read = await sources[0]!.read(at, length)
  expect(Buffer.compare(read, BYTES.subarray(at, at + length))).toBe(0)
  // Finding the first of them triggers a comparison of the others.
  expect(asked().sort((a, b) => a - b)).toEqual([7, 15])
  await close()
  expect(await isRight()).toBe(true)
  expect(asked()).toEqual([])
})

test('two concurrent reads that find the same damage both get the right bytes', async () => {
  damage(false, 3 * CHUNK_BYTES + 5, 9 * CHUNK_BYTES)
  const { sources, close } = await open()
  const starts = [3 * CHUNK_BYTES, 9 * CHUNK_BYTES - 10, 12 * CHUNK_BYTES]
  const reads = await Promise.all(starts.map((at) => sources[0]!.read(at, 100)))
  for (const [index, at] of starts.entries())
    expect(Buffer.compare(reads[index]!, BYTES.subarray(at, at + 100))).toBe(0)
  await close()
})

test('after a file error, all chunks are compared and damaged ones are downloaded again', async () => {
  damage(false, 12 * CHUNK_BYTES)
  await distrust(url, { code: 'format', detail: { file: 'm.gguf' } } as unknown as HalfbyteError)
  expect(await isRight()).toBe(true)
  expect(asked().sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 12])
})

test('a file that is invalid even with a new header is downloaded again completely, but only once', async () => {
  const doubt = () =>
    distrust(url, { code: 'format', detail: { file: 'm.gguf' } } as unknown as HalfbyteError)
  const chunks: number[] = []
  for (let turn = 0; turn < 3; turn++) {
    await doubt()
    expect(await isRight()).toBe(true)
    chunks.push(asked().length)
  }
  expect(chunks).toEqual([4, 17, 4])
  // A file that has since been read successfully can become suspect again.
  await trust(url)
  await doubt()
  expect(await isRight()).toBe(true)
  expect(asked()).toHaveLength(4)
})

test('a journal that lists missing chunks is not trusted', async () => {
  await distrust(url, { code: 'integrity', detail: { start: 0, end: 1 } } as unknown as HalfbyteError)
  folder.entries.get(`${name}.bin`)!.bytes.fill(0, CHUNK_BYTES, 5 * CHUNK_BYTES)
  expect(await isRight()).toBe(true)
  expect(asked().sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4])
})

test('a file stored by an earlier release is read unchanged', async () => {
  const manifest = folder.entries.get(`${name}.json`)!
  const { sums: _, changed: __, ...old } = JSON.parse(await (await manifest.getFile()).text())
  folder.put(`${name}.json`, JSON.stringify(old))
  expect(await isRight()).toBe(true)
  expect(asked()).toEqual([])
})
