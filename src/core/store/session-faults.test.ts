// Tests faults while sessions are stored. In: a full disk, or a closed tab, at each change of a file in turn.
// Out: either the old or the new session, complete.
import { describe, expect, test } from 'vitest'
import { isHalfbyteError } from '../base/errors.ts'
import { SessionStore } from './device/sessions.ts'
import { memoryStorage } from './testing/memory-folders.ts'

const OLD = ['one ', 'two ', 'three']
const NEW = ['first ', 'second ', 'third ', 'fourth']

async function* pieces(texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield new TextEncoder().encode(text)
}

const put = (store: SessionStore, name: string, texts: readonly string[]) =>
  store.put(name, pieces(texts), texts.join('').length)

const textOf = async (name: string) =>
  (await SessionStore.open())!.read(name, async (source) =>
    new TextDecoder().decode(await source.read(0, source.size)),
  )

/** Stores one session over another. `onChange` is called for each file change and can reject it. */
async function storedOver(onChange: (change: number, what: string) => void) {
  const folder = memoryStorage()('halfbyte-sessions')
  const store = (await SessionStore.open())!
  await put(store, 'trip', OLD)
  const note = folder.note.bind(folder)
  let changes = 0
  folder.note = (what, name) => {
    onChange(++changes, what)
    note(what, name)
  }
  const error = await put(store, 'trip', NEW).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  folder.note = note
  return { folder, store, error, changes }
}

const changesOf = async () => {
  const seen: string[] = []
  await storedOver((_, what) => seen.push(what))
  return seen
}

/** The error with which browsers reject writes that need space. */
const full = () => new DOMException('no room', 'QuotaExceededError')

describe('a session that is stored over another', () => {
  test('is unchanged if the disk is full at any change that needs space', async () => {
    const needRoom = (await changesOf()).flatMap((what, index) =>
      what === 'write' || what === 'truncate' || what === 'flush' ? [index + 1] : [],
    )
    // Four chunks and a manifest, and the flush of each file.
    expect(needRoom.length).toBeGreaterThanOrEqual(7)
    for (const at of needRoom) {
      const { folder, error } = await storedOver((change) => {
        if (change === at) throw full()
      })
      expect(isHalfbyteError(error) && error.code).toBe('storage-full')
      expect(await textOf('trip')).toBe(OLD.join(''))
      // The new session leaves nothing behind.
      expect(folder.entries.size).toBe(2)
    }
  })

  test('is the old or the new one if the tab closes at any change, and the next store cleans up', async () => {
    const all = (await changesOf()).length
    const found = new Set<string | undefined>()
    for (let at = 1; at <= all; at++) {
      const { folder } = await storedOver((change) => {
        if (change >= at) throw new Error('the tab has ended')
      })
      const text = await textOf('trip')
      expect([OLD.join(''), NEW.join('')]).toContain(text)
      found.add(text)
      const next = (await SessionStore.open())!
      expect((await next.list()).map(({ name }) => name)).toEqual(['trip'])
      await put(next, 'other', ['four'])
      expect(folder.entries.size).toBe(4)
      expect(await textOf('trip')).toBe(text)
    }
    expect(found.size).toBe(2)
  })
})
