// Overflow. In: positions needed and those a context holds. Out: the error that says both.
import { HalfbyteError } from '../base/errors.ts'

/** What does not fit, with both numbers. */
export const overflow = (needed: number, contextLength: number): HalfbyteError =>
  new HalfbyteError(
    'context-overflow',
    `the text needs ${needed} tokens but the context holds ${contextLength}; raise contextLength or shorten it`,
    { needed, contextLength },
  )
