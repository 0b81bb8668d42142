// In: sentences, sizes, times, errors. Out: the displayed text.
import { expect, test, vi } from 'vitest'
import { HalfbyteError } from '../../core/base/errors.ts'
import { bytesText, durationText, isOffline } from './texts.ts'

test('bytes are kilobytes, megabytes or gigabytes, in the language of the page', () => {
  expect(
    [0, 40, 49_900, 50_000, 1_553_024, 2e6, 350e6, 2.5e9].map((count) => bytesText(count, 'en')),
  ).toEqual(['0.0 MB', '1 kB', '50 kB', '0.1 MB', '1.6 MB', '2.0 MB', '350 MB', '2.50 GB'])
  expect(bytesText(2.345e9, 'de')).toBe('2,35\u00a0GB')
  expect(bytesText(2e6, 'en', '-per-second')).toBe('2.0 MB/s')
})

test('the time left is never empty, and never 60 seconds', () => {
  expect([0, 59_400, 59_600, 150_000, 7_300_000].map((ms) => durationText(ms, 'en'))).toEqual([
    '1 sec',
    '59 sec',
    '1 min',
    '3 min',
    '2 hr 2 min',
  ])
})

test('only errors that a lost network can cause are blamed on it', () => {
  const errors = [
    new HalfbyteError('network', 'x'),
    new TypeError('x'),
    new HalfbyteError('context-overflow', 'x'),
  ]
  vi.stubGlobal('navigator', { onLine: false })
  expect(errors.map(isOffline)).toEqual([true, true, false])
  vi.stubGlobal('navigator', { onLine: true })
  expect(errors.map(isOffline)).toEqual([false, false, false])
})
