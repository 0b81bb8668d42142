// Restores globals that a test has replaced, after each test.
//
// A process runs many test files one after another, so leftovers of one file would affect the next.
import { afterAll, afterEach, vi } from 'vitest'

const restore = () => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
}

afterEach(restore)
// A file may replace them before its first test.
afterAll(() => {
  restore()
  // Node does not define it, and other files rely on that. onnxruntime-web defines it when it starts.
  Reflect.deleteProperty(globalThis, 'Worker')
})
