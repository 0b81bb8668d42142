// Error explanations. In: an error, or an address that cannot be loaded. Out: sentences for users, and
// optional details.

import { type HalfbyteError, isHalfbyteError } from '../../../src/index.ts'
import type { Explained as CommonExplained } from '../../../src/ui/chat/explained.ts'
import { parseHubAddress, reasonOf } from '../../../src/ui/chat/library.ts'
import { isOffline } from '../../../src/ui/chat/texts.ts'
import { bytes } from '../shell/units.ts'
import { reason, t } from '../words/words.ts'

export interface Explained extends CommonExplained {
  /** True if a larger model could solve the problem. */
  readonly wantsLarger?: true
}

/**
 * The library's messages say in English what happened and, after a semicolon, what a developer can do. The
 * catalogue says what a user can do and, in other languages, what happened.
 */
export function explain(error: unknown): Explained {
  const message = reasonOf(error)
  if (isOffline(error)) return { text: t('offline'), details: message }
  if (!isHalfbyteError(error)) {
    const text = reason('internal', {})
    return text === undefined ? { text: sentence(message), details: undefined } : { text, details: message }
  }
  const { letters, most, isOwnLimit, safari } = error.detail
  if (safari !== undefined) return { text: t('oldBrowser'), details: message }
  if (typeof letters === 'number' && typeof most === 'number') {
    const values = { most: rounded(most), count: letters }
    const text = t(isOwnLimit === true ? 'longMessage' : 'longMessageHere', values)
    return { text, details: message, wantsLarger: true }
  }
  const [said = message] = message.split(/;\s/, 1)
  // Text in brackets at the end is for developers; it is shown in the details.
  const what = reason(error.code, valuesOf(error)) ?? sentence(said.replace(/\s\([^()]*\)$/, ''))
  return { text: `${what} ${t(`step-${error.code}`)}`, details: message }
}

/** A count rounded to about two digits, in readable form. */
function rounded(count: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, count))) - 1)
  return Math.floor(count / unit) * unit
}

/** The reason why an address can never be loaded; undefined if it is worth trying. */
export function hopeless(address: string): string | undefined {
  if (parseHubAddress(address) !== undefined) return undefined
  const url = URL.canParse(address, document.baseURI) ? new URL(address, document.baseURI) : undefined
  if (url === undefined) return t('noAddress', { address })
  if (!['https:', 'http:', 'blob:', 'data:'].includes(url.protocol)) {
    return t('noPage', { address })
  }
  if (url.protocol === 'http:' && location.protocol === 'https:' && !isLocal(url)) {
    return t('notSecure', { address })
  }
  return undefined
}

const isLocal = ({ hostname }: URL): boolean => ['localhost', '127.0.0.1', '[::1]'].includes(hostname)

/** False for an address on this device. */
export function needsNetwork(address: string): boolean {
  if (parseHubAddress(address) !== undefined) return true
  const url = new URL(address, document.baseURI)
  return url.protocol.startsWith('http') && !isLocal(url)
}

/** Why a load failed. A load that failed without a network resumes by itself later. */
export const explainLoad = (error: unknown): Explained =>
  isOffline(error) ? { text: t('offlineLoad'), details: reasonOf(error) } : explain(error)

const IN_BYTES = /bytes$|^(?:size|free|loaded|total)$/i

/** Values for a sentence. A size of 0 is unknown, but free space may be 0. */
const valuesOf = ({ detail }: HalfbyteError): Record<string, string | number> =>
  Object.fromEntries(
    Object.entries(detail).flatMap(([name, value]) => {
      if (typeof value === 'string') return [[name, value]]
      if (typeof value !== 'number' || (value === 0 && name !== 'free')) return []
      return [[name, IN_BYTES.test(name) ? bytes(Math.max(0, value)) : value]]
    }),
  )

/** Capitalizes a text unless it begins with a file name. */
function sentence(text: string): string {
  const start = /^[a-z]+['’\s,]/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text
  return /[.!?]$/.test(start) ? start : `${start}.`
}
