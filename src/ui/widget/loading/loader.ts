// The model of a widget. In: a gesture, the user's consent, or the page's own engine. Out: the phase to show,
// and an engine.
//
//   idle -> checking -> consent -> loading -> ready
//             |  stored, or of another widget ^
//   any of them -> failed -> (again) checking
import type { Engine } from '../../../engine/api/engine.ts'
import type {
  LoadOptions,
  LoadProgress,
  ModelSource,
  ProbeOptions,
  ProbeReport,
} from '../../../engine/api/types.ts'
import type { EnginePool, Lease } from './engine-pool.ts'

export type Phase =
  | { readonly name: 'idle' }
  | { readonly name: 'checking' }
  /** `bytes`: undefined if the server does not say. `fits`: false if memory may not suffice. */
  | { readonly name: 'consent'; readonly bytes: number | undefined; readonly fits: boolean }
  | { readonly name: 'loading'; readonly progress: LoadProgress | undefined }
  | { readonly name: 'ready'; readonly engine: Engine }
  | { readonly name: 'failed'; readonly error: unknown }

/** The page's settings for the model. */
export interface ModelPlan {
  readonly source: ModelSource
  readonly options: LoadOptions
  /** Size of the download in bytes if the page knows it; no request is then made. */
  readonly bytes?: number | undefined
}

/** The loader's external dependencies. */
export interface Outside {
  readonly pool: EnginePool
  probe(source: ModelSource, options: ProbeOptions): Promise<ProbeReport>
  /** Bytes of the model on this device. */
  stored(source: ModelSource): Promise<number>
}

export class Loader {
  readonly #outside: () => Outside
  readonly #onChange: (phase: Phase) => void
  #phase: Phase = { name: 'idle' }
  #lease: Lease | undefined
  #check: AbortController | undefined
  #loading: Promise<void> = Promise.resolve()
  /** Settings that make the model fit, if the probe says that it would not. */
  #smaller: LoadOptions = {}

  constructor(outside: () => Outside, onChange: (phase: Phase) => void) {
    this.#outside = outside
    this.#onChange = onChange
  }

  get phase(): Phase {
    return this.#phase
  }

  get engine(): Engine | undefined {
    return this.#phase.name === 'ready' ? this.#phase.engine : undefined
  }

  /** The page's own engine: nothing is loaded, and it is never disposed here. */
  adopt(engine: Engine): void {
    this.#release()
    this.#show({ name: 'ready', engine })
  }

  /** After a gesture: asks for consent if something must be downloaded, and otherwise loads. */
  async begin(plan: ModelPlan): Promise<void> {
    if (!['idle', 'failed'].includes(this.#phase.name)) return
    const check = new AbortController()
    this.#check = check
    this.#show({ name: 'checking' })
    try {
      if (this.#outside().pool.has(plan.source, plan.options)) return this.load(plan)
      const found = await this.#size(plan, check.signal)
      if (check.signal.aborted) return
      if (found.bytes === 0) return this.load(plan)
      this.#show({ name: 'consent', ...found })
    } catch (error) {
      if (!check.signal.aborted) this.#show({ name: 'failed', error })
    }
  }

  async #size(
    { source, options, bytes }: ModelPlan,
    signal: AbortSignal,
  ): Promise<{ readonly bytes: number | undefined; readonly fits: boolean }> {
    if (bytes !== undefined) {
      const isStored = (await this.#outside().stored(source)) >= bytes
      return { bytes: isStored ? 0 : bytes, fits: true }
    }
    const { onProgress: _, ...asked } = options
    const report = await this.#outside().probe(source, { ...asked, signal })
    this.#smaller = report.fits ? {} : (report.suggestion ?? {})
    return { bytes: report.downloadBytes, fits: report.fits || report.suggestion !== undefined }
  }

  /** With consent, or without asking for it. Resolves when the phase is `ready`, `failed` or `idle`. */
  load(plan: ModelPlan): Promise<void> {
    if (this.#phase.name === 'ready') return Promise.resolve()
    if (this.#phase.name !== 'loading') this.#loading = this.#load(plan)
    return this.#loading
  }

  async #load({ source, options }: ModelPlan): Promise<void> {
    this.#check?.abort()
    this.#show({ name: 'loading', progress: undefined })
    const report = (progress: LoadProgress) => {
      if (this.#lease === lease || lease === undefined) this.#show({ name: 'loading', progress })
    }
    let lease: Lease | undefined
    try {
      lease = this.#outside().pool.join(source, { ...options, ...this.#smaller }, report)
      this.#lease = lease
      const engine = await lease.engine
      if (this.#lease === lease) this.#show({ name: 'ready', engine })
    } catch (error) {
      if (this.#lease !== lease) return
      this.#release()
      this.#show({ name: 'failed', error })
    }
  }

  /** Cancels a load in progress. An engine that others use continues. */
  cancel(): void {
    this.#release()
    this.#show({ name: 'idle' })
  }

  /** Called when the engine has failed: the next load creates another. `isTold`: the error has been shown. */
  fail(error: unknown, isTold = false): void {
    this.#lease?.discard()
    this.#release()
    if (isTold) this.#show({ name: 'idle' })
    else this.#show({ name: 'failed', error })
  }

  /**
   * Called when the widget was removed from the page. The page's own engine stays, in case the widget is put
   * back.
   */
  leave(): void {
    if (this.#lease === undefined && this.#check === undefined) return
    this.cancel()
  }

  #release(): void {
    this.#check?.abort()
    this.#check = undefined
    this.#lease?.release()
    this.#lease = undefined
  }

  #show(phase: Phase): void {
    this.#phase = phase
    this.#onChange(phase)
  }
}
