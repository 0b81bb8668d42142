// In: batteries, and pages that are hidden. Out: whether work is done in advance.
import { afterEach, expect, test, vi } from 'vitest'
import { isIdle, stopWhenHidden } from './idle.ts'

afterEach(() => vi.unstubAllGlobals())

const withBattery = (charging: boolean, level: number) =>
  vi.stubGlobal('navigator', { getBattery: async () => ({ charging, level }) })

test('nothing is done in advance on a nearly empty battery, unless it is charging', async () => {
  withBattery(false, 0.1)
  expect(await isIdle()).toBe(false)
  withBattery(true, 0.1)
  expect(await isIdle()).toBe(true)
  withBattery(false, 0.5)
  expect(await isIdle()).toBe(true)
  vi.stubGlobal('navigator', { getBattery: () => Promise.reject(new TypeError('denied')) })
  expect(await isIdle()).toBe(true)
  vi.stubGlobal('navigator', {})
  expect(await isIdle()).toBe(true)
})

test('nothing is done in a hidden page, and hiding it ends the work', async () => {
  const page = Object.assign(new EventTarget(), { visibilityState: 'visible' })
  vi.stubGlobal('document', page)
  expect(await isIdle()).toBe(true)
  const work = new AbortController()
  stopWhenHidden(work)
  page.dispatchEvent(new Event('visibilitychange'))
  expect(work.signal.aborted).toBe(false)
  page.visibilityState = 'hidden'
  page.dispatchEvent(new Event('visibilitychange'))
  expect(work.signal.aborted).toBe(true)
  expect(await isIdle()).toBe(false)
})
