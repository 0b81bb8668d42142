// Tests stored models. In: a folder in memory with false manifests and journals. Out: complete files only.
import { expect, test, vi } from 'vitest'
import { memoryStorage } from '../testing/memory-folders.ts'
import { ModelStore } from './model-store.ts'
import { fileKey } from './notes.ts'

const URL = 'https://example.org/a.gguf'

async function opened() {
  const folder = memoryStorage()('halfbyte-models')
  return { folder, store: (await ModelStore.open())!, name: await fileKey(URL) }
}

test('a file with its manifest is found and listed', async () => {
  const { folder, store, name } = await opened()
  folder.put(`${name}.bin`, 'four')
  folder.put(`${name}.json`, JSON.stringify({ url: URL, size: 4, etag: '', used: 7 }))
  expect((await store.find(URL))?.size).toBe(4)
  expect(await store.list()).toEqual([{ url: URL, size: 4, used: 7, isComplete: true }])
})

test.each([
  ['with a size as text', { url: URL, size: '4', etag: '' }],
  ['of a negative size', { url: URL, size: -4, etag: '' }],
  ['with a size of half a byte', { url: URL, size: 4.5, etag: '' }],
  ['without an ETag', { url: URL, size: 4 }],
  ['of another address', { url: `${URL}x`, size: 4, etag: '' }],
  ['that is a list', [URL, 4, '']],
  ['that is empty', null],
])('a manifest %s does not count as a file', async (_, manifest) => {
  const { folder, store, name } = await opened()
  folder.put(`${name}.bin`, 'four')
  folder.put(`${name}.json`, JSON.stringify(manifest))
  expect(await store.find(URL)).toBeUndefined()
  expect(await store.list()).toEqual([])
})

test('listing removes unreadable files, but not while they are being written', async () => {
  const { folder, store, name } = await opened()
  const other = await fileKey(`${URL}2`)
  folder.put(`${name}.bin`, 'four')
  folder.put(`${name}.json`, '{"url":')
  folder.put(`${other}.bin`, 'four')
  folder.put(`${other}.json`, JSON.stringify({ url: `${URL}2`, size: 4, etag: '', used: 7 }))
  const asked: unknown[] = []
  let isFree = false
  const request = async (lock: string, options: unknown, work: (lock: unknown) => unknown) => {
    asked.push([lock, options])
    return work(isFree ? {} : null)
  }
  vi.stubGlobal('navigator', { ...navigator, locks: { request } })
  const kept = [{ url: `${URL}2`, size: 4, used: 7, isComplete: true }]
  expect(await store.list()).toEqual(kept)
  expect(folder.entries.size).toBe(4)
  isFree = true
  expect(await store.list()).toEqual(kept)
  expect([...folder.entries.keys()]).toEqual([`${other}.bin`, `${other}.json`])
  expect(asked[0]).toEqual([`halfbyte-store-${name}`, { mode: 'exclusive', ifAvailable: true }])
})

test('a load does not read all other manifests for each of its files', async () => {
  const { folder, store } = await opened()
  const urls = Array.from({ length: 30 }, (_, index) => `${URL}${index}`)
  for (const url of urls) {
    const name = await fileKey(url)
    folder.put(`${name}.bin`, 'four')
    folder.put(`${name}.json`, JSON.stringify({ url, size: 4, etag: '', used: 7, turn: 1 }))
  }
  await store.touch(urls[1]!)
  const reads = vi.spyOn(folder, 'getFileHandle')
  await store.touch(urls[0]!)
  expect(reads.mock.calls.length).toBeLessThan(10)
  expect((await store.list()).slice(-2).map(({ url }) => url)).toEqual([urls[1], urls[0]])
})

test('an invalid time counts as the oldest', async () => {
  const { folder, store, name } = await opened()
  folder.put(`${name}.json`, JSON.stringify({ url: URL, size: 4, etag: '', used: 'now' }))
  expect(await store.list()).toMatchObject([{ used: 0 }])
})

test('a journal lists the stored chunks; it is ignored if it has a negative size, too many chunks, invalid sums or another address', async () => {
  const { folder, store, name } = await opened()
  const journal = { url: URL, size: 10, etag: '', sums: [7] }
  const lies = [
    { size: -1 },
    { size: 1e300 },
    { sums: [7, 7] },
    { sums: [-1] },
    { sums: ['7'] },
    { sums: [] },
    { sums: undefined },
    { url: `${URL}x` },
  ]
  folder.put(`${name}.part`, JSON.stringify(journal))
  expect(await store.list()).toMatchObject([{ url: URL, size: 10, isComplete: false }])
  for (const lie of lies) {
    folder.put(`${name}.part`, JSON.stringify({ ...journal, ...lie }))
    expect(await store.list(), JSON.stringify(lie)).toEqual([])
  }
})
