// The model slot. In: which model to load, and how. Out: its engine, loading progress, and the reason for a
// failure.

import {
  Engine,
  HalfbyteError,
  isHalfbyteError,
  type LoadProgress,
  type ModelSource,
  type ProbeReport,
  type Smaller,
  storedBytes,
} from '../../../src/index.ts'
import { isOffline } from '../../../src/ui/chat/texts.ts'
import {
  forgetAddress,
  recentAddresses,
  rememberAddress,
  rememberChoice,
} from '../conversation/store/remember.ts'
import { DEFAULT_SETTINGS, type EngineSettings } from '../shell/settings.ts'
import { nextTask } from '../shell/tasks.ts'
import { bytes } from '../shell/units.ts'
import { t } from '../words/words.ts'
import { embeddedFile } from './early.ts'
import type { ModelChoice } from './embedded.ts'
import { type Explained, explain, explainLoad, hopeless, needsNetwork } from './explain.ts'
import { lastChoice } from './last-choice.ts'
import { choiceName, choiceSource } from './models.ts'
import { canStay, tryOut } from './successor.ts'
import { towerOf, unstoreModel } from './towers.ts'

/** The state of the slot. */
export type Phase =
  /** `why`: a sentence that explains why there is no model. `smaller`: settings that would fit. */
  | { readonly name: 'empty'; readonly why: string; readonly smaller?: Smaller | undefined }
  /** `checking`: tests whether the model fits, before a download. `verdict`: what the test found. */
  | {
      readonly name: 'loading'
      readonly progress: LoadProgress | undefined
      readonly checking?: true
      readonly verdict?: Verdict | undefined
      /** The reason why the earlier model is being loaded again. */
      readonly after?: Explained
    }
  | { readonly name: 'ready' }
  /**
   * `lacks`: bytes of storage missing, if that was the reason. `isHopeless`: another attempt would fail in
   * the same way. `isOffline`: the network was the reason.
   */
  | {
      readonly name: 'failed'
      readonly why: Explained
      readonly lacks?: number
      readonly isHopeless?: true
      readonly isOffline?: boolean
    }

/** What is known about a model that fits, before it is downloaded. */
export type Verdict = Pick<ProbeReport, 'neededBytes' | 'decodeTokensPerSecond'>

/** The model that answers. */
export interface Used {
  readonly engine: Engine
  readonly choice: ModelChoice
  readonly settings: EngineSettings
  /** False if its files were not kept on this device. */
  readonly isKept: boolean
}

/**
 * Holds the engine that answers, even while another one is loading or after its load has failed. Large
 * engines are disposed before the load and reloaded if it fails, because a phone has no memory for two.
 */
export class ModelSlot {
  phase: Phase = { name: 'loading', progress: undefined }
  /** The user's last choice. It is in use once it has generated a token. */
  choice: ModelChoice = lastChoice()
  /** The model that answers, if there is one, in any phase. */
  used: Used | undefined
  /** The previous model, in case its successor fails after it was disposed. */
  #last: Used | undefined
  /** Resolves when no answer is in progress, so the engine may be replaced. */
  idle: () => Promise<void> = async () => undefined
  /** Resolves when the first load has succeeded or failed. */
  readonly settled: Promise<void>
  #settle: () => void = () => undefined
  readonly #changed: () => void
  readonly #progressed: () => void
  #loading: AbortController | undefined

  /**
   * `changed`: the phase or the choice has changed. `progressed`: only the progress within the phase has
   * changed.
   */
  constructor(changed: () => void, progressed: () => void) {
    this.#changed = changed
    this.#progressed = progressed
    this.settled = new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  get engine(): Engine | undefined {
    return this.used?.engine
  }

  /** The model to display: the one that answers, otherwise the one that is loading. */
  get shown(): ModelChoice {
    return this.used?.choice ?? this.choice
  }

  /** Replaces the loaded model. Never rejects: a failure becomes the phase, and the model in use stays. */
  async load(
    choice: ModelChoice,
    settings: EngineSettings,
    unasked: boolean,
    isKept = this.used?.choice !== choice || this.used.isKept,
  ): Promise<void> {
    this.#loading?.abort()
    const loading = new AbortController()
    this.#loading = loading
    const isNew = choice.kind === 'address' && !recentAddresses().includes(choice.address)
    this.choice = choice
    const before = this.used
    const never = choice.kind === 'address' ? hopeless(choice.address) : undefined
    if (never !== undefined) {
      return this.#enter({ name: 'failed', why: { text: never, details: undefined }, isHopeless: true })
    }
    this.#enter({ name: 'loading', progress: undefined })
    try {
      // When this task ends, the page shows that it is loading.
      await nextTask()
      // Embedded models are small, so checking the header is not worth a request.
      const isSmall = unasked || choice.kind === 'embedded'
      if (await lacksNetwork(choice)) throw new HalfbyteError('network', 'this device is offline')
      const verdict = isSmall ? undefined : await this.#fits(choice, settings, loading.signal)
      if (verdict === false) return
      if (before !== undefined && !(await canStay(before.engine)))
        await this.#vacate(choice, settings, loading)
      if (loading.signal.aborted) return
      this.#enter({ name: 'loading', progress: undefined, verdict })
      const engine = await this.#open({ choice, settings, isKept }, loading)
      if (before !== undefined) await this.#replace(engine, loading.signal)
      if (loading.signal.aborted) return await engine.dispose()
      if (isKept) rememberChoice(choice)
      this.#use({ engine, choice, settings, isKept })
    } catch (error) {
      if (loading.signal.aborted) return
      if (isNew && isNoModel(error)) await forget(choice)
      await this.#fall(error)
    }
  }

  /** Loads an engine, in place of the current one if there is no memory for two. */
  async #open({ choice, settings, isKept }: Omit<Used, 'engine'>, loading: AbortController): Promise<Engine> {
    const onProgress = (progress: LoadProgress) => {
      if (loading.signal.aborted || this.phase.name !== 'loading') return
      const isFirst = progress.phase === 'download' && this.phase.progress?.phase !== 'download'
      // If the user closes the page now, part of the file stays on this device.
      if (isFirst && isKept) rememberAddress(choice)
      this.phase = { ...this.phase, checking: undefined, progress }
      this.#progressed()
    }
    const source = await sourceOf(choice, loading.signal, onProgress)
    const load = () =>
      Engine.load(source, {
        signal: loading.signal,
        ...loadOptions(choice, settings),
        ...(choice.kind === 'embedded' && { stateBytes: choice.stateBytes }),
        // The browser's HTTP cache already has it.
        cache: choice.kind === 'embedded' || !isKept ? 'none' : 'opfs',
        onProgress,
      })
    try {
      return await load()
    } catch (error) {
      const isTight = isHalfbyteError(error) && error.code === 'out-of-memory'
      if (!isTight || this.used === undefined || loading.signal.aborted) throw error
      await this.#leave()
      return load()
    }
  }

  /** Waits until the new engine has generated a token and the old one has finished its answer. */
  async #replace(engine: Engine, signal: AbortSignal): Promise<void> {
    try {
      await tryOut(engine, signal)
      await this.idle()
    } catch (error) {
      await engine.dispose()
      throw error
    }
  }

  #use(used: Used): void {
    const before = this.used
    this.used = used
    this.#last = used
    this.choice = used.choice
    this.#enter({ name: 'ready' })
    // A dead engine is already disposed.
    void before?.engine.dispose().catch(() => undefined)
  }

  /**
   * Frees memory for a successor, but first checks its header, so that an invalid file does not cost the
   * loaded model. The page's own models need no check.
   */
  async #vacate(choice: ModelChoice, settings: EngineSettings, { signal }: AbortController): Promise<void> {
    if (choice.kind !== 'embedded') await this.#probe(choice, settings, signal)
    await this.idle()
    if (!signal.aborted) await this.#leave()
  }

  async #leave(): Promise<void> {
    await this.idle()
    const { engine } = this
    this.used = undefined
    this.#changed()
    await engine?.dispose().catch(() => undefined)
  }

  /** Shows why a load failed. */
  async #fall(error: unknown): Promise<void> {
    const why = explainLoad(error)
    const isFull = isHalfbyteError(error) && error.code === 'storage-full'
    const failed: Phase = {
      name: 'failed',
      why,
      isOffline: isOffline(error),
      ...(isFull && { lacks: Number(error.detail['size']) }),
    }
    const wanted = this.choice
    await this.#comeBack(why)
    if (this.choice !== wanted && this.choice !== this.used?.choice) return
    this.choice = wanted
    this.#enter(failed)
  }

  /** Reloads the model that was disposed for another one. `why`: a sentence for the meantime. */
  async #comeBack(why?: Explained): Promise<void> {
    const last = this.#last
    if (last === undefined || this.used !== undefined) return
    // Only once, because this model may be the one that fails.
    this.#last = undefined
    const loading = new AbortController()
    this.#loading = loading
    this.#enter({ name: 'loading', progress: undefined, ...(why !== undefined && { after: why }) })
    try {
      const engine = await this.#open(last, loading)
      if (loading.signal.aborted) await engine.dispose()
      else this.#use({ ...last, engine })
    } catch (error) {
      if (!loading.signal.aborted) this.#enter({ name: 'failed', why: explain(error) })
    }
  }

  cancel(): void {
    this.#loading?.abort()
    if (this.used !== undefined) this.goOn()
    else if (this.#last !== undefined) void this.#comeBack()
    else this.#enter({ name: 'empty', why: t('notLoaded', { name: choiceName(this.choice) }) })
  }

  /** Withdraws the last choice: the current model stays. */
  goOn(): void {
    if (this.used === undefined) return
    this.choice = this.used.choice
    this.#enter({ name: 'ready' })
  }

  /** Waits for the user's decision: loading `choice` may have crashed the page the last time. */
  async hesitate(choice: ModelChoice, settings: EngineSettings): Promise<void> {
    this.choice = choice
    const why = t('hesitate', { name: choiceName(choice) })
    const phase: Phase = { name: 'empty', why }
    this.#enter(phase)
    const smaller = await this.#probe(choice, settings).then(
      ({ suggestion }) => suggestion,
      () => undefined,
    )
    if (this.phase === phase && smaller !== undefined) this.#enter({ ...phase, smaller })
  }

  /**
   * Returns false if the model would not fit, and sets the phase accordingly. Local files, and models that
   * cannot be checked, pass without a verdict.
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
        why: t('tooLarge', {
          name: choiceName(choice),
          needed: bytes(neededBytes),
          granted: bytes(grantedBytes),
        }),
        smaller: suggestion,
      })
      return false
    } catch {
      return undefined
    }
  }

  #probe(choice: ModelChoice, settings: EngineSettings, signal?: AbortSignal): Promise<ProbeReport> {
    return Engine.probe(choiceSource(choice), { ...loadOptions(choice, settings), signal })
  }

  /** Records that the engine can no longer answer. */
  fail(error: HalfbyteError): void {
    void this.engine?.dispose().catch(() => undefined)
    this.used = undefined
    // A load in progress will provide another engine or report its own failure.
    if (this.phase.name === 'loading') this.#changed()
    else this.#enter({ name: 'failed', why: explain(error) })
  }

  #enter(phase: Phase): void {
    this.phase = phase
    if (phase.name !== 'loading') this.#settle()
    this.#changed()
  }
}

/** True if it is neither on this device nor reachable. */
const lacksNetwork = async (choice: ModelChoice): Promise<boolean> =>
  choice.kind === 'address' &&
  navigator.onLine === false &&
  needsNetwork(choice.address) &&
  (await storedBytes(choice.address).catch(() => 0)) === 0

/** True if the file is not a model, or not of a known kind. */
const isNoModel = (error: unknown): boolean =>
  isHalfbyteError(error) && ['format', 'architecture'].includes(error.code)

/** Removes a model from this device. */
async function forget(choice: ModelChoice): Promise<void> {
  if (choice.kind !== 'address') return
  forgetAddress(choice.address)
  await unstoreModel(choice.address).catch(() => undefined)
}

/**
 * The engine's source. An embedded model that cannot be fetched here is left to the engine, which reports
 * why.
 */
async function sourceOf(
  choice: ModelChoice,
  signal: AbortSignal,
  onProgress: (progress: LoadProgress) => void,
): Promise<ModelSource> {
  if (choice.kind !== 'embedded') return choiceSource(choice)
  const start = performance.now()
  const { bytes: total } = choice
  const file = await embeddedFile(choice, signal, (loaded) => {
    const bytesPerSecond = (loaded / Math.max(1, performance.now() - start)) * 1000
    const secondsLeft = (total - loaded) / bytesPerSecond
    onProgress({
      phase: 'download',
      loaded,
      total,
      cached: false,
      bytesPerSecond,
      secondsLeft,
    })
  }).catch(() => undefined)
  signal.throwIfAborted()
  return file ?? choiceSource(choice)
}

/** The options for `Engine.load`. */
export function loadOptions(choice: ModelChoice, settings: EngineSettings) {
  const { threads, contextLength, weights, memory, pictures } = settings
  return {
    vision: choice.kind === 'address' ? towerOf(choice.address) : undefined,
    ...(pictures === 'whole' && { imageTiles: 1 }),
    // The engine's default is the same, and adds no note if a model supports less.
    contextLength: contextLength === DEFAULT_SETTINGS.contextLength ? undefined : contextLength,
    weights,
    kvCache: { k: memory === 'f32' ? ('f32' as const) : ('int8' as const), v: memory },
    ...(threads !== undefined && { threads }),
  }
}
