// Early requests. In: the model the page opens with. Out: its file and the engine's files, requested
// before the app runs, in parallel with the engine's worker.
import relaxedPlain from '../../../dist/wasm/halfbyte-relaxed-plain.wasm?url'
import relaxedShared from '../../../dist/wasm/halfbyte-relaxed-shared.wasm?url'
import simd128Plain from '../../../dist/wasm/halfbyte-simd128-plain.wasm?url'
import simd128Shared from '../../../dist/wasm/halfbyte-simd128-shared.wasm?url'
import { detectFeatures, prepareEngineWorker } from '../../../src/ui/chat/library.ts'
import type { EmbeddedModel } from './embedded.ts'
import { lastChoice } from './last-choice.ts'

/** Scripts come first: without them the page shows nothing. */
const AFTER_SCRIPTS: RequestInit = { priority: 'low' }

interface Answer {
  readonly response: Response
  /** True if the file is on this device, so there is no download progress. */
  readonly isKept: boolean
}

let asked: { readonly url: string; readonly answer: Promise<Answer> } | undefined

/** Requests the files that the engine will need. The engine later gets them from the browser's cache. */
export function askEarly(): void {
  prepareEngineWorker()
  const { simd, relaxedSimd, sharedMemory } = detectFeatures(globalThis)
  if (!simd) return
  const choice = lastChoice()
  if (choice.kind === 'embedded') {
    asked = { url: choice.url, answer: askFor(choice.url, AFTER_SCRIPTS) }
    asked.answer.catch(() => undefined)
    for (const address of choice.processors ?? []) fill(address)
  }
  const [shared, plain] = relaxedSimd ? [relaxedShared, relaxedPlain] : [simd128Shared, simd128Plain]
  fill(sharedMemory ? shared : plain)
}

/** Loads a file into the browser's cache. The body must be read, or the connection stalls. */
function fill(address: string): void {
  fetch(address, AFTER_SCRIPTS)
    .then((response) => response.arrayBuffer())
    .catch(() => undefined)
}

/**
 * Loads an embedded model as a file. Given its address, the engine would read it in ranges, which browsers do
 * not cache. Rejects like `fetch`. Returns undefined if the server has no such file.
 */
export async function embeddedFile(
  { url, name }: EmbeddedModel,
  signal: AbortSignal,
  onProgress: (loaded: number) => void,
): Promise<File | undefined> {
  const early = asked?.url === url ? asked.answer : undefined
  asked = undefined
  const { response, isKept } = await (early ?? askFor(url, { signal }))
  const { ok, body } = response
  if (!ok || body === null) return undefined
  if (isKept) return new File([await response.blob()], `${name}.hbm`)
  const parts: BlobPart[] = []
  let loaded = 0
  const reader = body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (signal.aborted) await reader.cancel()
    signal.throwIfAborted()
    if (done) break
    parts.push(value)
    loaded += value.byteLength
    onProgress(loaded)
  }
  return new File(parts, `${name}.hbm`)
}

/**
 * The file from the service worker's cache, or from the network. A cached file is taken from the cache
 * directly: its blob does not load the bytes, whereas a response of the service worker would pass them
 * through this thread.
 */
async function askFor(url: string, init: RequestInit): Promise<Answer> {
  // Browsers have no caches on insecure pages, and may block them in private windows.
  const kept = await globalThis.caches?.match(url, { ignoreVary: true }).catch(() => undefined)
  return kept === undefined
    ? { response: await fetch(url, init), isKept: false }
    : { response: kept, isKept: true }
}
