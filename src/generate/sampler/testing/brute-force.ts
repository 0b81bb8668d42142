// Brute force for tests. In: a row and the options. Out: the probability of every id; each stage follows its
// definition on plain arrays.
import { SAMPLER_DEFAULTS, type SamplerOptions } from '../options.ts'

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
  const [kept, excluded] = [cold(list), cold(without)]
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

/** The longest match: tokens at the end of `history` that also stand right before an earlier `id`. */
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

/** The first entries, up to the one whose mass reaches the share. */
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
