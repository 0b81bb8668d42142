// Explaining. In: an error, or an address that cannot work. Out: sentences for people, and the details for
// those who want them.
import { type ErrorCode, isHalfbyteError } from '../../../src/index.ts'
import { parseHubAddress } from '../../../src/store/hub.ts'

export interface Explained {
  /** What happened, and what to do. */
  readonly text: string
  /** The message as it was, if it says more. */
  readonly details: string | undefined
}

/** What a person can do. The messages themselves name options of the library. */
const STEPS: Readonly<Record<ErrorCode, string>> = {
  unsupported: 'Choose another file of this model, or another model.',
  worker: 'Reload the page. If this happens again, please report the details.',
  network: 'Check the address and the connection.',
  integrity: 'Load it again: damaged parts are then fetched again.',
  format: 'The file may be damaged or incomplete: fetch it again, or choose another one.',
  architecture: 'Choose another file of this model, or another model.',
  'out-of-memory': 'Close other tabs, choose a smaller model, or set a shorter context in the settings.',
  'storage-full': 'Remove a model that you no longer use.',
  'context-overflow': 'Shorten the message, or set a longer context in the settings.',
  disposed: 'Load the model again.',
  internal: 'Load the model again. If this happens again, please report the details.',
}

/** The library's messages say what happened, then after a semicolon what a developer can do. */
export function explain(error: unknown): Explained {
  const message = error instanceof Error ? error.message : String(error)
  if (!isHalfbyteError(error)) return { text: sentence(message), details: undefined }
  // Without a network the engine's own script may be what is missing.
  const mayBeOffline = ['network', 'worker', 'internal'].includes(error.code)
  if (mayBeOffline && navigator.onLine === false) {
    return { text: 'This device is offline. Models that are stored on it can be used.', details: message }
  }
  const [what = message] = message.split(/;\s/, 1)
  return { text: `${sentence(what)} ${STEPS[error.code]}`, details: message }
}

/** Why an address can never be loaded; undefined if it is worth trying. */
export function hopeless(address: string): string | undefined {
  if (parseHubAddress(address) !== undefined) return undefined
  const url = URL.canParse(address, document.baseURI) ? new URL(address, document.baseURI) : undefined
  if (url === undefined) return `${address} is not an address. One looks like https://example.com/model.gguf.`
  if (!['https:', 'http:', 'blob:', 'data:'].includes(url.protocol)) {
    return `${address} cannot be loaded by a page. Use an address that starts with https://, or choose the file from this device.`
  }
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)
  if (url.protocol === 'http:' && location.protocol === 'https:' && !isLocal) {
    return `${address} is not encrypted, which browsers refuse for this page. Use an address that starts with https://.`
  }
  return undefined
}

/** A file name at its beginning keeps its case. */
function sentence(text: string): string {
  const start = /^[a-z]+['’\s,]/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text
  return /[.!?]$/.test(start) ? start : `${start}.`
}
