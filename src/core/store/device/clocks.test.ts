// Tests dates on the device. In: clocks that are set forward or back, stand still or return nonsense. Out:
// the newest session, notes that are trusted or measured again, and sortable dates.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { serveFiles } from '../../../../test/helpers/file-server.ts'
import { makeRoom, storedFiles } from '../../../engine/api/stored.ts'
import { givenPlace } from '../../formats/names/named-files.ts'
import { openAddress } from '../open-address.ts'
import { memoryStorage } from '../testing/memory-folders.ts'
import { deviceNotes } from './notes.ts'
import { SessionStore } from './sessions.ts'
import { storedSessions } from './stored-sessions.ts'

const DAY_MS = 24 * 3600 * 1000
const TODAY = Date.UTC(2026, 10, 25)

/** The readings of a clock, the first of which is correct. */
const CLOCKS: Readonly<Record<string, (reading: number) => number>> = {
  'stands still': () => TODAY,
  'is set back a year': () => TODAY - 365 * DAY_MS,
  'is set forward a year': () => TODAY + 365 * DAY_MS,
  'goes backwards': (reading) => TODAY - reading * DAY_MS,
  'starts in 1970': () => 0,
  'is before 1970': () => -DAY_MS,
  'has no date': () => Number.NaN,
}

let readings = 0
const setClock = (clock: (reading: number) => number) =>
  vi.spyOn(Date, 'now').mockImplementation(() => clock(readings++))

beforeEach(() => {
  memoryStorage()
  readings = 0
})
afterEach(() => vi.restoreAllMocks())

test.each(Object.entries(CLOCKS))(
  'a clock that %s does not change which files are removed to free space',
  async (_, clock) => {
    const server = await serveFiles({ 'a.gguf': bytes('model'), 'b.gguf': bytes('model') })
    const [a, b] = ['a', 'b'].map((name) => `${server.address}${name}.gguf`) as [string, string]
    const load = async (url: string) => {
      for (const source of await openAddress(givenPlace(url))) source.close?.()
    }
    try {
      setClock(() => TODAY)
      await load(a)
      await load(b)
      setClock(clock)
      await load(a)
      expect((await storedFiles()).map(({ url }) => url)).toEqual([b, a])
      expect(await makeRoom(1)).toEqual([b])
    } finally {
      await server.close()
    }
  },
)

describe.each(Object.entries(CLOCKS))('a clock that %s', (_, clock) => {
  test('does not restore an older session', async () => {
    setClock(() => TODAY)
    const store = (await SessionStore.open())!
    await store.put('trip', pieces('old'), 3)
    setClock(clock)
    await store.put('trip', pieces('newer'), 5)
    expect(await store.read('trip', (source) => source.read(0, source.size))).toEqual(bytes('newer'))
    for (const { saved } of await storedSessions())
      expect(Number.isSafeInteger(saved) && saved >= 0).toBe(true)
  })

  test('causes a note to be measured again or trusted, and never to be read in part', async () => {
    setClock(() => TODAY)
    const notes = deviceNotes('machine')
    await notes.write('threads', 3)
    setClock(clock)
    expect([3, undefined]).toContain(await notes.read('threads'))
    await notes.write('threads', 4)
    expect([4, undefined]).toContain(await notes.read('threads'))
    setClock(() => TODAY)
    await notes.write('threads', 5)
    expect(await notes.read('threads')).toBe(5)
  })

  test('leaves stored files with sortable dates', async () => {
    const server = await serveFiles({ 'm.gguf': bytes('model') })
    try {
      setClock(clock)
      for (let load = 0; load < 2; load++)
        for (const source of await openAddress(givenPlace(`${server.address}m.gguf`))) source.close?.()
      for (const { used } of await storedFiles()) expect(Number.isSafeInteger(used) && used >= 0).toBe(true)
    } finally {
      await server.close()
    }
  })
})

const bytes = (text: string) => new TextEncoder().encode(text)
async function* pieces(text: string) {
  yield bytes(text)
}
