// Pairs. In: a context and possible continuations, as texts. Out: log-likelihoods of the continuations, as
// lm-evaluation-harness computes them.
import { HalfbyteError } from '../base/errors.ts'
import type { Tokenizer } from '../text/tokenize/tokenizer.ts'
import { type Score, type ScoringModel, score } from './score.ts'

/** A model that answers log-likelihood requests. */
export interface EvaluatedModel extends ScoringModel {
  readonly tokenizer: Pick<Tokenizer, 'encode' | 'bosId' | 'eosId' | 'addsBos'>
  /** Most tokens that the model reads at once. */
  readonly maxTokens: number
  /**
   * Puts BOS before every context, if the model's texts begin with it. The harness does not, unless it is
   * told to.
   */
  readonly addBos: boolean
}

/** The ids of a context, and of what follows it. */
export interface EncodedPair {
  readonly context: readonly number[]
  readonly continuation: readonly number[]
}

/**
 * Encodes both texts at once and cuts the ids at the length of the context's own: a token that spans the
 * border counts to the context. Spaces at the context's end go to the continuation. An empty context becomes
 * the prefix token. Source: `TemplateLM._encode_pair` and `loglikelihood` of lm-evaluation-harness 0.4.
 */
export function encodePair(model: EvaluatedModel, context: string, continuation: string): EncodedPair {
  const start = context.trimEnd()
  const whole = encodeText(model, start + context.slice(start.length) + continuation)
  const own = start === '' ? [] : encodeText(model, start)
  if (own.length > 0) return { context: own, continuation: whole.slice(own.length) }
  const prefix = prefixToken(model)
  return { context: [prefix], continuation: whole[0] === prefix ? whole.slice(1) : whole }
}

function encodeText({ tokenizer, addBos }: EvaluatedModel, text: string): number[] {
  const ids = tokenizer.encode(text)
  const { addsBos, bosId } = tokenizer
  return addBos && addsBos && bosId !== undefined ? [bosId, ...ids] : ids
}

/** What stands before a text that has no context: BOS, else EOS. Throws `unsupported` without both. */
export function prefixToken({ tokenizer: { bosId, eosId } }: EvaluatedModel): number {
  const prefix = bosId ?? eosId
  if (prefix !== undefined) return prefix
  throw new HalfbyteError(
    'unsupported',
    'the model has neither BOS nor EOS, so nothing can stand before a text without context; evaluate tasks with a context',
  )
}

/**
 * The scores of continuations after one context. What is too long loses its beginning: the model reads the
 * last `maxTokens` ids before the last one of the continuation. Throws `context-overflow` for a continuation
 * that is longer than that, errors of the scheduler, or the signal's reason.
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
      `a continuation has ${model.maxTokens + 1 - tightest} tokens but the model reads ${model.maxTokens} at once; raise --context or leave the item out`,
      { tokens: model.maxTokens + 1 - tightest, context: model.maxTokens },
    )
  }
  if (context.length <= tightest) return score(model, context, continuations, signal)
  const scores: Score[] = []
  for (const [index, ids] of continuations.entries())
    scores.push(...(await score(model, context.slice(-room[index]!), [ids], signal)))
  return scores
}
