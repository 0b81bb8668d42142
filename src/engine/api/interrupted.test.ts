// Tests of interrupted loads. In: a localStorage, loads that end and loads that are killed. Out: what the
// next visit learns about them.
import { beforeEach, expect, test, vi } from 'vitest'
import { deadlyBytes, forgetInterruptedLoads, interruptedLoads, noted } from './interrupted.ts'

const MODEL = 'https://example.org/large.gguf'

/** A browser's storage, whose entries are its own properties. */
class Storage {
  getItem(key: string): string | null {
    return (Reflect.get(this, key) as string | undefined) ?? null
  }
  setItem(key: string, value: string): void {
    Reflect.set(this, key, value)
  }
  removeItem(key: string): void {
    Reflect.deleteProperty(this, key)
  }
}

/** Locks that this visit's loads hold. A killed page loses them. */
let held: Set<string>
let storage: Storage

beforeEach(() => {
  held = new Set()
  storage = new Storage()
  vi.stubGlobal('localStorage', storage)
  vi.stubGlobal('navigator', {
    locks: {
      async request(name: string, work: () => Promise<void>) {
        held.add(name)
        await work()
        held.delete(name)
      },
      query: async () => ({ held: [...held].map((name) => ({ name })) }),
    },
  })
})
/** A load that never ends, on a page that is then killed. */
async function killedLoad(address: string, neededBytes?: number): Promise<void> {
  const begun = new Promise<void>((resolve) => {
    void noted(address, { contextLength: 512 }, async ({ onNeed }) => {
      if (neededBytes !== undefined) onNeed?.(neededBytes)
      resolve()
      return new Promise(() => undefined)
    })
  })
  await begun
  held.clear()
}

test('a hub repository is reported under its own name', async () => {
  await killedLoad('owner/small-model@v1')
  expect(await interruptedLoads()).toMatchObject([{ name: 'small-model' }])
})

test('a load that ends, successfully or not, leaves no mark', async () => {
  expect(await noted(MODEL, {}, async () => 5)).toBe(5)
  const failed = noted(MODEL, {}, async () => {
    expect(Object.keys(storage)).toHaveLength(1)
    throw new Error('no')
  })
  await expect(failed).rejects.toThrow('no')
  expect(Object.keys(storage)).toEqual([])
  expect(await interruptedLoads()).toEqual([])
  expect(await deadlyBytes()).toBeUndefined()
})

test('a killed load is reported on the next visit with its memory need, and later loads use less', async () => {
  await killedLoad(MODEL, 1000)
  expect(await interruptedLoads()).toEqual([
    {
      name: 'large.gguf',
      source: MODEL,
      contextLength: 512,
      neededBytes: 1000,
      startedAt: expect.any(Number),
    },
  ])
  expect(await deadlyBytes()).toBe(900)
})

test('a load that is still running in another tab was not killed', async () => {
  await noted(MODEL, {}, async () => expect(await interruptedLoads()).toEqual([]))
})

test('a page that the user left during a load was not killed', async () => {
  const listeners = new Map<string, () => void>()
  vi.stubGlobal('addEventListener', (event: string, listener: () => void) => listeners.set(event, listener))
  vi.stubGlobal('removeEventListener', (event: string) => listeners.delete(event))
  await killedLoad(MODEL, 1000)
  listeners.get('pagehide')?.()
  expect(Object.keys(storage)).toEqual([])
  await noted(MODEL, {}, async () => expect(listeners.size).toBe(1))
  expect(listeners.size).toBe(0)
})

test('the last eight recorded loads are kept', async () => {
  for (let load = 0; load < 10; load++) await killedLoad(`${MODEL}${load}`)
  const names = (await interruptedLoads()).map(({ name }) => name)
  expect(names).toHaveLength(8)
  expect(Object.keys(storage)).toHaveLength(8)
})

test('a killed load is forgotten on request and after a successful load of the same model, but not of another', async () => {
  await killedLoad(MODEL)
  await killedLoad(`${MODEL}2`)
  await noted(MODEL, {}, async () => undefined)
  expect((await interruptedLoads()).map(({ source }) => source)).toEqual([`${MODEL}2`])
  await forgetInterruptedLoads(MODEL)
  expect(await interruptedLoads()).toHaveLength(1)
  await forgetInterruptedLoads()
  expect(await interruptedLoads()).toEqual([])
})

test('an address that may contain a secret is not recorded', async () => {
  await killedLoad(`${MODEL}?token=secret`)
  await killedLoad('https://me:secret@example.org/large.gguf')
  await killedLoad('https://secret@example.org/large.gguf')
  expect(JSON.stringify(storage)).not.toContain('secret')
  expect((await interruptedLoads()).map(({ name, source }) => [name, source])).toEqual(
    Array(3).fill(['large.gguf', undefined]),
  )
})

test('invalid notes are erased and not trusted', async () => {
  const note = { name: 'a', startedAt: 5 }
  const lies = ['null', '5', '[]', '{', '{"name":"a"}', '{"startedAt":5}']
  for (const lie of [...lies, { ...note, startedAt: '5' }, { ...note, neededBytes: -1 }]) {
    const key = `halfbyte-load-${Object.keys(storage).length}`
    storage.setItem(key, typeof lie === 'string' ? lie : JSON.stringify(lie))
  }
  expect(await interruptedLoads()).toEqual([])
  expect(await deadlyBytes()).toBeUndefined()
  expect(Object.keys(storage)).toEqual([])
})

test('without storage or locks, loads still work', async () => {
  vi.stubGlobal('navigator', {})
  expect(await noted(MODEL, {}, async () => 5)).toBe(5)
  vi.stubGlobal('localStorage', undefined)
  expect(await noted(MODEL, {}, async () => 6)).toBe(6)
  expect(await interruptedLoads()).toEqual([])
})
