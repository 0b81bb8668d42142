// The engines of a page. In: a model's location, load options. Out: one engine for all widgets with the same
// values.
import type { Engine } from '../../../engine/api/engine.ts'
import { engineKey } from '../../../engine/api/request/load-request.ts'
import type { LoadOptions, LoadProgress, ModelSource } from '../../../engine/api/types.ts'

export type LoadEngine = (source: ModelSource, options: LoadOptions) => Promise<Engine>

/** A widget's share of an engine. */
export interface Lease {
  /** Rejects like the load. Undefined progress: the load has just begun. */
  readonly engine: Promise<Engine>
  /** Releases the engine, which is disposed when nobody uses it. */
  release(): void
  /** Called when the engine has failed: the next caller gets another. */
  discard(): void
}

interface Shared {
  readonly engine: Promise<Engine>
  readonly abort: AbortController
  readonly listeners: Set<(progress: LoadProgress) => void>
  progress: LoadProgress | undefined
  isLoaded: boolean
  users: number
}

/** Frameworks remove elements and put them back, so an unused engine lives this long. */
const LINGER_MS = 10_000

export class EnginePool {
  readonly #load: LoadEngine
  readonly #lingerMs: number
  readonly #engines = new Map<string, Shared>()

  constructor(load: LoadEngine, lingerMs = LINGER_MS) {
    this.#load = load
    this.#lingerMs = lingerMs
  }

  /** True if the engine exists or is loading, so that joining it downloads nothing more. */
  has(source: ModelSource, options: LoadOptions): boolean {
    const key = engineKey(source, options)
    return key !== undefined && this.#engines.has(key)
  }

  join(source: ModelSource, options: LoadOptions, onProgress: (progress: LoadProgress) => void): Lease {
    // Values that cannot be compared are not shared.
    const key = engineKey(source, options) ?? Symbol()
    const shared = (typeof key === 'string' && this.#engines.get(key)) || this.#start(source, options, key)
    shared.users++
    shared.listeners.add(onProgress)
    if (shared.progress !== undefined) onProgress(shared.progress)
    let isHeld = true
    return {
      engine: shared.engine,
      release: () => {
        if (!isHeld) return
        isHeld = false
        shared.listeners.delete(onProgress)
        shared.users--
        this.#endUnused(shared, key)
      },
      discard: () => this.#forget(shared, key),
    }
  }

  #start(source: ModelSource, options: LoadOptions, key: string | symbol): Shared {
    const abort = new AbortController()
    const onProgress = (progress: LoadProgress) => {
      shared.progress = progress
      for (const listener of shared.listeners) listener(progress)
    }
    const engine = this.#load(source, { ...options, signal: abort.signal, onProgress })
    const shared: Shared = {
      engine,
      abort,
      listeners: new Set(),
      progress: undefined,
      isLoaded: false,
      users: 0,
    }
    if (typeof key === 'string') this.#engines.set(key, shared)
    engine.then(
      () => {
        shared.isLoaded = true
      },
      () => this.#forget(shared, key),
    )
    return shared
  }

  #endUnused(shared: Shared, key: string | symbol): void {
    if (shared.users > 0) return
    // Nobody is waiting for this download any more.
    if (!shared.isLoaded) {
      this.#forget(shared, key)
      shared.abort.abort()
      return
    }
    // Nobody can join a discarded engine. With shared tabs it would otherwise become leader again.
    const isOver = typeof key !== 'string' || this.#engines.get(key) !== shared
    setTimeout(
      () => {
        if (shared.users > 0) return
        this.#forget(shared, key)
        void shared.engine.then((engine) => engine.dispose())
      },
      isOver ? 0 : this.#lingerMs,
    )
  }

  #forget(shared: Shared, key: string | symbol): void {
    if (typeof key === 'string' && this.#engines.get(key) === shared) this.#engines.delete(key)
  }
}
