// Errors for constraints that cannot be enforced, and the work budget of compiling them.
import { Budget } from '../base/budget.ts'
import { type ErrorDetail, HalfbyteError } from '../base/errors.ts'

export { shown } from '../base/check-options.ts'

/**
 * `what` continues the sentence after "the constraint", for example `uses X, which ...`. `next` says what to
 * do.
 */
export function refused(what: string, next: string, detail: ErrorDetail = {}): HalfbyteError {
  return new HalfbyteError('unsupported', `the constraint ${what}; ${next}`, detail)
}

/** Rejects a constraint that exceeds one of the limits that keep a hostile grammar from blocking the page. */
export function tooLarge(what: string, count: number, most: number): HalfbyteError {
  return refused(`needs more than ${most} ${what}`, 'make it smaller or less ambiguous', {
    what,
    count,
    most,
  })
}

/** The error for a token that the mask does not allow. */
export function forbidden(token: number): HalfbyteError {
  return new HalfbyteError(
    'internal',
    `token ${token} was sampled although the constraint forbids it; the mask was not applied, please report this`,
    { token },
  )
}

/** A budget of this many units. Exceeding it throws the error of `tooLarge`. */
export const budgetOf = (what: string, most: number): Budget =>
  new Budget({ work: most, refuse: ({ asked }) => tooLarge(what, asked, most) })

/** Takes about 4 s. */
const MAX_PATTERN_WORK = 1 << 23

/**
 * The limit for all patterns and lengths of one constraint together. Each has its own limits, but a schema
 * may contain thousands. One counter is enough, because each slice of the compilation starts over
 * (`slices.ts`).
 */
export const patternWork = budgetOf('steps for all its patterns', MAX_PATTERN_WORK)

/** The error for a grammar that cannot be parsed, with the position. */
export function gbnfFault(what: string, line: number, column: number): HalfbyteError {
  return refused(`has a grammar that ${what} in line ${line}, column ${column}`, 'correct it', {
    line,
    column,
  })
}

/**
 * Writes one constraint. The JavaScript engine's own limits stop any recursion or growth that no other limit
 * stops.
 */
export function bounded<Result>(work: () => Result): Result {
  patternWork.renew()
  try {
    return work()
  } catch (error) {
    if (error instanceof RangeError) throw refused(`is too large: ${error.message}`, 'make it smaller')
    throw error
  }
}
