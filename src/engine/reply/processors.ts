// Processors. In: addresses of modules. Out: their logit processors, made anew for one reply.
import { reasonOf } from '../../base/errors.ts'
import { faultOf, type LogitProcessor } from '../../generate/sampler/processors.ts'
import type { LoadedModel } from '../load/loaded-model.ts'

/** What a processor may know of the model. */
export interface LogitProcessorContext {
  /** Logits per row. */
  readonly vocab: number
  /** Ids of a text in the middle of another. */
  tokenize(text: string): readonly number[]
  /** What a token writes; half a character reads as U+FFFD. */
  tokenText(id: number): string
}

/**
 * The default export of a processor's module: called once for each reply, it returns the function that is called for each
 * token, after guidance and before everything else. That function changes `logits` [vocab] in place and returns nothing;
 * -Infinity bans an id. `tokens` are the ids so far, prompt included, up to `length`; both arrays are only lent.
 */
export type LogitProcessorFactory = (
  context: LogitProcessorContext,
) => (logits: Float32Array, tokens: ArrayLike<number>, length: number) => void

/** Throws `network` for a module that cannot be imported, `unsupported` for one that does not make a processor. */
export async function loadProcessors(
  addresses: readonly string[],
  { logitRows, text }: Pick<LoadedModel, 'logitRows' | 'text'>,
): Promise<LogitProcessor[]> {
  const context: LogitProcessorContext = Object.freeze({
    vocab: logitRows.vocab,
    tokenize: (words: string) => text.encode(words, false),
    tokenText: (id: number) => text.tokenText(id),
  })
  return Promise.all(addresses.map((address) => loadProcessor(address, context)))
}

async function loadProcessor(address: string, context: LogitProcessorContext): Promise<LogitProcessor> {
  const create: unknown = (await importModule(address)).default
  const process: unknown = typeof create === 'function' ? attempt(address, () => create(context)) : undefined
  if (typeof process === 'function') {
    return { name: address, process: (logits, history, length) => process(logits, history, length) }
  }
  throw faultOf(
    address,
    'has no default export that returns a function; export default (context) => (logits, tokens, length) => { ... }',
  )
}

async function importModule(address: string): Promise<{ default?: unknown }> {
  try {
    // Bundlers of those who use the package must leave it to the browser.
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
    throw faultOf(address, `cannot be made: ${reasonOf(cause)}; correct its default export`, cause)
  }
}
