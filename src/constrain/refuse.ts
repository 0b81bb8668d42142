// Refusals. In: what cannot be honoured. Out: the typed error, with the next step in its sentence.
import { type ErrorDetail, HalfbyteError } from '../base/errors.ts'

export { shown } from '../base/options.ts'

/** `what` is a clause that goes on from "the constraint": `uses X, which ...`; `next` says what to do. */
export function refused(what: string, next: string, detail: ErrorDetail = {}): HalfbyteError {
  return new HalfbyteError('unsupported', `the constraint ${what}; ${next}`, detail)
}

/** One of the bounds that keep a hostile grammar from hanging the page. */
export function tooLarge(what: string, count: number, most: number): HalfbyteError {
  return refused(`needs more than ${most} ${what}`, 'make it smaller or less ambiguous', {
    what,
    count,
    most,
  })
}
