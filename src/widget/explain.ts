// Explaining. In: an error. Out: a sentence for the person at the page, and the message for its developer.
import { isHalfbyteError, reasonOf } from '../base/errors.ts'
import type { Words } from './words.ts'

export interface Explained {
  /** What happened, and what to do. */
  readonly text: string
  /** The message as it was. */
  readonly details: string
}

export function explain(error: unknown, words: Words): Explained {
  const code = isHalfbyteError(error) ? error.code : 'internal'
  // Without a network the engine's own script may be what is missing.
  const mayBeOffline = ['network', 'worker', 'internal'].includes(code)
  const isOffline = mayBeOffline && globalThis.navigator?.onLine === false
  return { text: isOffline ? words.offline : words[`error-${code}`], details: reasonOf(error) }
}

/** Errors after which an engine answers nothing more, so that it must be loaded again. */
export const isFatal = (error: unknown): boolean =>
  isHalfbyteError(error) ? ['disposed', 'internal', 'worker', 'integrity'].includes(error.code) : true
