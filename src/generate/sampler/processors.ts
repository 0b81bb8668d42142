// Processors. In: a row of logits and somebody else's code. Out: the row as that code left it, or an error that names it.
import { type ErrorCode, HalfbyteError } from '../../base/errors.ts'

/** Changes logits before everything else in the chain but guidance. */
export interface LogitProcessor {
  /** Where it comes from, for errors. */
  readonly name: string
  /**
   * Writes into `logits` [vocab], which are raw: -Infinity bans an id, NaN and +Infinity are errors. `history` holds the ids
   * so far, prompt included, up to `length`. Both are only borrowed for the call. Must return nothing.
   */
  process(logits: Float32Array, history: ArrayLike<number>, length: number): unknown
}

/** Runs them in order. Throws `unsupported` when one throws, returns something, or leaves NaN or +Infinity. */
export function runProcessors(
  processors: readonly LogitProcessor[],
  logits: Float32Array,
  history: ArrayLike<number>,
  length: number,
): void {
  for (const processor of processors) {
    let answer: unknown
    try {
      answer = processor.process(logits, history, length)
    } catch (cause) {
      throw faultOf(processor.name, `threw ${cause}`, cause)
    }
    if (answer !== undefined) {
      throw faultOf(
        processor.name,
        'returned something; it must change the logits in place, at once, and return nothing',
      )
    }
    for (let id = 0; id < logits.length; id++) {
      if ((logits[id] as number) < Number.POSITIVE_INFINITY) continue
      throw faultOf(
        processor.name,
        `made the logit of id ${id} ${logits[id]}; write numbers, or -Infinity for a ban`,
      )
    }
  }
}

/** `what` goes on from its name, with the next step. */
export function faultOf(
  name: string,
  what: string,
  cause?: unknown,
  code: ErrorCode = 'unsupported',
): HalfbyteError {
  return new HalfbyteError(code, `the logit processor ${name} ${what}`, { processor: name }, { cause })
}
