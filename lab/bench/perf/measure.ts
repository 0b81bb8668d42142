// Measures rounds of all engines in turn, and saves the results after each.
import { modelFile } from '../model-file.ts'
import { DOTS_OF } from '../roofline/kernels.ts'
import type { Shape } from '../shapes.ts'
import { type EngineKind, type EngineName, OURS } from './engines.ts'
import { waitForQuiet } from './host/quiet.ts'
import { openPage, type PageHost, type Runner } from './host/runner.ts'
import type { Site } from './host/site.ts'
import { within } from './host/within.ts'
import { promptOf } from './prompts.ts'
import {
  carriedOver,
  type EngineRecord,
  type GroupResults,
  type LimitSample,
  loadResults,
  type Sample,
  saveResults,
} from './results.ts'
import { type Cell, cellsOf, fitRounds, type Limits, rotated, type TimedCell } from './schedule.ts'
import { type Identity, identify, startEngine } from './start.ts'
import { stepBytesOf } from './step-bytes.ts'
import { agreementOf, agrees, type WarmUp, warmUp } from './warm-up.ts'

interface GroupOrder {
  readonly shape: Shape
  readonly threads: number
  readonly kinds: readonly EngineKind[]
  readonly limits: Limits
  /** Tokens before a second turn; if absent, no second turn is measured. */
  readonly turn?: number | undefined
  readonly site: Site
  readonly machine: string
  readonly folder: URL
  /** Whether to keep the results of an earlier run. */
  readonly resume: boolean
  readonly seconds: number
}

const QUIET_PATIENCE_MS = 3000
/**
 * How long a load may take, and how long a run may take in addition to many times its expected time, before
 * an engine counts as hung.
 */
const LOAD_SECONDS = 240
const WARM_UP_SECONDS = 180
const MIN_RUN_SECONDS = 60
const HUNG_FACTOR = 5
/** For the second turn: tokens of its message, and a seed that no measured prompt uses. */
const MESSAGE = 32
const TURN_SEED = 800_000

export async function measureGroup(order: GroupOrder): Promise<GroupResults> {
  const group = await Group.open(order)
  try {
    await group.startAll()
    await group.runAll()
    await group.runTurns()
  } finally {
    await group.close()
  }
  return group.results
}

/** An engine that takes part. */
interface Player {
  readonly kind: EngineKind
  readonly runner: Runner
  readonly warm: WarmUp
}

class Group {
  readonly #order: GroupOrder
  readonly #host: PageHost
  readonly #identities: ReadonlyMap<EngineName, Identity>
  readonly #until: number
  readonly #players: Player[] = []
  /** Rewritten after every run. */
  results: GroupResults

  private constructor(
    order: GroupOrder,
    host: PageHost,
    identities: ReadonlyMap<EngineName, Identity>,
    results: GroupResults,
  ) {
    this.#order = order
    this.#host = host
    this.#identities = identities
    this.#until = performance.now() + order.seconds * 1000
    this.results = results
  }

  static async open(order: GroupOrder): Promise<Group> {
    const { shape, threads, kinds, site, machine, folder } = order
    const identities = new Map<EngineName, Identity>()
    for (const kind of kinds) {
      const identity = await identify(kind, site)
      if (identity !== undefined) identities.set(kind.name, identity)
    }
    const bytesAt = await stepBytesOf(await modelFile(shape))
    const cells = kinds
      .filter(({ name }) => name === OURS)
      .flatMap((kind) => cellsOf(kind, order.limits, () => 0))
    const stepBytes = Object.fromEntries(
      cells.map(({ prompt, decode }) => [prompt, bytesAt(prompt + Math.floor(decode / 2))]),
    )
    const host = await openPage(site.url)
    const fingerprints = new Map(Array.from(identities, ([name, { fingerprint }]) => [name, fingerprint]))
    const browser = host.version
    const earlier = order.resume ? await loadResults(folder, shape.name, threads) : undefined
    const kept = carriedOver(earlier, { machine, browser, fingerprints })
    const about = { shape: shape.name, threads, machine, browser }
    return new Group(order, host, identities, {
      ...about,
      ...kept,
      stepBytes: { ...earlier?.stepBytes, ...stepBytes },
    })
  }

  /**
   * Loads every engine with remaining rounds, one after the other, and checks that all generate the same
   * tokens.
   */
  async startAll(): Promise<void> {
    for (const kind of this.#order.kinds) await this.#start(kind)
    const reference = this.#players.find(({ kind }) => kind.name === 'llama.cpp') ?? this.#players[0]
    if (reference === undefined) return
    for (const { kind, warm } of [...this.#players]) {
      if (kind === reference.kind && kind.name !== OURS) continue
      const agreement = agreementOf(warm.firstTokens, reference.warm.firstTokens, reference.kind.name)
      this.#record(kind.name, { agreement })
      const { same, of } = agreement
      if (!agrees(agreement))
        await this.#drop(kind.name, `${same} of ${of} tokens as ${reference.kind.title}`)
    }
  }

  async #start(kind: EngineKind): Promise<void> {
    const { shape, threads, site } = this.#order
    const identity = this.#identities.get(kind.name)
    const cells = this.#cells(kind)
    if (cells.every(({ rounds }) => rounds === 0) && !this.#wantsTurn(kind.name)) return
    if (identity === undefined) {
      this.#record(kind.name, { failure: `${kind.packageName} is not installed` })
      return this.#say(`${kind.name}: skipped, ${kind.packageName} is not installed`)
    }
    const starting = startEngine(kind, shape, threads, site)
    try {
      const runner = await within(LOAD_SECONDS, starting)
      const player = { kind, runner, warm: await within(WARM_UP_SECONDS, warmUp(runner.run)) }
      await runner.pause()
      this.#players.push(player)
      const loadMs = [...(this.results.engines[kind.name]?.loadMs ?? []), Math.round(runner.loadMs)]
      this.#record(kind.name, { loadMs, failure: undefined })
      const { prefillRate, decodeRate } = player.warm
      const seconds = (runner.loadMs / 1000).toFixed(1)
      this.#say(
        `${kind.name}: loaded in ${seconds} s; warm-up ${prefillRate.toFixed(1)} and ${decodeRate.toFixed(1)} tok/s`,
      )
    } catch (error) {
      this.#fail(kind.name, error)
      // The result may still arrive.
      starting.then((runner) => runner.close()).catch(() => {})
    }
  }

  /** Runs rounds until all cells are done or the time is up. */
  async runAll(): Promise<void> {
    for (let round = 0; ; round++) {
      const fitted = fitRounds(this.#timedCells(), this.#secondsLeft())
      const now = fitted.filter(({ rounds }) => rounds > 0)
      if (now.length === 0) break
      await this.#measureLimits()
      for (const { kind } of rotated([...this.#players], round)) {
        const busy = await waitForQuiet(QUIET_PATIENCE_MS)
        for (const cell of now.filter(({ engine }) => engine === kind.name)) await this.#run(cell, busy)
      }
      await saveResults(this.#order.folder, this.results)
    }
    for (const { kind, runner } of this.#players) {
      await runner.resume()
      const held = await runner.memoryBytes().catch(() => undefined)
      if (held === undefined) continue
      this.#record(kind.name, {
        memoryBytes: [...(this.results.engines[kind.name]?.memoryBytes ?? []), held],
      })
    }
    await saveResults(this.#order.folder, this.results)
  }

  /** Runs a second turn of each engine that still needs one, as long as there is time. */
  async runTurns(): Promise<void> {
    const { turn: history = 0, folder } = this.#order
    for (const { kind, runner } of [...this.#players]) {
      if (!this.#wantsTurn(kind.name)) continue
      await waitForQuiet(QUIET_PATIENCE_MS)
      try {
        await runner.resume()
        const turning = runner.turn(promptOf(history, TURN_SEED), promptOf(MESSAGE, TURN_SEED + 1))
        const turn = await within(Math.max(this.#secondsLeft(), MIN_RUN_SECONDS), turning)
        await runner.pause()
        if (turn === undefined) continue
        const turns = [...(this.results.turns ?? []), { engine: kind.name, history, ...turn }]
        this.results = { ...this.results, turns }
        this.#say(`${kind.name} second turn: ${turn.readTokens} tokens read in ${turn.ms.toFixed(0)} ms`)
      } catch (error) {
        this.#fail(kind.name, error)
        await this.#drop(kind.name)
      }
      await saveResults(folder, this.results)
    }
  }

  #wantsTurn(name: EngineName): boolean {
    const { turn } = this.#order
    const has = this.results.turns?.some(({ engine, history }) => engine === name && history === turn)
    return turn !== undefined && has !== true
  }

  async close(): Promise<void> {
    for (const { runner } of this.#players.splice(0)) await runner.close()
    await this.#host.close()
  }

  async #run({ engine, prompt, decode, seconds }: TimedCell, busy: number): Promise<void> {
    const player = this.#players.find(({ kind }) => kind.name === engine)
    // Its engine failed, or others used up the time.
    if (player === undefined || seconds > this.#secondsLeft()) return
    const seed = 100 * prompt + this.#count(engine, prompt)
    try {
      await player.runner.resume()
      const run = player.runner.run(promptOf(prompt, seed), decode)
      const patience = MIN_RUN_SECONDS + HUNG_FACTOR * seconds
      const { promptTokens, prefillMs, decodedTokens, decodeMs } = await within(patience, run)
      await player.runner.pause()
      if (promptTokens !== prompt) throw new Error(`it read ${promptTokens} tokens of ${prompt}`)
      const sample: Sample = {
        engine,
        prompt,
        promptTokens,
        prefillMs,
        decodedTokens,
        decodeMs,
        busy: Math.round(busy * 100) / 100,
        at: new Date().toISOString(),
      }
      this.results = { ...this.results, samples: [...this.results.samples, sample] }
      const rate = (tokens: number, ms: number) => ((1000 * tokens) / ms).toFixed(1)
      this.#say(
        `${engine} prompt ${prompt}: prefill ${rate(promptTokens, prefillMs)}, ` +
          `decode ${rate(decodedTokens - 1, decodeMs)} tok/s`,
      )
    } catch (error) {
      this.#fail(engine, error)
      await this.#drop(engine)
    }
  }

  async #measureLimits(): Promise<void> {
    const { threads } = this.#order
    const bytes = Math.min(...Object.values(this.results.stepBytes))
    const set = Math.max(1 << 20, Math.min(bytes, 512 << 20))
    const { reads, peaks } = await this.#host.page.evaluate((options) => window.perf.limits(options), {
      ...({ build: 'relaxed', threads: [threads], sets: [set], samples: 1, leastMs: 30 } as const),
    })
    const read = reads.find(({ streams }) => streams === 1)
    const dots = peaks.filter(({ peak }) => DOTS_OF.relaxed.includes(peak))
    if (read === undefined || dots.length === 0) return
    const limit: LimitSample = {
      readGigabytesPerSecond: read.gigabytesPerSecond.median,
      dotGigaopsPerSecond: Math.max(...dots.map(({ gigaopsPerSecond }) => gigaopsPerSecond.median)),
    }
    this.results = { ...this.results, limits: [...this.results.limits, limit] }
  }

  #timedCells(): TimedCell[] {
    return this.#players.flatMap(({ kind, warm }) =>
      this.#cells(kind).map((cell) => ({ ...cell, seconds: this.#secondsOf(cell, warm) })),
    )
  }

  /** The time of the slowest round so far, or before the first, the estimate from the warm-up. */
  #secondsOf({ engine, prompt, decode }: Cell, warm: WarmUp): number {
    const ms = this.results.samples
      .filter((sample) => sample.engine === engine && sample.prompt === prompt)
      .map(({ prefillMs, decodeMs }) => prefillMs + decodeMs)
    if (ms.length > 0) return Math.max(...ms) / 1000
    return prompt / warm.prefillRate + decode / warm.decodeRate
  }

  #cells(kind: EngineKind): Cell[] {
    return cellsOf(kind, this.#order.limits, (engine, prompt) => this.#count(engine, prompt))
  }

  #count(engine: EngineName, prompt: number): number {
    return this.results.samples.filter((sample) => sample.engine === engine && sample.prompt === prompt)
      .length
  }

  #secondsLeft(): number {
    return (this.#until - performance.now()) / 1000
  }

  #record(name: EngineName, change: Partial<EngineRecord>): void {
    const { version = '', fingerprint = '' } = this.#identities.get(name) ?? {}
    const blank: EngineRecord = { version, fingerprint, loadMs: [], memoryBytes: [] }
    const engines = {
      ...this.results.engines,
      [name]: { ...blank, ...this.results.engines[name], ...change },
    }
    this.results = { ...this.results, engines }
  }

  #fail(name: EngineName, error: unknown): void {
    const failure = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
    this.#record(name, { failure })
    this.#say(`${name}: ${failure}`)
  }

  /** Continues without this engine. */
  async #drop(name: EngineName, failure?: string): Promise<void> {
    if (failure !== undefined) this.#fail(name, new Error(failure))
    const index = this.#players.findIndex(({ kind }) => kind.name === name)
    const [player] = index < 0 ? [] : this.#players.splice(index, 1)
    await player?.runner.close()
  }

  #say(text: string): void {
    console.log(`${this.#order.shape.name} ${this.#order.threads}T ${text}`)
  }
}
