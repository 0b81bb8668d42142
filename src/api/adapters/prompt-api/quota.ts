// Quota of the Prompt API. In: tokens asked for and tokens held. Out: the error that browsers throw.

interface QuotaErrorClass {
  new (message: string, numbers: { readonly requested: number; readonly quota: number }): DOMException
}

/**
 * `QuotaExceededError` where the platform has that class, otherwise a DOMException of that name. Both have
 * `requested` and `quota`, in tokens.
 */
export function quotaExceeded(requested: number, quota: number): DOMException {
  const { QuotaExceededError: Platform } = globalThis as { QuotaExceededError?: QuotaErrorClass }
  const message = `the conversation needs ${requested} tokens and the context holds ${quota}; shorten the input`
  const numbers = { requested, quota }
  if (Platform !== undefined) return new Platform(message, numbers)
  return Object.assign(new DOMException(message, 'QuotaExceededError'), numbers)
}
