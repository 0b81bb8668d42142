// Tests of stored data. In: browsers that persist data, decline to, or cannot be asked. Out: whether the page
// may rely on it, and what is stored.
import { expect, test, vi } from 'vitest'
import { fileKey } from '../../core/store/device/notes.ts'
import { memoryStorage } from '../../core/store/testing/memory-folders.ts'
import { keepStored, makeRoom, storedBytes, storedFiles, unstore } from './stored.ts'

test('the browser is asked once to persist storage, and its answer is returned', async () => {
  for (const answer of [true, false]) {
    const persist = vi.fn(async () => answer)
    vi.stubGlobal('navigator', { storage: { persisted: async () => false, persist } })
    expect(await keepStored()).toBe(answer)
    expect(persist).toHaveBeenCalledTimes(1)
    vi.stubGlobal('navigator', { storage: { persisted: async () => true, persist } })
    expect(await keepStored()).toBe(true)
    expect(persist).toHaveBeenCalledTimes(1)
  }
})

test('a browser that cannot be asked guarantees nothing', async () => {
  vi.stubGlobal('navigator', {})
  expect(await keepStored()).toBe(false)
})

/** Files of these sizes, least recently used first, and an unfinished download. */
async function filled(sizes: Readonly<Record<string, number>>): Promise<void> {
  const folder = memoryStorage()('halfbyte-models')
  for (const [index, [url, size]] of Object.entries(sizes).entries()) {
    const name = await fileKey(url)
    folder.put(`${name}.bin`, '.'.repeat(size))
    folder.put(`${name}.json`, JSON.stringify({ url, size, etag: '', used: index }))
  }
  const url = 'https://a.example/half.gguf'
  const journal = { url, size: 10, etag: '', sums: [7] }
  folder.put(`${await fileKey(url)}.part`, JSON.stringify(journal))
}

test('the bytes of a model are those of its complete files, and disappear when it is removed', async () => {
  const part = (number: number) => `https://a.example/big-0000${number}-of-00002.gguf`
  await filled({ [part(1)]: 100, [part(2)]: 50, 'https://a.example/small.gguf': 7 })
  expect(await storedBytes(part(2))).toBe(150)
  expect(await storedBytes('https://a.example/half.gguf')).toBe(0)
  await unstore(part(1))
  expect(await storedBytes(part(2))).toBe(0)
  expect(await storedBytes('https://a.example/small.gguf')).toBe(7)
})

test('a hub repository is listed under the name that it was loaded by', async () => {
  const only = 'https://huggingface.co/owner/name/resolve/main/my%20model.gguf'
  const mirrored = 'https://mirror.example/owner/name/resolve/v1/a.gguf'
  await filled({ [only]: 100, [mirrored]: 50 })
  const hub = { baseUrl: 'https://mirror.example' }
  expect(await storedBytes('owner/name')).toBe(100)
  expect(await storedBytes({ repo: 'owner/name' })).toBe(100)
  expect(await storedBytes('hf:owner/name@v1', hub)).toBe(50)
  await unstore('owner/name:a.gguf@v1', hub)
  expect(await storedBytes('owner/name@v1', hub)).toBe(0)
  expect(await storedBytes('owner/name')).toBe(100)
})

test('unfinished downloads are removed first, then the least recently used files, and only if that is enough', async () => {
  await filled({ 'https://a.example/old.gguf': 100, 'https://a.example/new.gguf': 50 })
  expect(await makeRoom(161)).toEqual([])
  expect(await storedFiles()).toHaveLength(3)
  expect(await makeRoom(20)).toEqual(['https://a.example/half.gguf', 'https://a.example/old.gguf'])
  expect((await storedFiles()).map(({ url }) => url)).toEqual(['https://a.example/new.gguf'])
})
