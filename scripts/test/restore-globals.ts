// Globals that a test replaced. Out: what they were, after each test.
//
// A process runs many test files one after another, so what one file left would reach the next.
import { afterAll, afterEach, vi } from 'vitest'

const restore = () => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
}

afterEach(restore)
// A file may replace them before its first test.
afterAll(() => {
  restore()
  // Node has none, and the next file counts on that. onnxruntime-web defines it when it starts.
  Reflect.deleteProperty(globalThis, 'Worker')
})
