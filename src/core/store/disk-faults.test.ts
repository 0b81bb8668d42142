// Tests disks. In: a download during which the disk fills up or the tab closes, at each change. Out: a typed
// error, and the exact bytes the next time.
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { isHalfbyteError } from '../base/errors.ts'
import { givenPlace } from '../formats/names/named-files.ts'
import { distrust, trust } from './device/load-marks.ts'
import { ModelStore } from './device/model-store.ts'
import { CHUNK_BYTES } from './device/sums.ts'
import { openAddress } from './open-address.ts'
import { type Disk, memoryStorage } from './testing/memory-folders.ts'

const URL = 'https://example.org/m.gguf'
const OTHER = 'https://example.org/other.gguf'
/** Slightly more than a chunk, so that two connections write alternately. */
const BYTES = new Uint8Array(CHUNK_BYTES + 300_000).map((_, index) => (index * 31 + (index >> 9)) & 255)
/** Bytes of another address that are stored before each step; few, because each byte is fetched again. */
const OTHER_BYTES = BYTES.subarray(0, 5000)
const bytesOf = (url: string): Uint8Array => (url === OTHER ? OTHER_BYTES : BYTES)
/** A quota that is larger than any download here. */
const MAX_STEPS = 200

let folder: ReturnType<ReturnType<typeof memoryStorage>>
beforeEach(() => {
  vi.stubGlobal('fetch', async (url: string, { headers }: { headers: Record<string, string> }) => {
    const [, from, to] = /bytes=(\d+)-(\d+)/.exec(headers['Range'] ?? '') ?? []
    const start = Number(from)
    const whole = bytesOf(url)
    const end = Math.min(Number(to) + 1, whole.length)
    const range = `bytes ${start}-${end - 1}/${whole.length}`
    const part = whole.slice(start, end)
    return new Response(part, { status: 206, headers: { 'Content-Range': range, ETag: '"1"' } })
  })
})
/** True if the right bytes arrived, otherwise the error's code. Anything else fails the test. */
async function load(url = URL): Promise<true | string> {
  try {
    const [source] = await openAddress(givenPlace(url), { firstWaitMs: 1 })
    const read = await source!.read(0, source!.size)
    source!.close?.()
    expect(Buffer.compare(read, bytesOf(url))).toBe(0)
    return true
  } catch (error) {
    if (!isHalfbyteError(error)) throw error
    await distrust(url, error)
    return error.code
  }
}

const ending = (entry: string): string => entry.replace(/.*\./, '')

/**
 * Runs `once` with a disk that fails at the first step, then at the second, and so on, until the step is no
 * longer reached.
 */
async function atEachStep(
  fault: (isNow: (what: string) => boolean) => Disk,
  once: () => Promise<unknown>,
): Promise<number> {
  for (let at = 1; at < MAX_STEPS; at++) {
    folder = memoryStorage()('halfbyte-models')
    expect(await load(OTHER)).toBe(true)
    let steps = 0
    let isReached = false
    const sound = folder.disk
    folder.disk = fault(() => {
      steps++
      if (steps >= at) isReached = true
      return steps >= at
    })
    await once()
    folder.disk = sound
    expect(await load(), `after step ${at}`).toBe(true)
    // What was stored before is still there.
    const store = (await ModelStore.open())!
    expect((await store.list()).map(({ isComplete }) => isComplete)).toEqual([true, true])
    expect([...folder.entries.keys()].map(ending).sort()).toEqual(['bin', 'bin', 'json', 'json'])
    if (!isReached) return at - 1
  }
  throw new Error('it needs more steps than were tried')
}

const full = () => new DOMException('there is no room', 'QuotaExceededError')

describe('a disk that becomes full at a write', () => {
  test.each([
    ['takes nothing', () => 0],
    ['returns what Chromium returns in a private window', () => 2 ** 32 - 8],
    ['returns a negative number', () => -8],
    [
      'throws',
      () => {
        throw full()
      },
    ],
    ['writes half of it first', (bytes: number) => bytes >> 1],
  ])('and %s fails with storage-full at each write', async (_, answer) => {
    const codes = new Set<true | string>()
    const steps = await atEachStep(
      (isNow) => ({
        step() {},
        // Half a byte rounds to zero, so the last write writes nothing.
        take: (bytes) => (isNow('write') ? answer(bytes) : bytes),
      }),
      async () => void codes.add(await load()),
    )
    expect(steps).toBeGreaterThan(20)
    expect([...codes].sort()).toEqual(['storage-full', true])
  })

  test('and refuses to extend a file fails with storage-full', async () => {
    const codes = new Set<true | string>()
    await atEachStep(
      (isNow) => ({
        step(what) {
          if (/truncate|create/.test(what) && isNow(what)) throw full()
        },
        take: (bytes) => bytes,
      }),
      async () => void codes.add(await load()),
    )
    expect([...codes].sort()).toEqual(['storage-full', true])
  })
})

test.each(['before it', 'in the middle of it'])(
  'a tab that closes at any change, %s, leaves no file that counts as complete',
  async (when) => {
    const steps = await atEachStep(
      (isNow) => {
        let isGone = false
        const gone = () => {
          throw new Error('the tab is gone')
        }
        return {
          step(what) {
            if (isGone || (isNow(what) && !(what === 'write' && when === 'in the middle of it'))) {
              isGone = true
              gone()
            }
          },
          take(bytes) {
            if (when === 'before it' || !isNow('write')) return bytes
            isGone = true
            return bytes >> 1
          },
        }
      },
      () => load().catch(() => undefined),
    )
    expect(steps).toBeGreaterThan(40)
  },
)

describe('a tab that closes during a load from storage', () => {
  /**
   * Loads once more and closes the tab at the change with this number. Returns whether that change was
   * reached.
   */
  const endedAt = async (at: number, folder: ReturnType<ReturnType<typeof memoryStorage>>) => {
    let steps = 0
    const sound = folder.disk
    folder.disk = {
      ...sound,
      step() {
        if (++steps >= at) throw new Error('the tab is gone')
      },
    }
    await load().catch(() => undefined)
    await trust(URL)
    folder.disk = sound
    return steps >= at
  }

  test('leaves a file that loads without a network, and nothing else', async () => {
    let at = 1
    for (let isReached = true; isReached; at++) {
      const folder = memoryStorage()('halfbyte-models')
      expect(await load()).toBe(true)
      const entries = [...folder.entries.keys()].sort()
      isReached = await endedAt(at, folder)
      const online = globalThis.fetch
      vi.stubGlobal('fetch', async () => Promise.reject(new TypeError('there is no network')))
      expect(await load(), `after change ${at}`).toBe(true)
      globalThis.fetch = online
      expect([...folder.entries.keys()].sort()).toEqual(entries)
    }
    // The records of its use and of its trust take a write, a truncation, a flush and a close each.
    expect(at).toBeGreaterThan(8)
  })
})
