// Restores globals that a test has replaced, after each test.
//
// A process runs many test files one after another, so a leftover from one file would affect the next.
import { afterAll, afterEach, vi } from 'vitest'

const restore = () => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
}

afterEach(restore)
// A test file may replace globals before its first test.
afterAll(() => {
  restore()
  // Node does not define this one, and other test files rely on that, but onnxruntime-web defines it when it
  // starts.
  Reflect.deleteProperty(globalThis, 'Worker')
})
