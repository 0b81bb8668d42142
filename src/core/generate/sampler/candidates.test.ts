// Tests candidates. In: rows shorter and longer than the sorted head. Out: the same candidates whether they
// are sorted lazily or at once.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Candidates } from './candidates.ts'
import { minP, type Stage, tailFree, topP, typical } from './stages.ts'
import { PlainRows } from './testing/plain-rows.ts'

const NONE = Number.NEGATIVE_INFINITY

function raceOf(logits: ArrayLike<number>, topK = 0, least = NONE): Candidates {
  const set = new Candidates(new PlainRows(logits.length))
  set.start(Float32Array.from(logits), topK, least, 1)
  return set
}

const idsOf = (set: Candidates) => Array.from(set.ids.subarray(0, set.count))

test('top k keeps the best, best first, and the lower id first among ties', () => {
  expect(idsOf(raceOf([1, 5, -2, 5.5, 0, 3], 3))).toEqual([3, 1, 5])
  expect(idsOf(raceOf([2, 7, 7, 2, 7, 2], 4))).toEqual([1, 2, 4, 0])
})

test('a floor and bans may leave fewer than k', () => {
  expect(idsOf(raceOf([NONE, 1, NONE, 0], 4))).toEqual([1, 3])
  expect(idsOf(raceOf([4, 1, 3, 0], 4, 1))).toEqual([0, 2, 1])
})

test('banning every id throws a typed error', () => {
  expect(() => raceOf([NONE, NONE])).toThrow(/all 2 token ids are banned/)
  expect(() => raceOf([NONE, NONE], 1)).toThrow(expect.objectContaining({ code: 'unsupported' }))
})

test('weights are correct for logits whose exponentials would overflow', () => {
  const set = raceOf([1000, 1000 + Math.log(3)])
  expect(set.weights[0]! / set.total).toBeCloseTo(0.75, 4)
  expect(set.weights[1]! / set.total).toBeCloseTo(0.25, 4)
})

test('a draw walks the probabilities in order', () => {
  const set = raceOf([0.5, 0.3, 0.2].map(Math.log))
  expect([0, 0.49, 0.51, 0.79, 0.81, 1 - 2 ** -53].map((u) => set.draw(u))).toEqual([0, 0, 1, 1, 2, 2])
})

test('scaled weights are the softmax at that temperature', () => {
  const set = raceOf([0, Math.log(4)])
  set.weigh(0.5)
  expect(set.total).toBeCloseTo(1.5)
})

test('dropped candidates count in no later total and are not sorted later', () => {
  const logits = Array.from({ length: 1000 }, (_, id) => -id / 100)
  const set = raceOf(logits)
  set.drop(3)
  expect(set.total).toBeCloseTo(
    logits.slice(3).reduce((sum, x) => sum + Math.exp(x - logits[3]!), 0),
    3,
  )
  expect(set.has(996)).toBe(true)
  expect(set.has(997)).toBe(false)
  expect(idsOf(set)).toEqual(logits.map((_, id) => id).slice(3))
})

test('lazy sorting gives the same result as sorting at once', () => {
  const stages: Record<string, Stage> = {
    'top-p': (set) => topP(set, 0.9),
    'min-p': (set) => minP(set, 0.02),
    'a low floor, then top-p': (set) => {
      minP(set, 1e-6)
      topP(set, 0.99)
    },
    'a floor, then the next': (set) => {
      minP(set, 1e-5)
      set.drop(1)
      minP(set, 1e-3)
    },
    'top-p, then tail-free': (set) => {
      topP(set, 0.999)
      tailFree(set, 0.9)
    },
    'typical, then min-p': (set) => {
      typical(set, 0.7)
      minP(set, 0.5)
    },
    'choices dropped, then top-p': (set) => {
      set.drop(2)
      topP(set, 0.8)
    },
    nothing: () => undefined,
  }
  fc.assert(
    fc.property(
      fc.integer({ min: 200, max: 900 }),
      fc.constantFrom(0.001, 0.05, 1, 5),
      fc.nat(),
      fc.constantFrom(...Object.keys(stages)),
      fc.nat(9999).map((step) => step / 1e4),
      (vocab, spread, seed, name, u) => {
        const row = Float32Array.from(
          { length: vocab },
          (_, id) => spread * 9 * Math.sin(id * 1.7 + (seed % 97)),
        )
        const ends = [0, vocab].map((topK) => {
          const set = raceOf(row, topK)
          stages[name]!(set)
          set.weigh(0.6)
          const drawn = set.ids[set.draw(u)]
          const total = set.total
          set.complete()
          return { drawn, total: total.toPrecision(9), ids: idsOf(set) }
        })
        expect(ends[0]).toEqual(ends[1])
      },
    ),
    { numRuns: 300 },
  )
})
