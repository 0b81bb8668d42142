import { expect, test, vi } from 'vitest'
import { unlessAborted, withTimeLimit } from './abort.ts'

const never = () => new Promise<never>(() => undefined)
const untilAborted = (signal: AbortSignal) => unlessAborted(never(), signal)

test('a wait settles like its work unless the signal aborts', async () => {
  const { signal } = new AbortController()
  expect(await unlessAborted(Promise.resolve(1), signal)).toBe(1)
  expect(await unlessAborted(Promise.resolve(2), undefined)).toBe(2)
  await expect(unlessAborted(Promise.reject(new Error('failed')), signal)).rejects.toThrow('failed')
})

test('a wait rejects with its signal’s reason, even if the signal was already aborted', async () => {
  const abort = new AbortController()
  const waiting = unlessAborted(never(), abort.signal)
  abort.abort(new Error('not wanted'))
  await expect(waiting).rejects.toThrow('not wanted')
  await expect(unlessAborted(never(), abort.signal)).rejects.toThrow('not wanted')
})

test('a time limit aborts the work with its message', async () => {
  const work = withTimeLimit(undefined, 1, 'it took longer than 1 ms', untilAborted)
  await expect(work).rejects.toMatchObject({ name: 'TimeoutError', message: 'it took longer than 1 ms' })
})

test("a caller's abort ends work that has a time limit, even if it came first", async () => {
  const abort = new AbortController()
  const work = withTimeLimit(abort.signal, 60_000, 'late', untilAborted)
  abort.abort(new Error('not wanted'))
  await expect(work).rejects.toThrow('not wanted')
  await expect(withTimeLimit(abort.signal, 60_000, 'late', untilAborted)).rejects.toThrow('not wanted')
})

test('a limit that is too long for a timer does not end the work', async () => {
  vi.useFakeTimers()
  try {
    const work = withTimeLimit(undefined, 2 ** 31, 'late', async (signal) => signal.aborted)
    expect(vi.getTimerCount()).toBe(0)
    expect(await work).toBe(false)
  } finally {
    vi.useRealTimers()
  }
})
