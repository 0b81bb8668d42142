// Tests spans. In: a span that ends. Out: what an observer sees, and what the timeline holds.
import { expect, test } from 'vitest'
import { endSpan } from './spans.ts'

test('an observer sees a span, and no buffer grows with it', async () => {
  const seen = new Promise<readonly PerformanceEntry[]>((resolve) =>
    new PerformanceObserver((list, observer) => {
      observer.disconnect()
      resolve(list.getEntries())
    }).observe({ entryTypes: ['measure'] }),
  )
  const start = performance.now()
  endSpan('a test', start)
  const [entry] = await seen
  expect(entry).toMatchObject({ name: 'halfbyte: a test', startTime: start })
  expect(entry!.duration).toBeGreaterThanOrEqual(0)
  expect(performance.getEntriesByName('halfbyte: a test')).toEqual([])
})
