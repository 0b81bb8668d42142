import { expect, test } from 'vitest'
import { createCandidates, draw, selectTop, softmax } from './candidates.ts'
import { Random } from './random.ts'

function selected(logits: readonly number[], capacity: number): { ids: number[]; logits: number[] } {
  const set = createCandidates(capacity)
  selectTop(Float32Array.from(logits), set)
  return {
    ids: Array.from(set.ids.subarray(0, set.count)),
    logits: Array.from(set.logits.subarray(0, set.count)),
  }
}

test('the largest logits come out best first', () => {
  expect(selected([1, 5, -2, 5.5, 0, 3], 3)).toEqual({ ids: [3, 1, 5], logits: [5.5, 5, 3] })
})

test('among equal logits the lower id wins a place and stands first', () => {
  expect(selected([2, 7, 7, 2, 7, 2], 4).ids).toEqual([1, 2, 4, 0])
})

test('zero and minus zero are equal', () => {
  expect(selected([-0, 0, -1, 0], 2).ids).toEqual([0, 1])
})

test('selection equals a full stable sort for any size, sign and number of ties', () => {
  const random = new Random(3)
  for (const n of [1, 2, 3, 17, 300, 5000]) {
    // Few distinct values, so that ties are everywhere.
    const logits = Float32Array.from({ length: n }, () => Math.floor(random.next() * 41 - 20) / 3)
    const order = Array.from(logits.keys()).sort((a, b) => logits[b]! - logits[a]! || a - b)
    for (const k of [1, 2, 40, n]) {
      expect(selected(Array.from(logits), Math.min(k, n)).ids).toEqual(order.slice(0, k))
    }
  }
})

test('logits survive selection to the bit', () => {
  const values = [3.4e38, 1e-45, -1e-45, -3.4e38, 0.1, -0.1].map(Math.fround)
  const { ids, logits } = selected(values, 6)
  expect(logits).toEqual(ids.map((id) => values[id]))
})

test('a banned id never enters, even when places are left', () => {
  expect(selected([-Infinity, 1, -Infinity, 0], 4).ids).toEqual([1, 3])
})

test.each([
  ['NaN among the first', [NaN, 1, 2, 3], 2, /id 0 is NaN/],
  ['NaN after the places are taken', [1, 2, 3, NaN], 2, /id 3 is NaN/],
  ['infinity', [1, 2, 3, Infinity], 2, /id 3 is Infinity/],
  ['nothing but bans', [-Infinity, -Infinity], 1, /all 2 ids are banned/],
])('%s is a typed internal error', (_, logits, capacity, message) => {
  expect(() => selected(logits, capacity)).toThrow(message)
  expect(() => selected(logits, capacity)).toThrow(expect.objectContaining({ code: 'internal' }))
})

test('softmax of logits that would overflow is exact', () => {
  const set = createCandidates(2)
  selectTop(Float32Array.of(1000, 1000 + Math.log(3)), set)
  softmax(set)
  expect(set.probabilities[0]).toBeCloseTo(0.75, 4)
  expect(set.probabilities[1]).toBeCloseTo(0.25, 4)
})

test('a draw walks the probabilities in order', () => {
  const set = createCandidates(3)
  selectTop(Float32Array.from([0.5, 0.3, 0.2], Math.log), set)
  softmax(set)
  expect([0, 0.49, 0.51, 0.79, 0.81, 1 - 2 ** -53].map((u) => draw(set, u))).toEqual([0, 0, 1, 1, 2, 2])
})
