// Loads an engine once for all calls. A failed load is tried again.

import { readFrom, shown } from '../core/base/check-options.ts'
import { HalfbyteError } from '../core/base/errors.ts'
import type { Embedder } from '../encoders/embedder/embedder.ts'
import type { Engine } from '../engine/api/engine.ts'

/** Throws `unsupported` for anything other than an engine. */
export function checkEngine(engine: Engine | undefined): void {
  if (readFrom('the engine', () => typeof engine?.createSession === 'function')) return
  throw new HalfbyteError(
    'unsupported',
    `the engine is ${shown(engine)}; await Engine.load and pass its result`,
  )
}

/** Recognises embedders by a method that only they have. */
export const isEmbedder = (model: Engine | Embedder | undefined): model is Embedder =>
  readFrom('the embedder', () => typeof (model as Embedder | undefined)?.rerank === 'function')

/** Throws `unsupported` for anything other than an engine or an embedder. */
export function checkModel(model: Engine | Embedder | undefined): void {
  if (!isEmbedder(model)) checkEngine(model)
}

/** Throws `unsupported` for anything other than an embedder. */
export function checkEmbedder(embedder: Embedder | undefined): void {
  if (isEmbedder(embedder)) return
  throw new HalfbyteError(
    'unsupported',
    `the embedder is ${shown(embedder)}; await Embedder.load and pass its result`,
  )
}

/** Calls `load` on the first call, and again on the next call after a failure. */
export function loadOnce<Loaded, Args extends readonly unknown[]>(
  load: (...args: Args) => Promise<Loaded>,
): (...args: Args) => Promise<Loaded> {
  let loading: Promise<Loaded> | undefined
  return (...args) => {
    if (loading !== undefined) return loading
    const started = load(...args)
    loading = started
    started.catch(() => {
      loading = undefined
    })
    return started
  }
}
