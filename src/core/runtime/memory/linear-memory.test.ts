// Tests memory. In: devices that grant less than requested. Out: as much as they grant, and typed errors if
// that is not enough.
import { afterEach, expect, test, vi } from 'vitest'
import { createMemory, grantedBytes, MAX_BYTES, PAGE_BYTES } from './linear-memory.ts'

const MIB = 2 ** 20
const { Memory } = WebAssembly

afterEach(() => vi.restoreAllMocks())

/** A device that refuses to reserve more than `most` bytes. Returns the list of requests, in bytes. */
function deviceOf(most: number): number[] {
  const asked: number[] = []
  class Refusing extends Memory {
    constructor(descriptor: WebAssembly.MemoryDescriptor) {
      const bytes = (descriptor.maximum ?? descriptor.initial) * PAGE_BYTES
      asked.push(bytes)
      if (bytes > most) throw new RangeError('could not allocate memory')
      // Only the requests matter here, so a small memory suffices.
      super({ ...descriptor, initial: Math.min(descriptor.initial, 32) })
    }
  }
  vi.spyOn(WebAssembly, 'Memory').mockImplementation(Refusing as never)
  return asked
}

const maximumOf = (memory: WebAssembly.Memory): number => {
  let pages = memory.buffer.byteLength / PAGE_BYTES
  for (let step = 65536; step >= 1; step = Math.floor(step / 2)) {
    try {
      memory.grow(step)
      pages += step
    } catch {
      // Then request less.
    }
  }
  return pages * PAGE_BYTES
}

test('a shared memory can grow as far as wanted, or else as far as granted', () => {
  expect(maximumOf(createMemory('shared', 64 * MIB, 124 * MIB))).toBe(124 * MIB)
  const asked = deviceOf(100 * MIB)
  expect(maximumOf(createMemory('shared', 64 * MIB, 124 * MIB))).toBe(94 * MIB)
  expect(asked).toEqual([124 * MIB, 114 * MIB, 104 * MIB, 94 * MIB])
})

test('a shared memory below the required size fails with a typed error', () => {
  deviceOf(60 * MIB)
  const detail = { neededBytes: 64 * MIB, grantedBytes: 0 }
  expect(() => createMemory('shared', 64 * MIB, 124 * MIB)).toThrow(
    expect.objectContaining({ code: 'out-of-memory', detail }),
  )
})

test.each(['shared', 'plain'] as const)(
  'the %s memory that a device grants is determined to within 16 MiB',
  (kind) => {
    for (const most of [MAX_BYTES, 3000 * MIB, 517 * MIB, 300 * MIB]) {
      deviceOf(most)
      const granted = grantedBytes(kind)
      expect(granted).toBeLessThanOrEqual(most)
      expect(granted).toBeGreaterThan(most - 17 * MIB)
      vi.restoreAllMocks()
    }
    deviceOf(0)
    expect(grantedBytes(kind)).toBe(0)
    vi.restoreAllMocks()
    expect(grantedBytes(kind, 200 * MIB)).toBeLessThanOrEqual(200 * MIB)
  },
)
