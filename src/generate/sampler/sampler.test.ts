import { expect, test } from 'vitest'
import { SAMPLER_DEFAULTS, type SamplerOptions } from './options.ts'
import { Sampler } from './sampler.ts'

const flat: SamplerOptions = { topK: 0, topP: 1, minP: 0, temperature: 1 }

test('temperature 0 takes the largest logit, the lowest id among equals', () => {
  const sampler = new Sampler(5, { temperature: 0 })
  expect(sampler.sample(Float32Array.of(1, 4, 2, 4, 0), [])).toBe(1)
})

test('the same seed gives the same ids, another seed others', () => {
  const ids = (seed: number) => {
    const sampler = new Sampler(64, { seed })
    return Array.from({ length: 100 }, () =>
      sampler.sample(
        Float32Array.from({ length: 64 }, (_, i) => Math.sin(i)),
        [],
      ),
    )
  }
  expect(ids(5)).toEqual(ids(5))
  expect(ids(5)).not.toEqual(ids(6))
})

test('a sampler without a seed tells the one it took', () => {
  const first = new Sampler(64)
  const again = new Sampler(64, { seed: first.seed })
  const draws = (sampler: Sampler) =>
    Array.from({ length: 50 }, () => sampler.sample(new Float32Array(64), []))
  expect(draws(again)).toEqual(draws(first))
})

test('repeat penalty divides positive and multiplies negative logits of recent tokens, once each', () => {
  const logits = Float32Array.of(4, -2, 3, 1)
  new Sampler(4, { repeatPenalty: 2, temperature: 0 }).sample(logits, [0, 0, 1])
  expect(Array.from(logits)).toEqual([2, -4, 3, 1])
})

test('frequency counts occurrences, presence does not', () => {
  const logits = Float32Array.of(4, 4, 4)
  new Sampler(3, { frequencyPenalty: 0.5, presencePenalty: 1, temperature: 0 }).sample(logits, [0, 1, 0, 0])
  expect(Array.from(logits)).toEqual([1.5, 2.5, 4])
})

test('penalties look at the last n tokens only, and only up to the given length', () => {
  const logits = Float32Array.of(1, 1, 1, 1)
  const sampler = new Sampler(4, { repeatLastN: 2, presencePenalty: 1, temperature: 0 })
  sampler.sample(logits, [0, 1, 2, 3], 3)
  expect(Array.from(logits)).toEqual([1, 0, 0, 1])
})

test('a bias moves an id, minus infinity bans it', () => {
  const sampler = new Sampler(3, { logitBias: { 0: -Infinity, 2: 2 }, temperature: 0 })
  expect(sampler.sample(Float32Array.of(9, 4, 3), [])).toBe(2)
})

test('draws follow the distribution of a brute-force chain', () => {
  const vocab = 50
  const row = Float32Array.from({ length: vocab }, (_, i) => 3 * Math.sin(i * 1.7) + Math.cos(i * 0.3))
  const history = [3, 3, 17, 40]
  const options = {
    logitBias: { 5: 1.5, 9: -Infinity },
    repeatPenalty: 1.3,
    frequencyPenalty: 0.2,
    presencePenalty: 0.1,
    topK: 20,
    typicalP: 0.95,
    topP: 0.9,
    minP: 0.05,
    temperature: 0.7,
    seed: 2026,
  }
  const expected = bruteForce(row, history, options)
  const sampler = new Sampler(vocab, options)
  const counts = new Array<number>(vocab).fill(0)
  const draws = 100_000
  for (let i = 0; i < draws; i++) counts[sampler.sample(row.slice(), history)]!++

  let chiSquare = 0
  let kept = 0
  for (let id = 0; id < vocab; id++) {
    const p = expected.get(id) ?? 0
    if (p === 0) {
      expect(counts[id]).toBe(0)
      continue
    }
    kept++
    chiSquare += (counts[id]! - draws * p) ** 2 / (draws * p)
  }
  expect(kept).toBeGreaterThan(4)
  // Mean kept - 1, variance twice that: four standard deviations, with a fixed seed.
  expect(chiSquare).toBeLessThan(kept - 1 + 4 * Math.sqrt(2 * (kept - 1)))
})

test('with every stage off, draws follow the softmax of all logits', () => {
  const row = Float32Array.from([0.5, 0.25, 0.15, 0.1], Math.log)
  const sampler = new Sampler(4, { ...flat, seed: 1 })
  const counts = [0, 0, 0, 0]
  for (let i = 0; i < 100_000; i++) counts[sampler.sample(row, [])]!++
  for (const [id, p] of [0.5, 0.25, 0.15, 0.1].entries())
    expect(Math.abs(counts[id]! - 1e5 * p)).toBeLessThan(600)
})

test.each<[SamplerOptions, RegExp]>([
  [{ temperature: -1 }, /temperature is -1 but must be a real number from 0/],
  [{ temperature: NaN }, /temperature is NaN/],
  [{ topK: 1.5 }, /topK is 1.5 but must be a whole number/],
  [{ topP: 1.01 }, /topP is 1.01 .* to 1;/],
  [{ minP: -0.1 }, /minP/],
  [{ typicalP: 0 }, /typicalP/],
  [{ repeatPenalty: 0 }, /repeatPenalty/],
  [{ seed: 2 ** 53 }, /seed/],
  [{ logitBias: { 10: 1 } }, /logitBias is 10 but .* to 9/],
  [{ logitBias: { 1: NaN } }, /logitBias\[1\] is NaN/],
  [{ topK: '5' as unknown as number }, /topK is 5/],
])('%o is refused with both numbers', (options, message) => {
  expect(() => new Sampler(10, options)).toThrow(message)
  expect(() => new Sampler(10, options)).toThrow(expect.objectContaining({ code: 'unsupported' }))
})

test('an option set to undefined is absent', () => {
  const row = Float32Array.of(0, 1, 5)
  expect(new Sampler(3, { temperature: 0, topK: undefined, seed: undefined }).sample(row, [])).toBe(2)
})

test('the defaults are the documented ones', () => {
  expect(SAMPLER_DEFAULTS).toMatchObject({
    repeatLastN: 64,
    repeatPenalty: 1,
    frequencyPenalty: 0,
    presencePenalty: 0,
    topK: 40,
    tfsZ: 1,
    typicalP: 1,
    topP: 0.95,
    minP: 0.05,
    temperature: 0.8,
  })
  expect(Object.isFrozen(SAMPLER_DEFAULTS)).toBe(true)
})

/** The chain once more, on plain arrays of [id, logit], each stage by its definition. */
function bruteForce(
  row: Float32Array,
  history: readonly number[],
  options: Required<Omit<SamplerOptions, 'tfsZ' | 'repeatLastN' | 'seed'>>,
): Map<number, number> {
  let list = Array.from(row, (logit, id) => ({ id, logit: logit + (options.logitBias[id] ?? 0) }))
  for (const entry of list) {
    const count = history.filter((id) => id === entry.id).length
    if (count === 0) continue
    entry.logit = entry.logit > 0 ? entry.logit / options.repeatPenalty : entry.logit * options.repeatPenalty
    entry.logit -= count * options.frequencyPenalty + options.presencePenalty
  }
  list = list.sort((a, b) => b.logit - a.logit).slice(0, options.topK)

  const share = () => {
    const weights = list.map(({ logit }) => Math.exp(logit))
    const sum = weights.reduce((a, b) => a + b, 0)
    return weights.map((w) => w / sum)
  }
  const keepUntil = (order: number[], p: number[], target: number, reached: (mass: number) => boolean) => {
    const kept = new Set<number>()
    let mass = 0
    for (const i of order) {
      if (kept.size > 0 && reached(mass)) break
      mass += p[i]!
      kept.add(i)
    }
    expect(mass).toBeGreaterThanOrEqual(target - 1e-6)
    list = list.filter((_, i) => kept.has(i))
  }

  let p = share()
  const entropy = -p.reduce((sum, x) => sum + x * Math.log(x), 0)
  const distance = p.map((x) => Math.abs(-Math.log(x) - entropy))
  const order = [...p.keys()]
  keepUntil(
    [...order].sort((a, b) => distance[a]! - distance[b]!),
    p,
    options.typicalP,
    (m) => m > options.typicalP,
  )
  p = share()
  keepUntil([...p.keys()], p, options.topP, (m) => m >= options.topP)
  p = share()
  list = list.filter((_, i) => p[i]! >= options.minP * p[0]!)
  for (const entry of list) entry.logit /= options.temperature
  p = share()
  return new Map(list.map(({ id }, i) => [id, p[i]!]))
}
