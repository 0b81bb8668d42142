// Overflow. In: positions needed, positions that a context holds. Out: the error, with both numbers.
import { HalfbyteError } from '../base/errors.ts'

/** The error for a context that is too short, with both numbers. */
export const overflow = (needed: number, contextLength: number): HalfbyteError =>
  new HalfbyteError(
    'context-overflow',
    `the text needs ${needed} tokens but the context holds ${contextLength}; raise contextLength or shorten it`,
    { needed, contextLength },
  )
