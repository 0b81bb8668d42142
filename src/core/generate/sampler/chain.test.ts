// Tests the chain. In: rows, options, 100,000 draws with a fixed seed. Out: the distribution that brute force
// computes.
import { expect, test } from 'vitest'
import { Sampler, type SamplerParts } from './sampler.ts'
import type { SamplerOptions } from './sampler-options.ts'
import { CHAIN_CASES, distribution, type Given, longestRepeat, wave } from './testing/brute-force.ts'
import { engineRows } from './testing/engine-rows.ts'

const DRAWS = 100_000
/** Pearson's statistic, with rarely expected ids merged. */
function chiSquare(counts: readonly number[], expected: ReadonlyMap<number, number>) {
  let statistic = 0
  let cells = 0
  const rare = { count: 0, p: 0 }
  const add = (count: number, p: number) => {
    statistic += (count - DRAWS * p) ** 2 / (DRAWS * p)
    cells++
  }
  for (const [id, count] of counts.entries()) {
    const p = expected.get(id) ?? 0
    if (p === 0) expect(count, `draws of ${id}, which was excluded`).toBe(0)
    else if (DRAWS * p >= 5) add(count, p)
    else {
      rare.count += count
      rare.p += p
    }
  }
  if (DRAWS * rare.p >= 5) add(rare.count, rare.p)
  return { statistic, freedom: cells - 1 }
}

function draws(given: Given, options: SamplerOptions, parts: SamplerParts = {}): number[] {
  const { rows, put, other } = engineRows('relaxed', given.row.length)
  const sampler = new Sampler(rows, { seed: 2026, ...options }, parts)
  const counts = new Array<number>(given.row.length).fill(0)
  const { row, history, guide } = given
  if (guide !== undefined) other().set(guide)
  for (let draw = 0; draw < DRAWS; draw++) {
    counts[sampler.sample(put(row), history, history.length, guide && other())]!++
  }
  return counts
}

test.each(Object.entries(CHAIN_CASES))('%s: draws follow brute force', (_, { given, options }) => {
  const expected = distribution(given, options)
  const { statistic, freedom } = chiSquare(draws(given, options), expected)
  expect(freedom).toBeGreaterThan(3)
  // With mean `freedom` and twice that as variance, this is four standard deviations. The seed is fixed.
  expect(statistic).toBeLessThan(freedom + 4 * Math.sqrt(2 * freedom))
})

test('a constraint keeps the distribution over the allowed ids', () => {
  const given: Given = { row: wave(70), history: [], allowed: (id) => id % 3 === 1 }
  const words = new Uint32Array(3)
  for (let id = 0; id < 70; id++) if (given.allowed?.(id)) words[id >> 5]! |= 1 << (id % 32)
  const accepted: number[] = []
  const constraint = { mask: () => words, accept: (id: number) => void accepted.push(id) }
  const counts = draws(given, { temperature: 1.1 }, { constraint })
  const { statistic, freedom } = chiSquare(counts, distribution(given, { temperature: 1.1 }))
  expect(freedom).toBeGreaterThan(3)
  expect(statistic).toBeLessThan(freedom + 4 * Math.sqrt(2 * freedom))
  expect(accepted).toHaveLength(DRAWS)
})

test('mirostat drives the mean surprise to its target', () => {
  const row = wave(2000, 1)
  for (const mirostat of [1, 2] as const) {
    const { rows, put } = engineRows('simd128', row.length)
    const sampler = new Sampler(rows, { mirostat, mirostatEnt: 6, seed: 1, logprobs: 0, temperature: 1 })
    let surprise = 0
    const counted = 4000
    for (let token = 0; token < 500 + counted; token++) {
      const id = sampler.sample(put(row), [])
      if (token >= 500) surprise -= sampler.logprobs!.of(id) / Math.LN2
    }
    // Over the whole distribution the surprise is higher than over the truncated one, which mirostat uses
    // here.
    expect(surprise / counted).toBeGreaterThan(6)
    expect(surprise / counted).toBeLessThan(10)
  }
})

test('brute force finds repeats as in the papers', () => {
  // a b c c b c y a b c: c followed "a b c", b followed "c", c and y followed "b c".
  const a = 0
  const b = 1
  const c = 2
  const y = 3
  const history = [a, b, c, c, b, c, y, a, b, c]
  expect([c, b, y, a].map((id) => longestRepeat(history, id))).toEqual([3, 1, 2, 0])
})
