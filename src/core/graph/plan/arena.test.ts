// Tests placement in an arena. In: random lifetimes. Out: no two buffers share a byte while both are needed,
// and the arena is no larger than all buffers together.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ARENA_ALIGNMENT, arenaAligned, planArena } from './arena.ts'

const lifetime = fc
  .record({ bytes: fc.nat(5000), from: fc.nat(30), steps: fc.nat(8) })
  .map(({ bytes, from, steps }) => ({ bytes, from, to: from + steps }))

test('buffers that are needed at the same time share no bytes', () => {
  fc.assert(
    fc.property(fc.array(lifetime, { maxLength: 40 }), (lifetimes) => {
      const { offsets, bytes } = planArena(lifetimes)
      const places = lifetimes.map((each) => ({ ...each, at: offsets.get(each)! }))
      for (const one of places) {
        expect(one.at % ARENA_ALIGNMENT).toBe(0)
        expect(one.at + one.bytes).toBeLessThanOrEqual(bytes)
        for (const other of places) {
          if (one === other || one.from > other.to || other.from > one.to) continue
          expect(one.at + one.bytes <= other.at || other.at + other.bytes <= one.at).toBe(true)
        }
      }
      expect(bytes).toBeLessThanOrEqual(lifetimes.reduce((sum, each) => sum + arenaAligned(each.bytes), 0))
    }),
  )
})

test('buffers of a chain alternate between two places', () => {
  const chain = Array.from({ length: 20 }, (_, at) => ({ bytes: 640, from: at, to: at + 1 }))
  expect(planArena(chain).bytes).toBe(2 * 640)
})

test('a small buffer goes into the first gap that holds it', () => {
  const lifetimes = [
    { bytes: 640, from: 0, to: 1 },
    { bytes: 320, from: 0, to: 3 },
    { bytes: 64, from: 2, to: 3 },
  ]
  const { offsets, bytes } = planArena(lifetimes)
  expect([...lifetimes.map((each) => offsets.get(each)), bytes]).toEqual([0, 640, 0, 960])
})

test('work is charged before each buffer, in proportion to the buffers already placed', () => {
  const counts: number[] = []
  const ones = Array.from({ length: 4 }, () => ({ bytes: 1, from: 0, to: 0 }))
  planArena(ones, (placed) => counts.push(placed))
  expect(counts).toEqual([0, 1, 2, 3])
  const charge = () => {
    throw new RangeError('too much work')
  }
  expect(() => planArena([{ bytes: 1, from: 0, to: 0 }], charge)).toThrow('too much work')
})
