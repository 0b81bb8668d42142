// The divergence of a model with a trimmed vocabulary from the original model, on the same texts.
//
// A text may have more tokens in the smaller vocabulary, so the losses of whole texts are compared. Where
// both tokenizations have a token boundary, predictions are compared too, restricted to common tokens.
import { logSum } from '../../engine/score/perplexity.ts'
import type { ScoringModel } from '../../engine/score/score.ts'
import type { Divergence } from './divergence.ts'
import { mean } from './task.ts'

/** A text, encoded with both vocabularies. */
export interface TwiceEncoded {
  readonly before: readonly number[]
  readonly after: readonly number[]
  /**
   * Positions at which both have read the same text: after token `i` of `before` and `j` of `after`, from 0,
   * ascending.
   */
  readonly places: readonly (readonly [i: number, j: number])[]
}

/** `Divergence` of texts. Losses are in nats per token of the original. */
export interface DivergenceAcross extends Divergence {
  /** Number of positions at which predictions were compared. */
  readonly places: number
  /** Number of tokens of the texts in the smaller vocabulary. */
  readonly tokensAfter: number
}

interface AcrossOptions {
  /** Each has at least two tokens. */
  readonly texts: readonly TwiceEncoded[]
  /** The original's id for each id of the trimmed vocabulary. */
  readonly kept: readonly number[]
  readonly signal?: AbortSignal | undefined
  readonly onText?: ((done: number, total: number) => void) | undefined
}

/** Positions at which both have read the same number of bytes. */
export function commonPlaces(
  before: readonly Uint8Array[],
  after: readonly Uint8Array[],
): (readonly [i: number, j: number])[] {
  const others = new Map(endsOf(after).map((end, j) => [end, j]))
  const own = new Map(endsOf(before).map((end, i) => [end, i]))
  return [...own].flatMap(([end, i]) => {
    const j = others.get(end)
    return j === undefined ? [] : [[i, j] as const]
  })
}

function endsOf(tokens: readonly Uint8Array[]): number[] {
  let end = 0
  return tokens.map(({ length }) => {
    end += length
    return end
  })
}

/** A row of the original's logits, restricted to common tokens. */
interface Kept {
  /** Log probabilities among the common tokens. */
  readonly logs: Float32Array
  /** The original's most likely token overall. */
  readonly top: number
}

interface Sums {
  tokens: number
  before: number
  after: number
  places: number
  kl: number
  same: number
}

/** Throws the schedulers' errors, `integrity` for NaN, the signal's reason. */
export async function divergenceAcross(
  original: ScoringModel,
  trimmed: ScoringModel,
  { texts, kept, signal, onText }: AcrossOptions,
): Promise<DivergenceAcross> {
  const all: Sums[] = []
  for (const text of texts) {
    all.push(await textSums(original, trimmed, text, kept, signal))
    onText?.(all.length, texts.length)
  }
  const total = (what: keyof Sums) => all.reduce((sum, each) => sum + each[what], 0)
  const tokens = total('tokens')
  const compared = all.filter(({ places }) => places > 0)
  return {
    before: Math.exp(total('before') / tokens),
    after: Math.exp(total('after') / tokens),
    change: mean(all.map(({ before, after, tokens: own }) => (after - before) / own)),
    kl: mean(compared.map(({ kl, places }) => kl / places)),
    sameTop: mean(compared.map(({ same, places }) => same / places)),
    tokens,
    places: total('places'),
    tokensAfter: texts.reduce((sum, { after }) => sum + after.length - 1, 0),
  }
}

async function textSums(
  original: ScoringModel,
  trimmed: ScoringModel,
  { before, after, places }: TwiceEncoded,
  kept: readonly number[],
  signal: AbortSignal | undefined,
): Promise<Sums> {
  const sums: Sums = { tokens: before.length - 1, before: 0, after: 0, places: 0, kl: 0, same: 0 }
  const rows = new Map<number, Kept>()
  const wanted = new Set(places.map(([i]) => i))
  await run(original, before, signal, (at, row) => {
    if (at + 1 < before.length) sums.before += logSum(row) - row[before[at + 1]!]!
    if (wanted.has(at)) rows.set(at, keptRow(row, kept))
  })
  const pairs = new Map(places.map(([i, j]) => [j, i]))
  await run(trimmed, after, signal, (at, row) => {
    if (at + 1 < after.length) sums.after += logSum(row) - row[after[at + 1]!]!
    const own = rows.get(pairs.get(at) ?? -1)
    if (own === undefined) return
    sums.places++
    sums.kl += klOf(own.logs, row)
    if (kept[topOf(row)] === own.top) sums.same++
  })
  return sums
}

async function run(
  model: ScoringModel,
  ids: readonly number[],
  signal: AbortSignal | undefined,
  onLogits: (position: number, row: Float32Array) => void,
): Promise<void> {
  const sequence = model.newSequence()
  try {
    sequence.setTokens(ids)
    await model.scheduler.forward({ sequence, logits: 'all', signal, onLogits })
  } finally {
    sequence.release()
  }
}

function keptRow(row: Float32Array, kept: readonly number[]): Kept {
  const logs = Float32Array.from(kept, (id) => row[id]!)
  const norm = logSum(logs)
  for (let id = 0; id < logs.length; id++) logs[id] = logs[id]! - norm
  return { logs, top: topOf(row) }
}

// hot
function klOf(logs: Float32Array, row: Float32Array): number {
  const norm = logSum(row)
  let sum = 0
  for (let id = 0; id < logs.length; id++) {
    const share = Math.exp(logs[id]!)
    if (share > 0) sum += share * (logs[id]! - (row[id]! - norm))
  }
  // For equal predictions, rounding may give a negative value.
  return Math.max(0, sum)
}

// hot
function topOf(row: Float32Array): number {
  let top = 0
  for (let id = 1; id < row.length; id++) if (row[id]! > row[top]!) top = id
  return top
}
