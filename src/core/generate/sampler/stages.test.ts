// Stages. In: a few probabilities. Out: the result of each stage, computed by hand.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Candidates } from './candidates.ts'
import { Random } from './random.ts'
import { excludeTop, minP, type Stage, tailFree, topP, typical } from './stages.ts'
import { PlainRows } from './testing/plain-rows.ts'

function after(logits: ArrayLike<number>, stage: Stage): Candidates {
  const set = new Candidates(new PlainRows(logits.length))
  set.start(Float32Array.from(logits), logits.length, Number.NEGATIVE_INFINITY, 1)
  stage(set)
  return set
}

/** The ids that remain of candidates with these probabilities. */
const left = (probabilities: readonly number[], stage: Stage): number[] => {
  const set = after(probabilities.map(Math.log), stage)
  return Array.from(set.ids.subarray(0, set.count))
}

test('top-p keeps the most likely ids until their probabilities reach the share', () => {
  const p = [0.1, 0.4, 0.3, 0.2]
  expect(left(p, (set) => topP(set, 0.35))).toEqual([1])
  expect(left(p, (set) => topP(set, 0.65))).toEqual([1, 2])
  expect(left(p, (set) => topP(set, 0.75))).toEqual([1, 2, 3])
  expect(left(p, (set) => topP(set, 0.95))).toEqual([1, 2, 3, 0])
  expect(left(p, (set) => topP(set, 0))).toEqual([1])
})

test('min-p drops ids less likely than a share of the most likely', () => {
  const p = [0.1, 0.4, 0.3, 0.2]
  expect(left(p, (set) => minP(set, 0.2))).toEqual([1, 2, 3, 0])
  expect(left(p, (set) => minP(set, 0.3))).toEqual([1, 2, 3])
  expect(left(p, (set) => minP(set, 0.6))).toEqual([1, 2])
  expect(left(p, (set) => minP(set, 1))).toEqual([1])
})

test('tail-free cuts where the second differences have added up', () => {
  // First differences 0.3 0.15 0.02 0.01 0, second 0.15 0.13 0.01 0.01, in shares 0.5 0.433 0.033 0.033.
  const p = [0.5, 0.2, 0.05, 0.03, 0.02, 0.02]
  expect(left(p, (set) => tailFree(set, 0.3))).toEqual([0])
  expect(left(p, (set) => tailFree(set, 0.9))).toEqual([0])
  expect(left(p, (set) => tailFree(set, 0.95))).toEqual([0, 1])
  expect(left(p, (set) => tailFree(set, 0.98))).toEqual([0, 1, 2])
})

test('tail-free leaves two candidates or a flat curve unchanged', () => {
  expect(left([0.9, 0.1], (set) => tailFree(set, 0.1))).toEqual([0, 1])
  expect(left([0.25, 0.25, 0.25, 0.25], (set) => tailFree(set, 0.1))).toEqual([0, 1, 2, 3])
})

test('typical keeps the ids nearest to the expected surprise, not the most likely', () => {
  // Surprises 0.693 1.386 2.079 2.079, entropy 1.213: distances 0.520 0.173 0.866 0.866.
  const p = [0.5, 0.25, 0.125, 0.125]
  expect(left(p, (set) => typical(set, 0.2))).toEqual([1])
  expect(left(p, (set) => typical(set, 0.3))).toEqual([0, 1])
  expect(left(p, (set) => typical(set, 0.8))).toEqual([0, 1, 2])
  expect(left(p, (set) => typical(set, 0.9))).toEqual([0, 1, 2, 3])
})

test('typical leaves its candidates best first, with their logits and weights', () => {
  const set = after([0.2, 0.5, 0.3].map(Math.log), (set) => typical(set, 0.6))
  expect(Array.from(set.ids.subarray(0, set.count))).toEqual([1, 2])
  expect(Array.from(set.logits.subarray(0, 2))).toEqual([Math.log(0.5), Math.log(0.3)].map(Math.fround))
  expect(set.weights[1]).toBeCloseTo(0.6)
  expect(set.total).toBeCloseTo(1.6)
})

test('XTC, if it applies, keeps the least likely of the top choices', () => {
  const p = [0.1, 0.35, 0.3, 0.25]
  const always = new Random(1)
  expect(left(p, (set) => excludeTop(set, 1, 0.2, always))).toEqual([3, 0])
  expect(left(p, (set) => excludeTop(set, 1, 0.28, always))).toEqual([2, 3, 0])
  // A single top choice is kept.
  expect(left(p, (set) => excludeTop(set, 1, 0.32, always))).toEqual([1, 2, 3, 0])
  expect(left(p, (set) => excludeTop(set, 1, 0.9, always))).toEqual([1, 2, 3, 0])
  const random = new Random(5)
  let turns = 0
  for (let i = 0; i < 10_000; i++)
    if (left(p, (set) => excludeTop(set, 0.3, 0.2, random)).length === 2) turns++
  expect(Math.abs(turns - 3000)).toBeLessThan(200)
})

test('every stage leaves at least one candidate, best first, adds none, and keeps sums consistent', () => {
  const share = fc.double({ min: 0.001, max: 0.999, noNaN: true })
  const anyStage = fc.oneof(
    share.map(
      (z): Stage =>
        (set) =>
          tailFree(set, z),
    ),
    share.map(
      (p): Stage =>
        (set) =>
          typical(set, p),
    ),
    share.map(
      (p): Stage =>
        (set) =>
          topP(set, p),
    ),
    share.map(
      (p): Stage =>
        (set) =>
          minP(set, p),
    ),
    share.map(
      (t): Stage =>
        (set) =>
          excludeTop(set, 0.5, t, new Random(Math.floor(t * 1e6))),
    ),
  )
  const logit = fc.oneof(
    { weight: 5, arbitrary: fc.float({ min: -20, max: 20, noNaN: true }) },
    fc.constant(Number.NEGATIVE_INFINITY),
  )
  fc.assert(
    fc.property(
      fc.array(logit, { minLength: 1, maxLength: 60 }).filter((row) => row.some(Number.isFinite)),
      fc.array(anyStage, { minLength: 1, maxLength: 4 }),
      (row, stages) => {
        const set = after(row, (set) => {
          for (const stage of stages) stage(set)
        })
        expect(set.count).toBeGreaterThan(0)
        let sum = 0
        for (let i = 0; i < set.count; i++) {
          expect(set.logits[i]).toBe(row[set.ids[i]!]! + 0)
          if (i > 0) expect(set.logits[i]! <= set.logits[i - 1]!).toBe(true)
          sum += set.weights[i]!
        }
        expect(new Set(set.ids.subarray(0, set.count)).size).toBe(set.count)
        expect(set.weights[0]).toBe(1)
        expect(set.total).toBe(sum)
        expect(set.draw(0)).toBe(0)
      },
    ),
    { numRuns: 500 },
  )
})
