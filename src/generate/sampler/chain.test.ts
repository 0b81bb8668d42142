// The chain. In: rows, options, 100 000 draws with a fixed seed. Out: the distribution that brute force
// gives.
import { expect, test } from 'vitest'
import type { TokenConstraint } from '../../constrain/constraint.ts'
import type { SamplerOptions } from './options.ts'
import { Sampler, type SamplerParts } from './sampler.ts'
import { distribution, type Given, longestRepeat } from './testing/brute-force.ts'
import { engineRows } from './testing/engine-rows.ts'

const DRAWS = 100_000
const off: SamplerOptions = { topK: 0, topP: 1, minP: 0, temperature: 1 }

const wave = (vocab: number, spread = 3) =>
  Array.from({ length: vocab }, (_, id) => Math.fround(spread * Math.sin(id * 1.7) + Math.cos(id * 0.3)))

/** Pearson's statistic, with the ids that are rarely expected taken as one. */
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
    if (p === 0) expect(count, `draws of ${id}, which is out of the race`).toBe(0)
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

const cases: Record<string, { given: Given; options: SamplerOptions }> = {
  'the defaults': { given: { row: wave(50), history: [] }, options: {} },
  'bias, bans, penalties, typical and the cuts': {
    given: { row: wave(50), history: [3, 3, 17, 40] },
    options: {
      ...{ logitBias: { 5: 1.5, 9: Number.NEGATIVE_INFINITY }, bannedTokens: [12] },
      ...{ repeatPenalty: 1.3, frequencyPenalty: 0.2, presencePenalty: 0.1 },
      ...{ topK: 20, typicalP: 0.95, topP: 0.9, minP: 0.05, temperature: 0.7 },
    },
  },
  'nothing but the softmax, over more ids than are sorted at first': {
    given: { row: wave(320, 1), history: [] },
    options: off,
  },
  'a temperature above 1, over all': {
    given: { row: wave(300), history: [] },
    options: { ...off, temperature: 1.7 },
  },
  'top-n-sigma alone': { given: { row: wave(300, 5), history: [] }, options: { ...off, topNSigma: 0.6 } },
  'tail-free and min-p over all': {
    given: { row: wave(280, 2), history: [] },
    options: { ...off, tfsZ: 0.93, minP: 0.02, temperature: 0.9 },
  },
  'top-p over a flat row': { given: { row: wave(600, 0.3), history: [] }, options: { ...off, topP: 0.7 } },
  XTC: {
    given: { row: [2, 1.9, 1.5, 1, 0.5, 0, -1, -3], history: [] },
    options: { ...off, xtcProbability: 0.4, xtcThreshold: 0.12, temperature: 1.3 },
  },
  guidance: {
    given: { row: wave(40), guide: wave(40, 1).toReversed(), history: [] },
    options: { cfgScale: 1.6, topK: 12 },
  },
  'DRY and the penalties together': {
    given: { row: wave(30, 1), history: [1, 2, 3, 4, 9, 2, 3, 5, 1, 2, 3] },
    options: { ...off, dryMultiplier: 0.8, dryBase: 1.75, repeatLastN: 3, presencePenalty: 0.4 },
  },
  // In another order each of these has another distribution.
  'a bias before the penalties': {
    given: { row: wave(12, 1), history: [3, 3, 7] },
    options: { ...off, logitBias: { 3: 2, 7: -2 }, repeatPenalty: 1.8 },
  },
  'the penalties before DRY': {
    given: { row: wave(12, 1), history: [1, 2, 3, 9, 1, 2] },
    options: { ...off, repeatPenalty: 1.9, dryMultiplier: 1.2, dryBase: 1.5 },
  },
  'top-n-sigma of all, before top-k': {
    given: { row: [9, 8.5, 8, 7.5, 7, 6.5, 6, 0, 0, 0, 0, 0], history: [] },
    options: { ...off, topNSigma: 0.6, topK: 7, temperature: 3 },
  },
  'tail-free before typical': {
    given: { row: wave(60, 1.5), history: [] },
    options: { ...off, tfsZ: 0.8, typicalP: 0.7 },
  },
  'typical before top-p': {
    given: { row: wave(60, 1.5), history: [] },
    options: { ...off, typicalP: 0.6, topP: 0.8 },
  },
  'top-p before min-p': {
    given: { row: [2, 1.8, 1.6, 1.4, 1.2, 1, 0.8, -1, -2, -3], history: [] },
    options: { ...off, topP: 0.8, minP: 0.35, temperature: 2 },
  },
  'min-p before XTC': {
    given: { row: [3, 2.5, 1.9, 1.7, 1, 0.8, 0.6, 0.4], history: [] },
    options: { ...off, minP: 0.1, xtcProbability: 0.5, xtcThreshold: 0.1 },
  },
  'the cuts before the temperature': {
    given: { row: wave(60, 1.5), history: [] },
    options: { ...off, topP: 0.85, temperature: 0.6 },
  },
  'mirostat 2 that does not learn': {
    given: { row: wave(500, 2), history: [], mu: 8 },
    options: { mirostat: 2, mirostatEnt: 4, mirostatLr: 0, temperature: 1.2 },
  },
  'mirostat 1 that does not learn': {
    given: {
      row: Array.from({ length: 500 }, (_, id) => Math.fround(-1.3 * Math.log(id + 1))),
      history: [],
      mu: 6,
    },
    options: { mirostat: 1, mirostatEnt: 3, mirostatLr: 0, temperature: 1 },
  },
}

test.each(Object.entries(cases))('%s: draws follow brute force', (_, { given, options }) => {
  const expected = distribution(given, options)
  const { statistic, freedom } = chiSquare(draws(given, options), expected)
  expect(freedom).toBeGreaterThan(3)
  // Mean `freedom`, variance twice that: four standard deviations; the seed is fixed.
  expect(statistic).toBeLessThan(freedom + 4 * Math.sqrt(2 * freedom))
})

test('a constraint leaves the distribution of what it allows', () => {
  const given: Given = { row: wave(70), history: [], allowed: (id) => id % 3 === 1 }
  const words = new Uint32Array(3)
  for (let id = 0; id < 70; id++) if (given.allowed?.(id)) words[id >> 5]! |= 1 << (id % 32)
  const accepted: number[] = []
  const constraint: TokenConstraint = {
    mask: () => words,
    accept: (id) => void accepted.push(id),
    canEnd: false,
    mustEnd: false,
    copy: () => constraint,
  }
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
    // By the whole distribution the surprise is higher than by the cut one, on which mirostat steers here.
    expect(surprise / counted).toBeGreaterThan(6)
    expect(surprise / counted).toBeLessThan(10)
  }
})

test('brute force finds repeats as they are drawn in the papers', () => {
  // a b c c b c y a b c: after "a b c" stood c, after "c" b, after "b c" c and y.
  const [a, b, c, y] = [0, 1, 2, 3]
  const history = [a, b, c, c, b, c, y, a, b, c]
  expect([c, b, y, a].map((id) => longestRepeat(history, id))).toEqual([3, 1, 2, 0])
})
