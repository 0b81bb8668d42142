// Tests stored sessions. In: a folder in memory, with leftovers of tabs and disks. Out: complete sessions,
// and nothing else.
import { expect, test } from 'vitest'
import { memoryStorage } from '../testing/memory-folders.ts'
import { fileKey } from './notes.ts'
import { SessionStore } from './sessions.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

async function* pieces(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield bytes(text)
}

async function opened() {
  const folder = memoryStorage()('halfbyte-sessions')
  const store = (await SessionStore.open())!
  const text = (name: string) =>
    store.read(name, async (source) => new TextDecoder().decode(await source.read(0, source.size)))
  return { folder, store, text }
}

test('a session replaces the previous one, and stays until it is removed', async () => {
  const { folder, store, text } = await opened()
  expect(await text('trip')).toBeUndefined()
  const stored = await store.put('trip', pieces('one', 'two'), 6)
  expect(stored).toEqual({ name: 'trip', size: 6, saved: expect.any(Number) })
  await store.put('trip', pieces('three'), 5)
  await store.put('other', pieces('four'), 4)
  expect(await text('trip')).toBe('three')
  expect((await store.list()).map(({ name, size }) => [name, size]).sort()).toEqual([
    ['other', 4],
    ['trip', 5],
  ])
  expect(folder.entries.size).toBe(4)
  await store.remove('trip')
  expect(await text('trip')).toBeUndefined()
  expect(await text('other')).toBe('four')
})

test.each([
  ['no JSON', '{"name":"trip","size":4'],
  ['a list', '["trip",4,5]'],
  ['null', 'null'],
  ['a number', '4'],
  ['no name', '{"size":4,"saved":5}'],
  ['a name that is a number', '{"name":4,"size":4,"saved":5}'],
  ['the name of another', '{"name":"other","size":4,"saved":5}'],
  ['no size', '{"name":"trip","saved":5}'],
  ['a size as text', '{"name":"trip","size":"4","saved":5}'],
  ['a negative size', '{"name":"trip","size":-4,"saved":5}'],
  ['half a byte', '{"name":"trip","size":4.5,"saved":5}'],
  ['another size', '{"name":"trip","size":5,"saved":5}'],
  ['no time', '{"name":"trip","size":4}'],
  ['a time that is a list', '{"name":"trip","size":4,"saved":[5]}'],
  ['an impossibly early time', '{"name":"trip","size":4,"saved":-1}'],
])('a manifest (%s) does not count as a session and is removed', async (_, manifest) => {
  const { folder, store, text } = await opened()
  const base = `${await fileKey('trip')}-7`
  folder.put(`${base}.bin`, 'half')
  folder.put(`${base}.json`, manifest)
  expect(await store.list()).toEqual([])
  expect(await text('trip')).toBeUndefined()
  await store.put('other', pieces('four'), 4)
  expect(await store.list()).toMatchObject([{ name: 'other' }])
  expect(folder.entries.size).toBe(2)
})

test('if a manifest is damaged, the previous complete session is used', async () => {
  const { folder, store, text } = await opened()
  await store.put('trip', pieces('whole'), 5)
  const base = `${await fileKey('trip')}-7`
  folder.put(`${base}.bin`, 'half')
  folder.put(`${base}.json`, '{"name":"trip","size":"4","saved":5}')
  expect(await text('trip')).toBe('whole')
  expect(await store.list()).toMatchObject([{ name: 'trip', size: 5 }])
})

test('sweeping reads the manifest of a complete session once, however many partial sessions there are', async () => {
  const { folder, store } = await opened()
  await store.put('kept', pieces('four'), 4)
  for (const name of ['a', 'b', 'c', 'd']) folder.put(`${await fileKey(name)}-1.bin`, 'half')
  folder.put(`${await fileKey('a')}-2.bin`, 'half')
  folder.reads.length = 0
  await store.put('other', pieces('five'), 4)
  expect(folder.entries.size).toBe(4)
  const kept = `${await fileKey('kept')}-1.json`
  expect(folder.reads.filter((name) => name === kept)).toHaveLength(1)
})

test('a session with an out-of-range number is ignored', async () => {
  const { folder, store, text } = await opened()
  folder.put(`${await fileKey('trip')}-${'9'.repeat(30)}.bin`, 'half')
  await store.put('trip', pieces('whole'), 5)
  expect(await text('trip')).toBe('whole')
})
