// Brute force for tests. In: a row and the options. Out: the probability of every id; each stage applies its
// definition to plain arrays. Also: values that turn each stage on, and rows on which it matters.
import { type NumberKey, SAMPLER_DEFAULTS, type SamplerOptions } from '../sampler-options.ts'

/**
 * For each numeric option, a value at which its stage has an effect, except for mirostat, which would replace
 * the other stages.
 */
export const TRIALS: Readonly<
  Record<
    Exclude<NumberKey, 'cfgScale' | 'mirostat' | 'mirostatLr' | 'mirostatEnt' | 'logprobs' | 'seed'>,
    number
  >
> = {
  temperature: 1.3,
  topK: 9,
  topP: 0.9,
  minP: 0.01,
  tfsZ: 0.99,
  typicalP: 0.98,
  topNSigma: 9,
  repeatLastN: 8,
  repeatPenalty: 1.1,
  frequencyPenalty: 0.1,
  presencePenalty: 0.1,
  dryMultiplier: 0.1,
  dryBase: 1.1,
  dryAllowedLength: 4,
  dryLastN: 50,
  xtcProbability: 0.1,
  xtcThreshold: 0.4,
}

interface Entry {
  readonly id: number
  logit: number
  p: number
}

export interface Given {
  readonly row: readonly number[]
  readonly history: readonly number[]
  readonly guide?: readonly number[]
  readonly allowed?: (id: number) => boolean
  /** Mirostat's current mu. */
  readonly mu?: number
}

const off: SamplerOptions = { topK: 0, topP: 1, minP: 0, temperature: 1 }

export const wave = (vocab: number, spread = 3) =>
  Array.from({ length: vocab }, (_, id) => Math.fround(spread * Math.sin(id * 1.7) + Math.cos(id * 0.3)))

/** Rows and options, by the stage that they exercise. */
export const CHAIN_CASES: Record<string, { given: Given; options: SamplerOptions }> = {
  'the defaults': { given: { row: wave(50), history: [] }, options: {} },
  'bias, bans, penalties, typical and the truncations': {
    given: { row: wave(50), history: [3, 3, 17, 40] },
    options: {
      logitBias: { 5: 1.5, 9: Number.NEGATIVE_INFINITY },
      bannedTokens: [12],
      repeatPenalty: 1.3,
      frequencyPenalty: 0.2,
      presencePenalty: 0.1,
      topK: 20,
      typicalP: 0.95,
      topP: 0.9,
      minP: 0.05,
      temperature: 0.7,
    },
  },
  'only the softmax, over more ids than are sorted at first': {
    given: { row: wave(320, 1), history: [] },
    options: off,
  },
  'a temperature above 1, over all ids': {
    given: { row: wave(300), history: [] },
    options: { ...off, temperature: 1.7 },
  },
  'top-n-sigma alone': { given: { row: wave(300, 5), history: [] }, options: { ...off, topNSigma: 0.6 } },
  'tail-free and min-p over all ids': {
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
  // In a different order, each of these would give a different distribution.
  'a bias before the penalties': {
    given: { row: wave(12, 1), history: [3, 3, 7] },
    options: { ...off, logitBias: { 3: 2, 7: -2 }, repeatPenalty: 1.8 },
  },
  'the penalties before DRY': {
    given: { row: wave(12, 1), history: [1, 2, 3, 9, 1, 2] },
    options: { ...off, repeatPenalty: 1.9, dryMultiplier: 1.2, dryBase: 1.5 },
  },
  'top-n-sigma of all ids, before top-k': {
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
  'truncation before the temperature': {
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

/** The distribution of the next id. DRY's breakers are ignored. */
export function distribution(given: Given, options: SamplerOptions): Map<number, number> {
  const set = { ...SAMPLER_DEFAULTS, ...options } as Required<SamplerOptions>
  let list = adjusted(given, set)
  if (set.mirostat !== 0) {
    for (const entry of list) entry.logit /= set.temperature
    list = sorted(list)
    return shares(mirostat(list, set.mirostat, given.mu ?? 2 * set.mirostatEnt, given.row.length))
  }
  if (set.topNSigma > 0) {
    const mean = sum(list, ({ logit }) => logit) / list.length
    const sigma = Math.sqrt(sum(list, ({ logit }) => (logit - mean) ** 2) / list.length)
    const best = Math.max(...list.map(({ logit }) => logit))
    list = list.filter(({ logit }) => logit >= best - set.topNSigma * sigma)
  }
  list = sorted(list).slice(0, set.topK === 0 ? list.length : set.topK)
  if (set.tfsZ < 1) list = tailFree(softmax(list), set.tfsZ)
  if (set.typicalP < 1) {
    const h = -sum(softmax(list), ({ p }) => p * Math.log(p))
    const near = [...list].sort((a, b) => Math.abs(-Math.log(a.p) - h) - Math.abs(-Math.log(b.p) - h))
    list = sorted(until(near, (mass) => mass > set.typicalP))
  }
  if (set.topP < 1) list = until(softmax(list), (mass) => mass >= set.topP)
  softmax(list)
  list = list.filter(({ p }) => p >= set.minP * list[0]!.p)
  const choices = softmax(list).filter(({ p }) => p >= set.xtcThreshold).length
  const without = choices > 1 ? list.slice(choices - 1) : list
  const cold = (entries: readonly Entry[]) =>
    shares(entries.map((entry) => ({ ...entry, logit: entry.logit / set.temperature })))
  const kept = cold(list)
  const excluded = cold(without)
  return new Map(
    [...kept].map(([id, p]) => [
      id,
      (1 - set.xtcProbability) * p + set.xtcProbability * (excluded.get(id) ?? 0),
    ]),
  )
}

function adjusted({ row, history, guide, allowed }: Given, set: Required<SamplerOptions>): Entry[] {
  const recent = history.slice(Math.max(0, history.length - set.repeatLastN))
  return row.flatMap((raw, id) => {
    let logit = guide === undefined ? raw : guide[id]! + set.cfgScale * (raw - guide[id]!)
    logit += set.logitBias[id] ?? 0
    const count = recent.filter((other) => other === id).length
    if (count > 0) {
      logit = logit > 0 ? logit / set.repeatPenalty : logit * set.repeatPenalty
      logit -= count * set.frequencyPenalty + set.presencePenalty
    }
    const repeated = longestRepeat(history, id)
    if (repeated >= set.dryAllowedLength)
      logit -= set.dryMultiplier * set.dryBase ** (repeated - set.dryAllowedLength)
    const isIn = logit > Number.NEGATIVE_INFINITY && allowed?.(id) !== false && !set.bannedTokens.includes(id)
    return isIn ? [{ id, logit, p: 0 }] : []
  })
}

/** The longest match: tokens at the end of `history` that also came directly before an earlier `id`. */
export function longestRepeat(history: readonly number[], id: number): number {
  let longest = 0
  for (let at = 1; at < history.length; at++) {
    if (history[at] !== id) continue
    let length = 0
    while (length < at && history[at - 1 - length] === history[history.length - 1 - length]) length++
    longest = Math.max(longest, length)
  }
  return longest
}

function mirostat(list: Entry[], version: number, mu: number, vocab: number): Entry[] {
  softmax(list)
  if (version === 2) return list.filter(({ p }, index) => index === 0 || -Math.log2(p) <= mu)
  const fitted = list.slice(0, 100)
  const pairs = fitted.slice(1).map(({ p }, i) => ({
    t: Math.log((i + 2) / (i + 1)),
    b: Math.log(fitted[i]!.p / p),
  }))
  const s = sum(pairs, ({ t, b }) => t * b) / sum(pairs, ({ t }) => t * t)
  const k = (((s - 1) * 2 ** mu) / (1 - vocab ** (1 - s))) ** (1 / s)
  return list.slice(0, Math.max(1, Math.floor(k)))
}

function tailFree(list: Entry[], z: number): Entry[] {
  const first = list.slice(1).map(({ p }, i) => list[i]!.p - p)
  const second = first.slice(1).map((d, i) => Math.abs(first[i]! - d))
  const total = sum(second, (d) => d)
  const cut = cumulative(second).findIndex((mass) => mass / total > z)
  return cut < 0 ? list : list.slice(0, Math.max(1, cut))
}

/** The first entries, up to the one at which the sum reaches the share. */
function until(list: readonly Entry[], isEnough: (mass: number) => boolean): Entry[] {
  const last = cumulative(list.map(({ p }) => p)).findIndex(isEnough)
  return last < 0 ? [...list] : list.slice(0, last + 1)
}

const cumulative = (values: readonly number[]): number[] =>
  values.map((_, at) => sum(values.slice(0, at + 1), (value) => value))

const sum = <T>(list: readonly T[], of: (entry: T) => number): number =>
  list.reduce((total, entry) => total + of(entry), 0)

const sorted = (list: readonly Entry[]): Entry[] => [...list].sort((a, b) => b.logit - a.logit || a.id - b.id)

function softmax(list: Entry[]): Entry[] {
  const best = Math.max(...list.map(({ logit }) => logit))
  const total = sum(list, ({ logit }) => Math.exp(logit - best))
  for (const entry of list) entry.p = Math.exp(entry.logit - best) / total
  return list
}

const shares = (list: Entry[]): Map<number, number> => new Map(softmax(list).map(({ id, p }) => [id, p]))
