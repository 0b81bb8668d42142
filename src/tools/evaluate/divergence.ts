// The divergence of a model's predictions from those of its original, on the same windows.
import { brokenLogit } from '../../core/generate/sampler/logit-rows.ts'
import type { Sequence } from '../../core/generate/schedule/sequence.ts'
import type { ScoringModel } from '../../engine/score/score.ts'
import { type Estimate, mean } from './task.ts'

/** Nats and shares per predicted token. */
export interface Divergence {
  /** The original's perplexity. */
  readonly before: number
  readonly after: number
  /** Mean loss after minus before, in nats. The error is that of the windows' means. */
  readonly change: Estimate
  /** Mean Kullback-Leibler divergence from the original, in nats. */
  readonly kl: Estimate
  /** Share of tokens for which both have the same most likely token. */
  readonly sameTop: Estimate
  readonly tokens: number
}

interface DivergenceOptions {
  /** Token ids. Each window has at least two, of which the first is not predicted. */
  readonly windows: readonly (readonly number[])[]
  readonly signal?: AbortSignal | undefined
  readonly onWindow?: ((done: number, total: number) => void) | undefined
}

/** Tokens per step. The original's logits for all of them are in memory at once. */
const STEP = 32

/**
 * Both must have the same vocabulary. Throws the schedulers' errors, `integrity` for NaN, the signal's
 * reason.
 */
export async function divergence(
  original: ScoringModel,
  changed: ScoringModel,
  { windows, signal, onWindow }: DivergenceOptions,
): Promise<Divergence> {
  const sums: Sums[] = []
  for (const ids of windows) {
    sums.push(await windowSums(original, changed, ids, signal))
    onWindow?.(sums.length, windows.length)
  }
  const tokens = total(sums, 'tokens')
  const perToken = (of: (sum: Sums) => number): Estimate => mean(sums.map((each) => of(each) / each.tokens))
  return {
    before: Math.exp(total(sums, 'before') / tokens),
    after: Math.exp(total(sums, 'after') / tokens),
    change: perToken(({ before, after }) => after - before),
    kl: perToken(({ kl }) => kl),
    sameTop: perToken(({ same }) => same),
    tokens,
  }
}

interface Sums {
  tokens: number
  before: number
  after: number
  kl: number
  same: number
}

const total = (sums: readonly Sums[], what: keyof Sums): number =>
  sums.reduce((sum, each) => sum + each[what], 0)

async function windowSums(
  original: ScoringModel,
  changed: ScoringModel,
  ids: readonly number[],
  signal: AbortSignal | undefined,
): Promise<Sums> {
  const sums: Sums = { tokens: 0, before: 0, after: 0, kl: 0, same: 0 }
  const first = original.newSequence()
  const second = changed.newSequence()
  try {
    // The token after the last one is unknown.
    for (let from = 0; from < ids.length - 1; from += STEP) {
      const until = Math.min(ids.length - 1, from + STEP)
      const rows = new Map<number, Float32Array>()
      const keep = (position: number, row: Float32Array) => rows.set(position, row.slice())
      await run(original, first, ids.slice(0, until), from, keep, signal)
      const take = (position: number, row: Float32Array) =>
        addToken(sums, rows.get(position) as Float32Array, row, ids[position + 1] as number)
      await run(changed, second, ids.slice(0, until), from, take, signal)
    }
  } finally {
    first.release()
    second.release()
  }
  return sums
}

async function run(
  { scheduler }: ScoringModel,
  sequence: Sequence,
  ids: readonly number[],
  from: number,
  onRow: (position: number, row: Float32Array) => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  sequence.setTokens(ids)
  await scheduler.forward({
    sequence,
    logits: 'all',
    signal,
    onLogits: (position, row) => {
      if (position >= from) onRow(position, row)
    },
  })
}

// hot
function addToken(sums: Sums, before: Float32Array, after: Float32Array, id: number): void {
  const size = Math.min(before.length, after.length)
  let peakBefore = before[0]!
  let peakAfter = after[0]!
  let topBefore = 0
  let topAfter = 0
  for (let i = 1; i < size; i++) {
    if (before[i]! > peakBefore) [peakBefore, topBefore] = [before[i]!, i]
    if (after[i]! > peakAfter) [peakAfter, topAfter] = [after[i]!, i]
  }
  let sumBefore = 0
  let sumAfter = 0
  let weighted = 0
  for (let i = 0; i < size; i++) {
    const share = Math.exp(before[i]! - peakBefore)
    sumBefore += share
    sumAfter += Math.exp(after[i]! - peakAfter)
    if (share > 0) weighted += share * (before[i]! - peakBefore - (after[i]! - peakAfter))
  }
  const normBefore = Math.log(sumBefore)
  const normAfter = Math.log(sumAfter)
  const kl = weighted / sumBefore + normAfter - normBefore
  if (Number.isNaN(kl)) throw brokenLogit(Number.isNaN(sumBefore) ? before : after)
  sums.tokens++
  sums.before += normBefore - (before[id]! - peakBefore)
  sums.after += normAfter - (after[id]! - peakAfter)
  sums.kl += kl
  if (topBefore === topAfter) sums.same++
}
