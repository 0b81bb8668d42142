// Imports logit processors by address, and creates them for each reply.
import { reasonOf } from '../../core/base/errors.ts'
import { disown, faultOf, type LogitProcessor } from '../../core/generate/sampler/processors.ts'
import type { LoadedModel } from '../load/loaded-model.ts'

/** The model's vocabulary and tokenizer, as passed to a processor. */
export interface LogitProcessorContext {
  /** Number of logits in a row. */
  readonly vocab: number
  /** Token ids of a text that continues another, so without a beginning-of-sequence token. */
  tokenize(text: string): readonly number[]
  /** The token's text; an incomplete character becomes U+FFFD. */
  tokenText(id: number): string
}

/**
 * The default export of a processor's module. It is called once for each reply and returns a function that is
 * called for each token, after guidance and before the rest of the chain. That function changes `logits`
 * [vocab] in place and returns nothing; -Infinity bans an id. While it runs, the worker does nothing else: a
 * processor that never returns ends only with the engine's `dispose()`, although an abort rejects the reply
 * at once. The first `length` entries of `tokens` are the ids so far, including the prompt. Both arrays are
 * valid during the call only.
 */
export type LogitProcessorFactory = (
  context: LogitProcessorContext,
) => (logits: Float32Array, tokens: ArrayLike<number>, length: number) => void

/**
 * Returns none if the signal aborts first, because a module may never finish. Throws `network` if a module
 * cannot be imported, `unsupported` if its export does not make a processor.
 */
export async function loadProcessors(
  addresses: readonly string[],
  { logitRows, text }: Pick<LoadedModel, 'logitRows' | 'text'>,
  signal: AbortSignal,
): Promise<LogitProcessor[]> {
  if (addresses.length === 0 || signal.aborted) return []
  const context: LogitProcessorContext = Object.freeze({
    vocab: logitRows.vocab,
    tokenize: (words: string) => text.encode(words, false),
    tokenText: (id: number) => text.tokenText(id),
  })
  const aborted = new Promise<[]>((resolve) => {
    signal.addEventListener('abort', () => resolve([]), { once: true })
  })
  return Promise.race([aborted, Promise.all(addresses.map((address) => loadProcessor(address, context)))])
}

async function loadProcessor(address: string, context: LogitProcessorContext): Promise<LogitProcessor> {
  const create: unknown = (await importModule(address)).default
  const process: unknown = typeof create === 'function' ? attempt(address, () => create(context)) : undefined
  if (typeof process === 'function') {
    return { name: address, process: (logits, history, length) => process(logits, history, length) }
  }
  disown(process)
  throw faultOf(
    address,
    'has no default export that returns a function; export default (context) => (logits, tokens, length) => { ... }',
  )
}

async function importModule(address: string): Promise<{ default?: unknown }> {
  try {
    // The bundlers of the package's users must leave this import to the browser.
    return await import(/* @vite-ignore */ /* webpackIgnore: true */ address)
  } catch (cause) {
    const why = `cannot be imported: ${reasonOf(cause)}`
    throw faultOf(
      address,
      `${why}; check its address, its code and the page's content policy`,
      cause,
      'network',
    )
  }
}

function attempt<T>(address: string, create: () => T): T {
  try {
    return create()
  } catch (cause) {
    throw faultOf(address, `cannot be created: ${reasonOf(cause)}; fix its default export`, cause)
  }
}
