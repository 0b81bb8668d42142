// Tests trust. In: stored files in memory, and errors of loads. Out: the files that the next load compares
// with the server.
import { expect, test } from 'vitest'
import { type ErrorCode, type ErrorDetail, HalfbyteError } from '../../base/errors.ts'
import { memoryStorage } from '../testing/memory-folders.ts'
import { distrust } from './load-marks.ts'
import { ModelStore } from './model-store.ts'
import { fileKey } from './notes.ts'
import { CHUNK_BYTES } from './sums.ts'

const URL = 'https://example.org/a.hbm'

/** Whether a stored file is still trusted after a load ended in this way. */
async function isKept(code: ErrorCode, detail: ErrorDetail): Promise<boolean> {
  const folder = memoryStorage()('halfbyte-models')
  const name = await fileKey(URL)
  folder.put(`${name}.bin`, 'four')
  folder.put(`${name}.json`, JSON.stringify({ url: URL, size: 4, etag: '', used: 7 }))
  await distrust(URL, new HalfbyteError(code, 'a sentence', detail))
  const store = (await ModelStore.open())!
  const found = await store.find(URL)
  if (found === undefined) expect(await store.list()).toMatchObject([{ url: URL, isComplete: false }])
  return found !== undefined
}

test('a file that is inconsistent or has an unsupported type or version is compared with the server again', async () => {
  expect(await isKept('format', { file: 'a.hbm' })).toBe(false)
  expect(await isKept('integrity', { file: 'a.hbm', start: 0, end: 4 })).toBe(false)
  expect(await isKept('unsupported', { file: 'a.hbm', version: 1 })).toBe(false)
})

test('in a pack in parts, only the damage is downloaded again, wherever it is', async () => {
  const folder = memoryStorage()('halfbyte-models')
  const url = (part: number) => `https://example.org/a-0000${part}-of-00003.hbm`
  const size = 2 * CHUNK_BYTES
  const names: string[] = []
  for (const part of [3, 1, 2]) {
    const name = await fileKey(url(part))
    names[part] = name
    folder.put(`${name}.bin`, 'x'.repeat(size))
    folder.put(`${name}.json`, JSON.stringify({ url: url(part), size, etag: '', used: 7, sums: [5, 6] }))
  }
  const detail = { file: 'a.hbm', start: size + CHUNK_BYTES - 10, end: size + CHUNK_BYTES }
  await distrust(url(2), new HalfbyteError('integrity', 'a sentence', detail))
  const sums = async (part: number) =>
    JSON.parse(await (await folder.entries.get(`${names[part]}.part`)!.getFile()).text()).sums
  expect([await sums(1), await sums(2), await sums(3)]).toEqual([
    [5, 6],
    [null, 6],
    [5, 6],
  ])
})

test('a file is kept if the load failed for another reason', async () => {
  expect(await isKept('out-of-memory', { needed: 5 })).toBe(true)
  expect(await isKept('unsupported', { pool: 'shared' })).toBe(true)
  expect(await isKept('network', { status: 404 })).toBe(true)
})
