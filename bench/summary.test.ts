// In: made-up samples. Out: whether the bench's arithmetic is right.
import { expect, test } from 'vitest'
import { type Row, spread, summarise, table } from './summary.ts'

const row = (engine: string, decode: number): Row => ({
  engine,
  threads: 2,
  prompt: 64,
  prefill: decode * 10,
  decode,
  loadMs: 5,
  memoryBytes: engine === 'halfbyte' ? 3e6 : undefined,
})

test('the median of an even number of samples is the mean of the middle two', () => {
  expect(spread([4, 1, 3, 2])).toEqual({ median: 2.5, min: 1, max: 4 })
  expect(spread([3, 1, 2]).median).toBe(2)
})

test('the ratio compares medians at the same threads and prompt', () => {
  const rows = [
    row('halfbyte', 40),
    row('wllama', 10),
    row('halfbyte', 60),
    row('wllama', 10),
    row('halfbyte', 50),
  ]
  const text = table(summarise(rows))
  expect(text).toContain('50.0 (40.0-60.0)')
  expect(text).toContain('| 3 | 5.0x | 5.0x |')
})
