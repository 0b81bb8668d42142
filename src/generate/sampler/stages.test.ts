import { expect, test } from 'vitest'
import { createCandidates, selectTop } from './candidates.ts'
import { minP, type Stage, tailFree, temperature, topP, typical } from './stages.ts'

/** Ids left of candidates with these probabilities. */
function left(probabilities: readonly number[], stage: Stage): number[] {
  const set = createCandidates(probabilities.length)
  selectTop(Float32Array.from(probabilities, Math.log), set)
  stage(set)
  return Array.from(set.ids.subarray(0, set.count))
}

test('top-p keeps the likeliest until their probabilities reach the share', () => {
  const p = [0.1, 0.4, 0.3, 0.2]
  expect(left(p, (set) => topP(set, 0.35))).toEqual([1])
  expect(left(p, (set) => topP(set, 0.65))).toEqual([1, 2])
  expect(left(p, (set) => topP(set, 0.75))).toEqual([1, 2, 3])
  expect(left(p, (set) => topP(set, 0.95))).toEqual([1, 2, 3, 0])
  expect(left(p, (set) => topP(set, 0))).toEqual([1])
})

test('min-p drops what is less likely than a share of the likeliest', () => {
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

test('tail-free leaves two candidates and a flat line alone', () => {
  expect(left([0.9, 0.1], (set) => tailFree(set, 0.1))).toEqual([0, 1])
  expect(left([0.25, 0.25, 0.25, 0.25], (set) => tailFree(set, 0.1))).toEqual([0, 1, 2, 3])
})

test('typical keeps those nearest the expected surprise, not the likeliest', () => {
  // Surprises 0.693 1.386 2.079 2.079, entropy 1.213: distances 0.520 0.173 0.866 0.866.
  const p = [0.5, 0.25, 0.125, 0.125]
  expect(left(p, (set) => typical(set, 0.2))).toEqual([1])
  expect(left(p, (set) => typical(set, 0.3))).toEqual([0, 1])
  expect(left(p, (set) => typical(set, 0.8))).toEqual([0, 1, 2])
  expect(left(p, (set) => typical(set, 0.9))).toEqual([0, 1, 2, 3])
})

test('typical hands its candidates on best first, with their logits', () => {
  const set = createCandidates(3)
  selectTop(Float32Array.from([0.2, 0.5, 0.3], Math.log), set)
  typical(set, 0.6)
  expect(Array.from(set.ids.subarray(0, set.count))).toEqual([1, 2])
  expect(Array.from(set.logits.subarray(0, 2))).toEqual([Math.log(0.5), Math.log(0.3)].map(Math.fround))
})

test('temperature divides distances and survives the smallest there is', () => {
  const set = createCandidates(3)
  selectTop(Float32Array.of(1, 3, 2), set)
  temperature(set, 0.5)
  expect(Array.from(set.logits)).toEqual([0, -2, -4])
  temperature(set, Number.MIN_VALUE)
  expect(Array.from(set.logits)).toEqual([0, -Infinity, -Infinity])
})
