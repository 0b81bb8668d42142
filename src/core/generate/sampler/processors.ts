// The stages that change single logits, and the processors that a page provides.
import { type ErrorCode, HalfbyteError, reasonOf } from '../../base/errors.ts'
import type { SamplerSettings } from './sampler-options.ts'

/** One stage of the chain that changes single logits. `history` ends at `length`, exclusive. */
export type Adjustment = (logits: Float32Array, history: ArrayLike<number>, length: number) => void

/** Adds each bias to its id's logit. `-Infinity` bans the id, like the list of bans. */
export function biasLogits({
  logitBias,
  bannedTokens,
}: Pick<SamplerSettings, 'logitBias' | 'bannedTokens'>): Adjustment {
  const biases = new Map(Object.entries(logitBias).map(([id, bias]) => [Number(id), bias]))
  for (const id of bannedTokens) biases.set(id, Number.NEGATIVE_INFINITY)
  const ids = Uint32Array.from(biases.keys())
  const amounts = Float32Array.from(biases.values())
  return (logits) => {
    // hot
    for (let i = 0; i < ids.length; i++) {
      const id = ids[i]!
      logits[id] = logits[id]! + amounts[i]!
    }
  }
}

/**
 * Lowers the logits of the last `repeatLastN` tokens, once per id, however often it occurred:
 * l -> (l > 0 ? l / repeatPenalty : l * repeatPenalty) - occurrences * frequencyPenalty - presencePenalty.
 * Keskar and others, CTRL, 2019; llama.cpp multiplies negative logits; the last two terms are OpenAI's.
 * `tally` is zeros [vocab] before and after the call.
 */
export function penalize(
  settings: Pick<SamplerSettings, 'repeatLastN' | 'repeatPenalty' | 'frequencyPenalty' | 'presencePenalty'>,
  tally: Uint32Array,
): Adjustment {
  const { repeatLastN, repeatPenalty, frequencyPenalty, presencePenalty } = settings
  return (logits, history, length) => {
    // hot
    const start = Math.max(0, length - repeatLastN)
    for (let i = start; i < length; i++) {
      const id = history[i]!
      tally[id] = tally[id]! + 1
    }
    for (let i = start; i < length; i++) {
      const id = history[i]!
      const count = tally[id]!
      if (count === 0) continue
      tally[id] = 0
      const logit = logits[id]!
      const repeated = logit > 0 ? logit / repeatPenalty : logit * repeatPenalty
      logits[id] = repeated - count * frequencyPenalty - presencePenalty
    }
  }
}

/** Changes logits after guidance, before the rest of the chain. */
export interface LogitProcessor {
  /** The module's address, for errors. */
  readonly name: string
  /**
   * Changes the raw `logits` [vocab] in place. -Infinity bans an id; NaN and +Infinity are errors. The first
   * `length` entries of `history` are the ids so far, including the prompt. Both are valid during the call
   * only. Must return nothing.
   */
  process(logits: Float32Array, history: ArrayLike<number>, length: number): unknown
}

/**
 * Runs the processors in order. Throws `unsupported` if one throws, returns a value, or leaves NaN or
 * +Infinity.
 */
export function runProcessors(
  processors: readonly LogitProcessor[],
  logits: Float32Array,
  history: ArrayLike<number>,
  length: number,
): void {
  const vocab = logits.length
  for (const processor of processors) {
    let answer: unknown
    try {
      answer = processor.process(logits, history, length)
    } catch (cause) {
      throw faultOf(processor.name, `threw ${textOf(cause)}`, cause)
    }
    if (answer !== undefined) {
      disown(answer)
      throw faultOf(
        processor.name,
        'returned something; it must change the logits in place, synchronously, and return nothing',
      )
    }
    if (logits.length !== vocab) {
      throw faultOf(
        processor.name,
        `left ${logits.length} of ${vocab} logits; it must not transfer their buffer`,
      )
    }
    for (let id = 0; id < logits.length; id++) {
      if (logits[id]! < Number.POSITIVE_INFINITY) continue
      throw faultOf(
        processor.name,
        `made the logit of id ${id} ${logits[id]}; write finite numbers, or -Infinity for a ban`,
      )
    }
  }
}

/** The thrown value as text, including an error's name. */
function textOf(thrown: unknown): string {
  try {
    return String(thrown)
  } catch {
    return reasonOf(thrown)
  }
}

/** Nobody awaits this promise from third-party code, so the page would report its rejection as unhandled. */
export function disown(value: unknown): void {
  Promise.resolve(value).catch(() => undefined)
}

/** `what` continues the sentence after the processor's name and ends with the next step. */
export function faultOf(
  name: string,
  what: string,
  cause?: unknown,
  code: ErrorCode = 'unsupported',
): HalfbyteError {
  return new HalfbyteError(code, `the logit processor ${name} ${what}`, { processor: name }, { cause })
}
