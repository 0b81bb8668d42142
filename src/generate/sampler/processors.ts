// Processors. In: a row of logits and foreign code. Out: the row as that code left it, or an error that names
// the code.
import { type ErrorCode, HalfbyteError, reasonOf } from '../../base/errors.ts'

/** Changes logits after guidance and before the rest of the chain. */
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

/** Runs them in order. Throws `unsupported` if one throws, returns a value, or leaves NaN or +Infinity. */
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
        'returned something; it must change the logits in place, at once, and return nothing',
      )
    }
    if (logits.length !== vocab) {
      throw faultOf(
        processor.name,
        `left ${logits.length} of ${vocab} logits; it must not give their buffer away`,
      )
    }
    for (let id = 0; id < logits.length; id++) {
      if ((logits[id] as number) < Number.POSITIVE_INFINITY) continue
      throw faultOf(
        processor.name,
        `made the logit of id ${id} ${logits[id]}; write finite numbers, or -Infinity for a ban`,
      )
    }
  }
}

/** With the error's name. */
function textOf(thrown: unknown): string {
  try {
    return String(thrown)
  } catch {
    return reasonOf(thrown)
  }
}

/** A promise of foreign code that nobody awaits, and whose failure would count as one of the page. */
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
