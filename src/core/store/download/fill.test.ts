// Tests storing models. In: storage in memory, with the test's own locks and quota. Out: the order of writes,
// the locks, and the remaining files.
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { ModelStore } from '../device/model-store.ts'
import { deviceNotes, fileKey } from '../device/notes.ts'
import type { StoredPart } from '../device/part-file.ts'
import { CHUNK_BYTES } from '../device/sums.ts'
import { openSyncReader, type SyncFile, writeAll } from '../device/sync-file.ts'
import { memoryStorage } from '../testing/memory-folders.ts'

const URL = 'https://example.org/a.gguf'
const BYTES = new Uint8Array(2.5 * CHUNK_BYTES).map((_, at) => at & 255)
const VERSION = { size: BYTES.length, etag: '"1"' }

let folder: ReturnType<ReturnType<typeof memoryStorage>>
let store: ModelStore
let name: string
beforeEach(async () => {
  folder = memoryStorage()('halfbyte-models')
  store = (await ModelStore.open())!
  name = await fileKey(URL)
})

/** A complete download, with extra bytes after its end because an earlier version was longer. */
async function write(part: StoredPart): Promise<typeof VERSION> {
  await part.begin(VERSION)
  for (let index = 0; index < 3; index++) {
    part.write(index * CHUNK_BYTES, BYTES.subarray(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES))
    part.finish(index)
  }
  part.write(BYTES.length, new Uint8Array(9))
  return VERSION
}

const journal = async (of = name): Promise<{ readonly sums: readonly (number | null)[] }> =>
  JSON.parse(await (await folder.entries.get(`${of}.part`)!.getFile()).text())

test('bytes are written and flushed before the journal lists them, and the manifest comes last', async () => {
  await store.fill(URL, write)
  expect(folder.changes.join(', ')).toMatch(
    /^flush bin, write part, truncate part, flush part, truncate bin, flush bin, write part, .*(write bin, flush bin, write part, truncate part, flush part, ){3}write bin, truncate bin, flush bin, close bin, close part, write json, truncate json, flush json, close json, remove part$/,
  )
  expect([...folder.entries.keys()].sort()).toEqual([`${name}.bin`, `${name}.json`])
  expect((await store.find(URL))?.size).toBe(BYTES.length)
})

test('an existing file is not written again, unless it is truncated', async () => {
  await store.fill(URL, write)
  const again = vi.fn(write)
  expect((await store.fill(URL, again))?.file?.size).toBe(BYTES.length)
  expect(again).not.toHaveBeenCalled()
  folder.entries.get(`${name}.bin`)!.bytes = BYTES.slice(1)
  expect(await store.find(URL)).toBeUndefined()
  await store.fill(URL, again)
  expect(again).toHaveBeenCalledTimes(1)
})

test('a file is removed after its manifest, and distrusted before that', async () => {
  await store.fill(URL, write)
  folder.changes.length = 0
  await store.doubt(URL, { start: CHUNK_BYTES, end: 2 * CHUNK_BYTES })
  expect(folder.changes).toEqual(['write part', 'truncate part', 'flush part', 'close part', 'remove json'])
  expect((await journal()).sums).toEqual([expect.any(Number), null, expect.any(Number)])
  await store.fill(URL, async (part) => {
    expect([part.version, part.has(0), part.has(1), part.has(2)]).toEqual([VERSION, true, false, true])
    return VERSION
  })
  folder.changes.length = 0
  await store.remove(URL)
  expect(folder.changes).toEqual(['remove json', 'remove bin'])
})

test('data from an earlier visit counts only if the file has the recorded length', async () => {
  await store.fill(URL, write)
  await store.doubt(URL)
  folder.entries.get(`${name}.bin`)!.bytes = BYTES.slice(1)
  const failed = store.fill(URL, async (part) => {
    expect([part.version, part.has(2)]).toEqual([undefined, false])
    await part.begin({ size: 10, etag: '' })
    part.write(0, BYTES.subarray(0, 10))
    part.finish(0)
    await part.begin(VERSION)
    expect(part.has(0)).toBe(false)
    throw new Error('closed')
  })
  await expect(failed).rejects.toThrow('closed')
  expect(await journal()).toMatchObject({ ...VERSION, sums: [null, null, null] })
})

describe('room', () => {
  const estimate = vi.fn(async () => ({ quota: 100, usage: 90 }))
  beforeEach(() => {
    vi.stubGlobal('navigator', { ...navigator, storage: { ...navigator.storage, estimate } })
  })

  test('is checked before the first byte: a file of exactly this size fits', async () => {
    const begin = (size: number) =>
      store.fill(URL, async (part) => {
        await part.begin({ size, etag: '' })
        return { size, etag: '' }
      })
    await expect(begin(11)).rejects.toMatchObject({ code: 'storage-full', detail: { size: 11, free: 10 } })
    expect([...folder.entries.keys()]).toEqual([])
    expect(await begin(10)).toBeDefined()
  })

  test('limits a file of unknown size', async () => {
    const filled = store.fill(URL, async (part) => {
      await part.begin({ size: 0, etag: '' })
      part.write(0, BYTES.subarray(0, 10))
      part.write(10, BYTES.subarray(10, 11))
      return VERSION
    })
    await expect(filled).rejects.toMatchObject({ code: 'storage-full', detail: { size: 11, free: 10 } })
    expect([...folder.entries.keys()]).toEqual([])
  })

  // Chromium returns -8 in 32 bits for a write past the quota of a private window.
  test.each([0, 2 ** 32 - 8, -8, Number.NaN, BYTES.length + 1])(
    'that runs out is reported even if a disk returns %i as the number of written bytes',
    (taken) => {
      const full = { write: () => taken } as Partial<SyncFile> as SyncFile
      expect(() => writeAll(full, BYTES, 0)).toThrow(expect.objectContaining({ name: 'QuotaExceededError' }))
    },
  )
})

test('tabs write, distrust and remove a file one after another', async () => {
  const asked: unknown[] = []
  const request = async (lock: string, options: unknown, work: (lock: unknown) => unknown) => {
    asked.push([lock, options])
    return work({})
  }
  vi.stubGlobal('navigator', { ...navigator, locks: { request } })
  const { signal } = new AbortController()
  await store.fill(URL, write, { signal })
  await store.doubt(URL)
  await store.remove(URL)
  const lock = `halfbyte-store-${name}`
  expect(asked).toEqual([
    [lock, { mode: 'exclusive', signal }],
    [lock, { mode: 'exclusive' }],
    [lock, { mode: 'exclusive' }],
  ])
})

test('an exclusive handle is not kept for reading', async () => {
  const close = vi.fn()
  for (const [mode, kept] of [
    ['read-only', true],
    ['readwrite', false],
    [undefined, false],
  ] as const) {
    const handle = {
      createSyncAccessHandle: async () => ({ mode, close }),
    } as unknown as FileSystemFileHandle
    expect((await openSyncReader(handle)) !== undefined).toBe(kept)
  }
  expect(close).toHaveBeenCalledTimes(2)
})

test('a note is valid on one machine and for one week, but not if it is from the future', async () => {
  const notes = deviceNotes('this machine')
  await notes.write('threads', 3)
  expect(await notes.read('threads')).toBe(3)
  expect(await notes.read('shares')).toBeUndefined()
  expect(await deviceNotes('another').read('threads')).toBeUndefined()
  const now = Date.now()
  const day = 24 * 3600 * 1000
  for (const [days, known] of [
    [6.9, 3],
    [7.1, undefined],
    [-1, undefined],
  ] as const) {
    vi.spyOn(Date, 'now').mockReturnValueOnce(now + days * day)
    expect(await notes.read('threads')).toBe(known)
  }
})
