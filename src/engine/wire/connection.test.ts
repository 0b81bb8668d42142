// Connections. In: a worker's messages, and a clock. Out: silence counts as death, answers do not, and
// nothing happens after a watch has ended.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { workerConnection } from './connection.ts'

/** A fake worker as seen by a page; it answers pings as long as `answers` is true. */
class RemoteWorker extends EventTarget {
  answers = true
  pings = 0
  postMessage({ type }: { type: string }): void {
    if (type !== 'ping') return
    this.pings++
    if (this.answers) this.dispatchEvent(new MessageEvent('message', { data: { type: 'pong' } }))
  }
  terminate(): void {}
}

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

function watched(): { worker: RemoteWorker; deaths: string[]; unwatch: () => void } {
  const worker = new RemoteWorker()
  const deaths: string[] = []
  const connection = workerConnection(worker as unknown as Worker)
  connection.onDeath((why) => deaths.push(why))
  return { worker, deaths, unwatch: connection.watch() }
}

test('a worker that answers pings may take any amount of time', () => {
  const { worker, deaths } = watched()
  vi.advanceTimersByTime(3_600_000)
  expect(worker.pings).toBeGreaterThan(100)
  expect(deaths).toEqual([])
})

test('a worker that is silent for a minute is dead, even if it never started', () => {
  const { worker, deaths } = watched()
  worker.answers = false
  vi.advanceTimersByTime(60_000)
  expect(deaths).toEqual([])
  vi.advanceTimersByTime(5_000)
  expect(deaths).toEqual(['it has not responded for 60 s'])
})

test('an answer after a long step restarts the minute', () => {
  const { worker, deaths } = watched()
  worker.answers = false
  vi.advanceTimersByTime(50_000)
  worker.answers = true
  vi.advanceTimersByTime(5_000)
  worker.answers = false
  vi.advanceTimersByTime(60_000)
  expect(deaths).toEqual([])
})

test('a failure before anyone listens reaches every later listener', () => {
  const worker = new RemoteWorker()
  const connection = workerConnection(worker as unknown as Worker)
  worker.dispatchEvent(Object.assign(new Event('error'), { message: '' }))
  const deaths: string[] = []
  connection.onDeath((why) => deaths.push(`first: ${why}`))
  connection.onDeath((why) => deaths.push(`second: ${why}`))
  expect(deaths).toEqual(['first: its script did not load', 'second: its script did not load'])
})

test('there are no pings or reports after the watch has ended', () => {
  const { worker, deaths, unwatch } = watched()
  unwatch()
  worker.answers = false
  vi.advanceTimersByTime(600_000)
  expect(worker.pings).toBe(0)
  expect(deaths).toEqual([])
})
