// Spare workers. In: workers that start or fail. Out: the next load uses a live one, and only once.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { prepareEngineWorker, takeEngineWorker } from './script.ts'

class FakeWorker extends EventTarget {
  static started: FakeWorker[] = []
  readonly messages: unknown[] = []
  constructor(script: string | URL) {
    super()
    if (String(script).includes('refused')) throw new Error('refused')
    FakeWorker.started.push(this)
  }
  postMessage(message: unknown): void {
    this.messages.push(message)
  }
}

const PLACE = 'https://example.test'
const OWN = `${PLACE}/engine.js`

beforeEach(() => {
  vi.stubGlobal('Worker', FakeWorker)
  vi.stubGlobal('origin', PLACE)
  FakeWorker.started = []
})
afterEach(() => {
  // A worker left by one test would be used by the next.
  vi.stubGlobal('Worker', FakeWorker)
  takeEngineWorker(OWN)
  vi.unstubAllGlobals()
})

test('the next load uses the prepared worker, and the load after it starts another', () => {
  prepareEngineWorker(OWN, { wasm: `${PLACE}/wasm/` })
  const [prepared] = FakeWorker.started
  expect(prepared?.messages).toEqual([{ type: 'prepare', assets: { wasm: `${PLACE}/wasm/` } }])
  expect(takeEngineWorker(OWN)).toBe(prepared)
  expect(takeEngineWorker(OWN)).not.toBe(prepared)
  expect(FakeWorker.started).toHaveLength(2)
})

test('a second preparation does not start another worker', () => {
  prepareEngineWorker(OWN)
  prepareEngineWorker(OWN)
  expect(FakeWorker.started).toHaveLength(1)
})

test('a load with another script starts its own, and leaves the prepared one', () => {
  prepareEngineWorker(OWN)
  const [prepared] = FakeWorker.started
  expect(takeEngineWorker(`${PLACE}/other.js`)).not.toBe(prepared)
  expect(takeEngineWorker(OWN)).toBe(prepared)
})

test('a worker that failed is not used', () => {
  prepareEngineWorker(OWN)
  const [prepared] = FakeWorker.started
  prepared?.dispatchEvent(new Event('error'))
  expect(takeEngineWorker(OWN)).not.toBe(prepared)
})

test('a rejected worker, or no workers at all, is reported by the load', () => {
  prepareEngineWorker(`${PLACE}/refused.js`)
  expect(() => takeEngineWorker(`${PLACE}/refused.js`)).toThrow('refused')
  vi.stubGlobal('Worker', undefined)
  prepareEngineWorker(OWN)
  expect(FakeWorker.started).toEqual([])
})
