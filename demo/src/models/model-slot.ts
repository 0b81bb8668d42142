// The model slot. In: which model to load, and how. Out: its engine, loading progress, and the reason for a
// failure.
import {
  Engine,
  type HalfbyteError,
  isHalfbyteError,
  type LoadProgress,
  type ProbeReport,
  type Smaller,
  storedBytes,
} from '../../../src/index.ts'
import { rememberChoice } from '../conversation/remember.ts'
import type { EngineSettings } from '../shell/settings.ts'
import { nextTask } from '../shell/tasks.ts'
import { bytes } from '../shell/units.ts'
import { choiceName, choiceSource, DEFAULT, type ModelChoice } from './models.ts'

/** The state of the slot. */
export type Phase =
  /** `why`: a sentence that explains why there is no model. `smaller`: settings that would fit. */
  | { readonly name: 'empty'; readonly why?: string; readonly smaller?: Smaller | undefined }
  /** `checking`: tests whether the model fits, before a download. `verdict`: what the test found. */
  | {
      readonly name: 'loading'
      readonly progress: LoadProgress | undefined
      readonly checking?: true
      readonly verdict?: Verdict | undefined
    }
  | { readonly name: 'ready'; readonly engine: Engine; readonly settings: EngineSettings }
  /** `lacks`: missing bytes of storage, if that was the reason. */
  | { readonly name: 'failed'; readonly message: string; readonly lacks?: number }

/** What is known of a model that fits before it is downloaded. */
export type Verdict = Pick<ProbeReport, 'neededBytes' | 'decodeTokensPerSecond'>

/** Holds at most one engine, since a phone has no room for two. */
export class ModelSlot {
  phase: Phase = { name: 'empty' }
  choice: ModelChoice = DEFAULT
  readonly #changed: () => void
  readonly #progressed: () => void
  #loading: AbortController | undefined

  /** `changed`: the phase or the choice has changed. `progressed`: only the progress within the phase has. */
  constructor(changed: () => void, progressed: () => void) {
    this.#changed = changed
    this.#progressed = progressed
  }

  get engine(): Engine | undefined {
    return this.phase.name === 'ready' ? this.phase.engine : undefined
  }

  /** Replaces the loaded model. Never rejects: a failure becomes the phase. */
  async load(choice: ModelChoice, settings: EngineSettings, unasked: boolean): Promise<void> {
    const before = this.engine
    this.#loading?.abort()
    const loading = new AbortController()
    this.#loading = loading
    this.choice = choice
    const { threads, contextLength, weights, memory } = settings
    this.#enter({ name: 'loading', progress: undefined })
    try {
      // When this task ends, the page shows that it loads.
      await nextTask()
      await before?.dispose()
      // Embedded models are small, so checking the header is not worth a request.
      const isSmall = unasked || choice.kind === 'embedded'
      const verdict = isSmall ? undefined : await this.#fits(choice, settings, loading.signal)
      if (verdict === false || loading.signal.aborted) return
      this.#enter({ name: 'loading', progress: undefined, verdict })
      const engine = await Engine.load(choiceSource(choice), {
        signal: loading.signal,
        ...loadOptions(settings),
        // The browser's HTTP cache already keeps it.
        cache: choice.kind === 'embedded' ? 'none' : 'opfs',
        onProgress: (progress) => {
          if (loading.signal.aborted) return
          this.phase = { name: 'loading', progress, verdict }
          this.#progressed()
        },
      })
      if (loading.signal.aborted) {
        await engine.dispose()
        return
      }
      rememberChoice(choice)
      this.#enter({ name: 'ready', engine, settings: { threads, contextLength, weights, memory } })
    } catch (error) {
      if (this.#loading === loading && !loading.signal.aborted) {
        const isFull = isHalfbyteError(error) && error.code === 'storage-full'
        const lacks = isFull ? { lacks: Number(error.detail['size']) } : {}
        this.#enter({ name: 'failed', message: sentence(error), ...lacks })
      }
    }
  }

  cancel(): void {
    this.#loading?.abort()
    this.#enter({ name: 'empty', why: `${choiceName(this.choice)} was not loaded.` })
  }

  /** Waits for the person's decision: loading `choice` may have crashed the page the last time. */
  async hesitate(choice: ModelChoice, settings: EngineSettings): Promise<void> {
    this.choice = choice
    const why = `The page closed while it was loading ${choiceName(choice)}; it may need more memory than there is.`
    const phase: Phase = { name: 'empty', why }
    this.#enter(phase)
    const smaller = await this.#probe(choice, settings).then(
      ({ suggestion }) => suggestion,
      () => undefined,
    )
    if (this.phase === phase && smaller !== undefined) this.#enter({ ...phase, smaller })
  }

  /**
   * Returns false if the model would not fit, and the phase says so. Local files, and models that cannot be
   * checked, pass without a verdict.
   */
  async #fits(
    choice: ModelChoice,
    settings: EngineSettings,
    signal: AbortSignal,
  ): Promise<Verdict | undefined | false> {
    if (choice.kind !== 'address' || (await storedBytes(choice.address).catch(() => 0)) > 0) return undefined
    if (signal.aborted) return undefined
    this.#enter({ name: 'loading', progress: undefined, checking: true })
    try {
      const report = await this.#probe(choice, settings, signal)
      const { fits, neededBytes, grantedBytes, suggestion } = report
      if (signal.aborted) return undefined
      if (fits) return report
      this.#enter({
        name: 'empty',
        why: `${choiceName(choice)} needs ${bytes(neededBytes)} of memory, but this device grants ${bytes(grantedBytes)}.`,
        smaller: suggestion,
      })
      return false
    } catch {
      return undefined
    }
  }

  #probe(choice: ModelChoice, settings: EngineSettings, signal?: AbortSignal): Promise<ProbeReport> {
    return Engine.probe(choiceSource(choice), { ...loadOptions(settings), signal })
  }

  /** Records that the engine can no longer answer. */
  fail(error: HalfbyteError): void {
    void this.engine?.dispose()
    this.#enter({ name: 'failed', message: sentence(error) })
  }

  #enter(phase: Phase): void {
    this.phase = phase
    this.#changed()
  }
}

function loadOptions({ threads, contextLength, weights, memory }: EngineSettings) {
  return {
    contextLength,
    weights,
    kvCache: { k: memory === 'f32' ? ('f32' as const) : ('int8' as const), v: memory },
    ...(threads !== undefined && { threads }),
  }
}

/** An error's message as a sentence. A file name at its beginning keeps its case. */
export function sentence(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  const start = /^[a-z]+['’\s,]/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text
  return /[.!?]$/.test(start) ? start : `${start}.`
}
