// In: paint requests, and frames on a fake clock. Out: how often the page paints.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Repaint } from './repaint.ts'

const FRAME_MS = 10
const page = globalThis as { requestAnimationFrame?: (callback: () => void) => unknown }
const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms))

/** An idle page, whose frames finish immediately. */
function openPage(): { frames: number } {
  const seen = { frames: 0 }
  let waiting: (() => void)[] = []
  const clock = setInterval(() => {
    seen.frames++
    const callbacks = waiting
    waiting = []
    for (const callback of callbacks) callback()
  }, FRAME_MS)
  page.requestAnimationFrame = (callback) => waiting.push(callback)
  close = () => clearInterval(clock)
  return seen
}
let close = () => {}

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  close()
  delete page.requestAnimationFrame
  vi.useRealTimers()
})

test('a request during or right after painting causes one more paint, never two in a frame', async () => {
  const seen = openPage()
  const paintedIn: number[] = []
  const more = () => {
    if (paintedIn.length < 8) repaint.request(true)
  }
  const repaint = new Repaint(async () => {
    paintedIn.push(seen.frames)
    if (paintedIn.length % 3 === 0) more()
  }, more)
  for (let i = 0; i < 5; i++) repaint.request()
  await vi.advanceTimersByTimeAsync(30 * FRAME_MS)
  expect(paintedIn).toHaveLength(8)
  expect(new Set(paintedIn).size, `paintings in frames ${paintedIn}`).toBe(paintedIn.length)
})

test('a slow paint is followed by an equally long pause, unless the user is waiting', async () => {
  openPage()
  const starts: number[] = []
  const repaint = new Repaint(
    async () => {
      starts.push(performance.now())
      await sleep(30)
    },
    () => {
      if (starts.length < 3) repaint.request(starts.length > 1)
    },
  )
  repaint.request()
  await vi.advanceTimersByTimeAsync(30 * FRAME_MS)
  expect(starts).toHaveLength(3)
  const [first = 0, second = 0, third = 0] = starts
  // The layout takes 30 ms and the frame after it up to 10; the pause is as long as both together.
  expect(second - first).toBeGreaterThanOrEqual(60)
  expect(third - second).toBeLessThanOrEqual(30 + FRAME_MS + 1)
})
