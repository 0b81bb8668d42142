// Tests the checksum. In: bytes of any length, in plain or shared memory, changed in one or two places. Out:
// a different sum.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checksum } from './sha256.ts'

const some = fc.uint8Array({ minLength: 1, maxLength: 300 })

test('the checksum depends only on the bytes, not on where they are in memory', () => {
  fc.assert(
    fc.property(some, fc.integer({ min: 0, max: 7 }), (own, offset) => {
      const shared = new Uint8Array(new SharedArrayBuffer(own.length + offset), offset)
      shared.set(own)
      expect(checksum(shared)).toBe(checksum(own))
      expect(checksum(own)).toMatch(/^[0-9a-f]{32}$/)
    }),
  )
})

test('changing any byte changes the checksum', () => {
  fc.assert(
    fc.property(some, fc.nat(), fc.integer({ min: 1, max: 255 }), (own, place, change) => {
      const changed = own.slice()
      changed[place % own.length]! ^= change
      expect(checksum(changed)).not.toBe(checksum(own))
    }),
  )
})

test('flipping the same bit in two words of a lane does not cancel out', () => {
  const own = new Uint8Array(256).fill(5)
  for (let bit = 0; bit < 8; bit++) {
    for (let at = 0; at < 16; at++) {
      const changed = own.slice()
      changed[at]! ^= 1 << bit
      changed[at + 16]! ^= 1 << bit
      expect(checksum(changed)).not.toBe(checksum(own))
    }
  }
})

test('swapped words, appended zeros and missing bytes change the checksum', () => {
  const own = Uint8Array.from({ length: 64 }, (_, at) => at * 7)
  const swapped = Uint8Array.from([
    ...own.slice(0, 4),
    ...own.slice(20, 24),
    ...own.slice(8, 20),
    ...own.slice(4, 8),
    ...own.slice(24),
  ])
  const sums = [own, swapped, Uint8Array.from([...own, 0]), own.subarray(1), own.subarray(0, 63)].map(
    checksum,
  )
  expect(new Set(sums).size).toBe(5)
})
