import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Candidates } from './candidates.ts'
import type { LogitProcessor } from './processors.ts'
import type { Random } from './random.ts'
import { Sampler, type SamplerParts } from './sampler.ts'
import { type NumberKey, SAMPLER_DEFAULTS, SAMPLER_NUMBERS, type SamplerOptions } from './sampler-options.ts'
import { Mirostat } from './stages.ts'
import { TRIALS } from './testing/brute-force.ts'
import { PlainRows } from './testing/plain-rows.ts'

const samplerOf = (vocab: number, options?: SamplerOptions, parts?: SamplerParts) =>
  new Sampler(new PlainRows(vocab), options, parts)

const flat: SamplerOptions = { topK: 0, topP: 1, minP: 0, temperature: 1 }

test('temperature 0 picks the largest logit, and the lowest id among ties', () => {
  const sampler = samplerOf(5, { temperature: 0 })
  expect(sampler.sample(Float32Array.of(1, 4, 2, 4, 0), [])).toBe(1)
})

test('the same seed gives the same ids, another seed different ones', () => {
  const ids = (seed: number) => {
    const sampler = samplerOf(64, { seed })
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

test('a sampler without a seed reports the one it chose', () => {
  const first = samplerOf(64)
  const again = samplerOf(64, { seed: first.seed })
  const draws = (sampler: Sampler) =>
    Array.from({ length: 50 }, () => sampler.sample(new Float32Array(64), []))
  expect(draws(again)).toEqual(draws(first))
})

test('the repeat penalty divides positive and multiplies negative logits of recent tokens, once each', () => {
  const logits = Float32Array.of(4, -2, 3, 1)
  samplerOf(4, { repeatPenalty: 2, temperature: 0 }).sample(logits, [0, 0, 1])
  expect(Array.from(logits)).toEqual([2, -4, 3, 1])
})

test('frequency counts occurrences, presence does not', () => {
  const logits = Float32Array.of(4, 4, 4)
  samplerOf(3, { frequencyPenalty: 0.5, presencePenalty: 1, temperature: 0 }).sample(logits, [0, 1, 0, 0])
  expect(Array.from(logits)).toEqual([1.5, 2.5, 4])
})

test('penalties consider only the last n tokens, and only up to the given length', () => {
  const logits = Float32Array.of(1, 1, 1, 1)
  const sampler = samplerOf(4, { repeatLastN: 2, presencePenalty: 1, temperature: 0 })
  sampler.sample(logits, [0, 1, 2, 3], 3)
  expect(Array.from(logits)).toEqual([1, 0, 0, 1])
})

test('a bias moves an id, minus infinity bans it', () => {
  const sampler = samplerOf(3, { logitBias: { 0: -Infinity, 2: 2 }, temperature: 0 })
  expect(sampler.sample(Float32Array.of(9, 4, 3), [])).toBe(2)
})

test('draws follow the softmax of all logits if every stage is off', () => {
  const row = Float32Array.from([0.5, 0.25, 0.15, 0.1], Math.log)
  const sampler = samplerOf(4, { ...flat, seed: 1 })
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
  [{ dryBase: 0.5 }, /dryBase is 0.5 .* from 1/],
  [{ dryAllowedLength: 0 }, /dryAllowedLength is 0/],
  [{ repeatLastN: 1.5 }, /repeatLastN is 1.5/],
  [{ mirostat: 3 as 2 }, /mirostat is 3 .* to 2;/],
  [{ logprobs: 101 }, /logprobs is 101 .* to 100;/],
  [{ bannedTokens: [10] }, /an id in bannedTokens is 10 .* to 9/],
  [{ forcedTokens: [-1] }, /an id in forcedTokens is -1/],
  [{ forcedTokens: 3 as unknown as number[] }, /forcedTokens is 3 but must be a list/],
  [{ drySequenceBreakers: [''] }, /empty/],
  [{ logitBias: { 1: NaN } }, /logitBias\[1\] is NaN/],
  [{ topK: '5' as unknown as number }, /topK is "5"/],
  [{ logitBias: null as never }, /logitBias is null but must be an object/],
  [{ logitBias: new Map([[1, 2]]) as never }, /logitBias is \{\} but must be an object/],
  [{ logitBias: [1, 2] as never }, /logitBias is \[1,2\] but/],
  [{ logitBias: { '': 1 } as never }, /an id in logitBias is "" but/],
  [{ logitBias: { ' 1': 1 } as never }, /an id in logitBias is " 1" but/],
  [{ logitBias: { 1: 1e300 } }, /logitBias\[1\] is 1e\+300 .* to 1000000000;/],
  [{ repeatPenalty: 1e-300 }, /repeatPenalty is 1e-300 .* from 0.000001 to/],
  [{ frequencyPenalty: -1e300 }, /frequencyPenalty is -1e\+300 .* from -1000000000 to/],
  [{ presencePenalty: -1e300 }, /presencePenalty/],
  [{ bannedTokens: Uint32Array.of(3) as never }, /bannedTokens is \{"0":3\} but must be a list/],
  [{ drySequenceBreakers: [3] as never }, /a string in drySequenceBreakers is 3/],
  [{ seed: 3n as never }, /seed is 3 but/],
])('%o is rejected with both numbers', (options, message) => {
  expect(() => samplerOf(10, options)).toThrow(message)
  expect(() => samplerOf(10, options)).toThrow(expect.objectContaining({ code: 'unsupported' }))
})

test('an option set to undefined is absent', () => {
  const row = Float32Array.of(0, 1, 5)
  expect(samplerOf(3, { temperature: 0, topK: undefined, seed: undefined }).sample(row, [])).toBe(2)
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
    mirostat: 0,
    mirostatLr: 0.1,
    mirostatEnt: 5,
  })
  expect(Object.isFrozen(SAMPLER_DEFAULTS)).toBe(true)
})

test('the guide lists every numeric option with its default', () => {
  const guide = readFileSync(new URL('../../../../docs/guide/sampler.md', import.meta.url), 'utf8')
  const words: Readonly<Record<string, string>> = { logprobs: 'none', seed: 'random' }
  for (const name of Object.keys(SAMPLER_NUMBERS) as NumberKey[]) {
    // Mirostat is described below the table.
    const text =
      name === 'mirostat' ? '`mirostat: 1`' : `\`${name}\` (${words[name] ?? SAMPLER_DEFAULTS[name]})`
    expect(guide).toContain(text)
  }
})

test('forced tokens start the reply regardless of their logits, and the constraint accepts them', () => {
  const accepted: number[] = []
  const only = (allowed: number) => ({
    mask: () => Uint32Array.of(1 << allowed),
    accept: (id: number) => void accepted.push(id),
  })
  const sampler = samplerOf(4, { forcedTokens: [2, 2], temperature: 0 }, { constraint: only(2) })
  const ids = [0, 1, 2].map(() => sampler.sample(Float32Array.of(9, 8, 1, 0), []))
  expect(ids).toEqual([2, 2, 2])
  expect(accepted).toEqual(ids)
  const wrong = samplerOf(4, { forcedTokens: [1] }, { constraint: only(2) })
  expect(() => wrong.sample(new Float32Array(4), [])).toThrow(/forced token 1 does not fit/)
})

test('banned tokens are never picked, not even with a bias or by greedy decoding', () => {
  const sampler = samplerOf(3, { bannedTokens: [0], logitBias: { 0: 50 }, temperature: 0 })
  expect(sampler.sample(Float32Array.of(9, 4, 3), [])).toBe(1)
})

test('bans that leave no id are a typed error', () => {
  const sampler = samplerOf(2, { bannedTokens: [0, 1] })
  expect(() => sampler.sample(new Float32Array(2), [])).toThrow(
    expect.objectContaining({ code: 'unsupported' }),
  )
})

test('guidance without a negative row is rejected', () => {
  const sampler = samplerOf(2, { cfgScale: 1.5 })
  expect(() => sampler.sample(new Float32Array(2), [])).toThrow(
    /cfgScale is 1.5 but there is no negative prompt/,
  )
})

test('guidance moves away from the other row', () => {
  const row = Float32Array.of(1, 2, 3)
  samplerOf(3, { cfgScale: 2, temperature: 0 }).sample(row, [], 0, Float32Array.of(1, 3, 1))
  expect(Array.from(row)).toEqual([1, 1, 5])
})

test('processors run in order, after guidance and before bans', () => {
  const seen: unknown[] = []
  const add = (name: string, amount: number): LogitProcessor => ({
    name,
    process: (logits, history, length) => {
      seen.push([name, logits[1], Array.from(history).slice(0, length)])
      for (let id = 0; id < logits.length; id++) logits[id]! += amount
    },
  })
  const sampler = samplerOf(
    3,
    { cfgScale: 2, bannedTokens: [0], temperature: 0 },
    { processors: [add('a', 1), add('b', 10)] },
  )
  const row = Float32Array.of(9, 2, 3)
  expect(sampler.sample(row, [7, 8, 9], 2, Float32Array.of(9, 1, 3))).toBe(1)
  expect(seen).toEqual([
    ['a', 3, [7, 8]],
    ['b', 4, [7, 8]],
  ])
  expect(row[1]).toBe(14)
})

test.each<[string, LogitProcessor['process'], RegExp]>([
  ['throws', () => JSON.parse('{'), /processor p threw SyntaxError/],
  ['answers later', async () => undefined, /p returned something/],
  ['makes NaN', (logits) => void logits.fill(Number.NaN, 1, 2), /p made the logit of id 1 NaN/],
  ['makes infinity', (logits) => void logits.fill(1 / 0, 2), /p made the logit of id 2 Infinity/],
  ['bans everything', (logits) => void logits.fill(-1 / 0), /all 3 token ids are banned/],
])('a processor that %s causes a typed error', (_, process, message) => {
  const sample = () =>
    samplerOf(3, {}, { processors: [{ name: 'p', process }] }).sample(new Float32Array(3), [])
  expect(sample).toThrow(message)
  expect(sample).toThrow(expect.objectContaining({ code: 'unsupported' }))
})

test('a processor is not blamed for a broken model', () => {
  const sampler = samplerOf(2, {}, { processors: [{ name: 'p', process: () => undefined }] })
  expect(() => sampler.sample(Float32Array.of(0, Number.NaN), [])).toThrow(
    expect.objectContaining({ code: 'integrity' }),
  )
})

test('log-probabilities are those of the raw row, whatever the chain', () => {
  const p = [0.1, 0.6, 0.3]
  const sampler = samplerOf(3, { logprobs: 2, bannedTokens: [1], logitBias: { 0: 9 }, temperature: 0 })
  expect(sampler.sample(Float32Array.from(p, Math.log), [1])).toBe(0)
  const { ids, logprobs, count } = sampler.logprobs!
  expect(count).toBe(2)
  expect(Array.from(ids)).toEqual([1, 2])
  expect(Array.from(logprobs)).toEqual([expect.closeTo(Math.log(0.6), 6), expect.closeTo(Math.log(0.3), 6)])
  expect(sampler.logprobs!.of(0)).toBeCloseTo(Math.log(0.1), 6)
  expect(samplerOf(3).logprobs).toBeUndefined()
})

test('mirostat 2 updates mu as computed by hand', () => {
  const set = new Candidates(new PlainRows(3))
  set.start(Float32Array.from([0.5, 0.3, 0.2], Math.log), 0, Number.NEGATIVE_INFINITY, 1)
  const mirostat = new Mirostat(2, 1, 0.1)
  // mu is 2 bits and 0.2 has 2.32, so it is dropped. Of 0.5 and 0.3, the first becomes 0.625, which is 0.678
  // bits.
  expect(mirostat.draw(set, { next: () => 0.6 } as Random)).toBe(0)
  expect(set.count).toBe(2)
  expect(mirostat.mu).toBeCloseTo(2 - 0.1 * (0.678072 - 1), 5)
})

test('mirostat 1 keeps as many ids as its formula says', () => {
  // p ~ rank^-2 over 8 ids: s = 2, k = sqrt(2^mu / (1 - 1/8)).
  const row = Float32Array.from({ length: 8 }, (_, id) => -2 * Math.log(id + 1))
  for (const [mu, kept] of [
    [2, 2],
    [4, 4],
    [8, 8],
  ] as const) {
    const set = new Candidates(new PlainRows(8))
    set.start(row, 0, Number.NEGATIVE_INFINITY, 1)
    new Mirostat(1, mu / 2, 0).draw(set, { next: () => 0 } as Random)
    expect(set.count).toBe(kept)
  }
})

test('mirostat 1 handles flat rows, a single id and s = 1', () => {
  const kept = (row: number[]) => {
    const set = new Candidates(new PlainRows(row.length))
    set.start(Float32Array.from(row), 0, Number.NEGATIVE_INFINITY, 1)
    const mirostat = new Mirostat(1, 2, 0.1)
    mirostat.draw(set, { next: () => 0 } as Random)
    expect(mirostat.mu).not.toBeNaN()
    return set.count
  }
  expect(kept([1])).toBe(1)
  expect(kept([2, 2, 2])).toBe(3)
  // 2^4 / ln 64 = 3.8
  expect(kept(Array.from({ length: 64 }, (_, id) => -Math.log(id + 1)))).toBe(3)
})

test('no option within its range makes the engine report damaged weights', () => {
  const most = Number.MAX_VALUE
  const extremes = (name: NumberKey) => {
    const { least, most } = SAMPLER_NUMBERS[name]
    const trial = name in TRIALS ? [TRIALS[name as keyof typeof TRIALS]] : []
    return fc.option(fc.constantFrom(least, most, ...trial), { nil: undefined })
  }
  const names = (Object.keys(SAMPLER_NUMBERS) as NumberKey[]).filter((name) => name !== 'seed')
  const numbers = Object.fromEntries(names.map((name) => [name, extremes(name)]))
  const options = fc.record({
    ...numbers,
    mirostat: fc.constantFrom(0 as const, 1 as const, 2 as const),
    temperature: fc.constantFrom(0, most, Number.MIN_VALUE, 0.8),
    logitBias: fc.constantFrom<SamplerOptions['logitBias']>(
      {},
      { 1: 1e9 },
      { 1: -most, 2: 1e9 },
      { 0: Number.NEGATIVE_INFINITY },
    ),
  })
  const logit = fc.double({ min: -1000, max: 1000, noNaN: true })
  const row = fc.array(logit, { minLength: 8, maxLength: 8 })
  fc.assert(
    fc.property(options, row, row, (given, own, other) => {
      const sampler = samplerOf(8, { ...given, seed: 1 })
      const history = [1, 2, 3, 1, 2]
      for (let token = 0; token < 4; token++) {
        const guide = Float32Array.from(other)
        const id = sampler.sample(Float32Array.from(own), history, history.length, guide)
        expect(id).toBeLessThan(8)
        history.push(id)
      }
    }),
    { numRuns: 2000, seed: 4 },
  )
})
