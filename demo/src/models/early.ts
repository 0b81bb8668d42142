// Early requests. In: the model that the page opens with. Out: its file and the engine's files, asked for
// before the app runs and beside the engine's worker.
import relaxedPlain from '../../../dist/wasm/halfbyte-relaxed-plain.wasm?url'
import relaxedShared from '../../../dist/wasm/halfbyte-relaxed-shared.wasm?url'
import simd128Plain from '../../../dist/wasm/halfbyte-simd128-plain.wasm?url'
import simd128Shared from '../../../dist/wasm/halfbyte-simd128-shared.wasm?url'
import { detectFeatures, prepareEngineWorker } from '../../../src/ui/chat/library.ts'
import type { EmbeddedModel } from './embedded.ts'
import { lastChoice } from './last-choice.ts'

/** Scripts come first: without them nothing is shown. */
const AFTER_SCRIPTS: RequestInit = { priority: 'low' }

interface Answer {
  readonly response: Response
  /** True if the file is on this device, so that there is no progress to count part by part. */
  readonly isKept: boolean
}

let asked: { readonly url: string; readonly answer: Promise<Answer> } | undefined

/** Asks for what the engine will need. The answers come from the browser's cache later on. */
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

/** Brings a file to the browser's cache. The body must be read, or the connection waits. */
function fill(address: string): void {
  fetch(address, AFTER_SCRIPTS)
    .then((response) => response.arrayBuffer())
    .catch(() => undefined)
}

/**
 * A model of the page as a file. As an address it would be read by ranges, which browsers do not keep.
 * Rejects like `fetch`; undefined if the server has no such file.
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
 * The file as the service worker keeps it, or from the network. A kept file is taken from the cache itself:
 * its blob needs none of its bytes, which an answer of the service worker would pass through this thread.
 */
async function askFor(url: string, init: RequestInit): Promise<Answer> {
  // Browsers have no caches in pages that are not secure, and may refuse them in private ones.
  const kept = await globalThis.caches?.match(url, { ignoreVary: true }).catch(() => undefined)
  return kept === undefined
    ? { response: await fetch(url, init), isKept: false }
    : { response: kept, isKept: true }
}
