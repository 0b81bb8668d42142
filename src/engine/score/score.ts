// Scores continuations of a prompt: how likely each one is according to the model, without sampling.
import { HalfbyteError } from '../../core/base/errors.ts'
import type { Scheduler } from '../../core/generate/schedule/scheduler.ts'
import type { Sequence } from '../../core/generate/schedule/sequence.ts'
import type { Tokenizer } from '../../core/text/tokenize/tokenizer.ts'
import { negativeLogLikelihood } from './perplexity.ts'

/** A model that answers log-likelihood requests. */
export interface EvaluatedModel extends ScoringModel {
  readonly tokenizer: Pick<Tokenizer, 'encode' | 'bosId' | 'eosId' | 'addsBos'>
  /** Maximum number of tokens that the model reads at once. */
  readonly maxTokens: number
  /**
   * Whether texts are encoded with the tokenizer's defaults: with BOS, if the model's texts begin with it.
   * Since 0.4.9.2 the harness does so unless `add_bos_token=False`.
   */
  readonly addBos: boolean
}

/** The ids of a context, and of its continuation. */
export interface EncodedPair {
  readonly context: readonly number[]
  readonly continuation: readonly number[]
}

/**
 * Encodes both texts at once and splits the ids at the length of the context's own ids: a token that spans
 * the boundary belongs to the context. Spaces at the context's end move to the continuation. An empty context
 * becomes the prefix token. Source: `TemplateLM._encode_pair` and `loglikelihood` of lm-evaluation-harness
 * 0.4.
 */
export function encodePair(model: EvaluatedModel, context: string, continuation: string): EncodedPair {
  const start = context.trimEnd()
  const whole = encodeText(model, start + context.slice(start.length) + continuation)
  const own = start === '' ? [] : encodeText(model, start)
  if (own.length > 0) return { context: own, continuation: whole.slice(own.length) }
  const prefix = prefixToken(model)
  return { context: [prefix], continuation: whole[0] === prefix ? whole.slice(1) : whole }
}

/** The ids of a text, with BOS depending on `addBos`. */
export function encodeText({ tokenizer, addBos }: EvaluatedModel, text: string): number[] {
  const ids = tokenizer.encode(text)
  const { addsBos, bosId } = tokenizer
  return addBos && addsBos && bosId !== undefined ? [bosId, ...ids] : ids
}

/** The id before a text without context: BOS, or else EOS. Throws `unsupported` if there is neither. */
export function prefixToken({ tokenizer: { bosId, eosId } }: EvaluatedModel): number {
  const prefix = bosId ?? eosId
  if (prefix !== undefined) return prefix
  throw new HalfbyteError(
    'unsupported',
    'the model has neither BOS nor EOS, so a text without context cannot be scored; evaluate tasks with a context',
  )
}

/**
 * The scores of continuations after one context. Overlong inputs lose their beginning: the model
 * reads the last `maxTokens` ids before the last one of the continuation. Throws `context-overflow` for a
 * continuation that is longer than that, errors of the scheduler, or the signal's reason.
 */
export async function scorePairs(
  model: EvaluatedModel,
  context: readonly number[],
  continuations: readonly (readonly number[])[],
  signal?: AbortSignal,
): Promise<Score[]> {
  const room = continuations.map((ids) => model.maxTokens + 1 - ids.length)
  const tightest = Math.min(...room)
  if (tightest < 1) {
    throw new HalfbyteError(
      'context-overflow',
      `a continuation has ${model.maxTokens + 1 - tightest} tokens but the model can process ${model.maxTokens} at once; raise --context or leave the item out`,
      { tokens: model.maxTokens + 1 - tightest, context: model.maxTokens },
    )
  }
  if (context.length <= tightest) return score(model, context, continuations, signal)
  const scores: Score[] = []
  for (const [index, ids] of continuations.entries())
    scores.push(...(await score(model, context.slice(-room[index]!), [ids], signal)))
  return scores
}

/** The parts of a model that scoring needs. */
export interface ScoringModel {
  readonly scheduler: Pick<Scheduler, 'forward'>
  newSequence(): Sequence
}

/** How likely the model finds a continuation. */
export interface Score {
  /** Natural logarithm of the continuation's probability after the prompt: the sum over its tokens. */
  readonly logProbability: number
  /** Number of tokens in the continuation; divide by it to compare continuations of different lengths. */
  readonly tokens: number
  /** True if each of its tokens is the most likely one: greedy decoding would have written it. */
  readonly isGreedy: boolean
}

/**
 * Scores every continuation after the same prompt, which is run once. Throws `unsupported` for an empty
 * prompt, `context-overflow`, an error of the scheduler, or the signal's reason.
 */
export async function score(
  model: ScoringModel,
  prompt: readonly number[],
  continuations: readonly (readonly number[])[],
  signal?: AbortSignal,
): Promise<Score[]> {
  if (prompt.length === 0) {
    throw new HalfbyteError('unsupported', 'an empty prompt predicts nothing; give at least one token')
  }
  const base = model.newSequence()
  try {
    base.setTokens(prompt)
    const scores = continuations.map((ids) => ({ ids, logProbability: 0, isGreedy: true }))
    const take = (entry: (typeof scores)[0], logits: Float32Array, id: number | undefined) => {
      if (id === undefined) return
      entry.logProbability -= negativeLogLikelihood(logits, id)
      entry.isGreedy &&= isLargest(logits, id)
    }
    await model.scheduler.forward({
      sequence: base,
      signal,
      onLogits: (_, logits) => {
        for (const entry of scores) take(entry, logits, entry.ids[0])
      },
    })
    for (const entry of scores) {
      if (entry.ids.length < 2) continue
      const branch = base.fork()
      try {
        // The last token only predicts what follows the continuation.
        branch.setTokens([...prompt, ...entry.ids.slice(0, -1)])
        await model.scheduler.forward({
          sequence: branch,
          signal,
          logits: 'all',
          onLogits: (position, logits) => take(entry, logits, entry.ids[position + 1 - prompt.length]),
        })
      } finally {
        branch.release()
      }
    }
    return scores.map(({ ids, logProbability, isGreedy }) => ({
      logProbability,
      tokens: ids.length,
      isGreedy,
    }))
  } finally {
    base.release()
  }
}

/** Among ties the lowest id wins, as in greedy sampling. */
function isLargest(logits: Float32Array, id: number): boolean {
  const value = logits[id]!
  for (let other = 0; other < logits.length; other++) {
    const rival = logits[other]!
    if (rival > value || (rival === value && other < id)) return false
  }
  return true
}
