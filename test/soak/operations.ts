// Random operations on the conversations of an engine, as a page might perform them, with a list of
// unexpected failures.
import { type ErrorCode, isHalfbyteError } from '../../src/core/base/errors.ts'
import { unstoreSession } from '../../src/core/store/device/stored-sessions.ts'
import type { Engine } from '../../src/engine/api/engine.ts'
import type { GenerateOptions, Generation, Session } from '../../src/engine/api/types.ts'
import type { Random } from '../helpers/random.ts'
import type { SoakModel } from './models.ts'

const MAX_SESSIONS = 5
const MAX_FILES = 3

/**
 * Expected errors: an abort was requested, the context or the state is full, or the conversation has ended.
 */
const ASKED_FOR: ReadonlySet<ErrorCode> = new Set(['context-overflow', 'out-of-memory', 'disposed'])
const NOTHING_TO_DO =
  /nothing to answer|while a generation runs|no session is stored here|index (is )?\S+ .*below|was disposed/

class Enough extends Error {}

type Operation = readonly [name: string, work: () => Promise<unknown>]

let made = 0

/** One engine's conversations. */
export class Operations {
  /** How often each operation ran. */
  readonly counts: Record<string, number> = {}
  /** How often each expected error occurred. */
  readonly refusals: Record<string, number> = {}
  /** Unexpected failures. */
  readonly failures: string[] = []
  readonly #engine: Engine
  readonly #random: Random
  readonly #model: Pick<SoakModel, 'words' | 'constraints'>
  readonly #table: readonly Operation[]
  #left = 0
  readonly #sessions: Session[] = []
  /** A separate file per engine, because a worker may complete a file after the caller has aborted it. */
  readonly #names: readonly string[]
  readonly #files: Blob[] = []

  /** `without`: operations to leave out. */
  constructor(
    engine: Engine,
    random: Random,
    model: Pick<SoakModel, 'words' | 'constraints'>,
    without: readonly string[] = [],
  ) {
    this.#engine = engine
    this.#random = random
    this.#model = model
    this.#names = ['trip', 'notes', 'other'].map((name) => `${name} ${made}`)
    made++
    this.#table = this.#every.filter(([name]) => !without.includes(name))
  }

  /** Runs `count` operations, up to `lanes` concurrently. Their errors are never thrown. */
  async perform(count: number, lanes: number): Promise<void> {
    this.#left = count
    const lane = async () => {
      while (this.#left-- > 0) await this.#one()
    }
    await Promise.all(Array.from({ length: lanes }, lane))
  }

  /** Starts no new operations. Running ones continue. */
  stop(): void {
    this.#left = 0
  }

  /** Closes every conversation and removes the files. */
  async end(): Promise<void> {
    this.#files.length = 0
    await Promise.all(this.#sessions.splice(0).map((session) => session.dispose()))
    for (const name of this.#names) await unstoreSession(name)
  }

  async #one(): Promise<void> {
    const [name, work] = this.#random.pick(this.#table)
    this.counts[name] = (this.counts[name] ?? 0) + 1
    try {
      await work()
    } catch (error) {
      const why = refusalOf(error)
      if (why === undefined) this.failures.push(`${name}: ${describe(error)}`)
      else this.refusals[why] = (this.refusals[why] ?? 0) + 1
    }
  }

  /** Frequent operations are in the table several times. */
  readonly #every: readonly Operation[] = [
    ...Array<Operation>(8).fill(['send', () => this.#send()]),
    ...Array<Operation>(3).fill(['abort', () => this.#abort()]),
    ...Array<Operation>(2).fill(['close', () => this.#close()]),
    ['edit', () => this.#edit()],
    ['regenerate', () => this.#read(this.#session().regenerate(this.#options()))],
    ['fork', () => this.#fork()],
    ['setMessages', () => this.#setMessages()],
    ['save', () => this.#save()],
    ['restore', () => this.#restore()],
    ['store', () => this.#session().store(this.#random.pick(this.#names), { signal: this.#maybeSignal() })],
    ['restoreStored', () => this.#restoreStored()],
    ['complete', () => this.#read(this.#engine.complete(this.#words(), this.#options()))],
    ['constrain', () => this.#constrain()],
    ['embed', () => this.#engine.embed([this.#words(), this.#words()], { signal: this.#maybeSignal() })],
    [
      'score',
      () =>
        this.#engine.score(
          this.#words(),
          this.#model.words.slice(1, 3).map((word) => ` ${word}`),
          { signal: this.#maybeSignal() },
        ),
    ],
    ['scoreTokens', () => this.#engine.scoreTokens(this.#words(), { top: 2, signal: this.#maybeSignal() })],
    ['count', () => this.#engine.countTokens([{ role: 'user', content: this.#words() }])],
    ['tokenize', () => this.#thereAndBack()],
  ]

  #words(): string {
    const length = this.#random.between(1, this.#random.chance(0.1) ? 90 : 12)
    return Array.from({ length }, () => this.#random.pick(this.#model.words)).join(' ')
  }

  #session(): Session {
    const random = this.#random
    if (this.#sessions.length > 0 && !random.chance(0.15)) return random.pick(this.#sessions)
    return this.#keep(
      this.#engine.createSession({
        system: random.chance(0.5) ? this.#model.words.slice(0, 2).join(' ') : undefined,
        ...(random.chance(0.3) && { overflow: 'shift', keep: random.between(0, 8) }),
      }),
    )
  }

  /** Above the limit, disposes the oldest session, even a busy one. */
  #keep(session: Session): Session {
    this.#sessions.push(session)
    if (this.#sessions.length > MAX_SESSIONS) void this.#sessions.shift()?.dispose()
    return session
  }

  #options(): GenerateOptions {
    const random = this.#random
    return {
      maxTokens: random.between(1, 40),
      temperature: random.chance(0.5) ? 0 : 1,
      speculation: random.chance(0.5) ? 'off' : 'lookup',
      priority: random.chance(0.2) ? 'background' : 'foreground',
      ...(random.chance(0.1) && { cfgScale: 1.5, negativePrompt: this.#words() }),
      ...(random.chance(0.1) && { stop: ['e', this.#model.words[0] as string] }),
      ...(random.chance(0.1) && { repeatPenalty: 1.1, dryMultiplier: 0.8 }),
      ...(random.chance(0.1) && { mirostat: 2 }),
    }
  }

  /** A signal that aborts after a moment, or none. */
  #maybeSignal(): AbortSignal | undefined {
    return this.#random.chance(0.3) ? this.#signal() : undefined
  }

  #signal(): AbortSignal {
    const abort = new AbortController()
    const ms = this.#random.between(0, 12)
    if (ms === 0) abort.abort(new Enough())
    else setTimeout(() => abort.abort(new Enough()), ms)
    return abort.signal
  }

  async #read(generation: Generation): Promise<void> {
    const { text, tokens, finishReason } = await generation.result
    if (typeof text !== 'string' || (tokens.length === 0 && finishReason === 'length'))
      throw new Error(`a reply of ${tokens.length} tokens ended with ${finishReason}`)
  }

  #send(): Promise<void> {
    return this.#read(this.#session().send(this.#words(), this.#options()))
  }

  /** Ends a reply early: with a signal, with `cancel`, or by leaving the loop. */
  async #abort(): Promise<void> {
    const how = this.#random.below(3)
    const after = this.#random.between(0, 6)
    const signal = how === 0 ? this.#signal() : undefined
    const generation = this.#session().send(this.#words(), { ...this.#options(), maxTokens: 60, signal })
    let chunks = 0
    for await (const _ of generation) {
      if (how === 0 || ++chunks < after) continue
      if (how === 2) break
      generation.cancel('enough')
    }
    await generation.result
  }

  async #close(): Promise<void> {
    if (this.#sessions.length === 0) return
    const [session] = this.#sessions.splice(this.#random.below(this.#sessions.length), 1)
    await session?.dispose()
  }

  async #edit(): Promise<void> {
    const session = this.#session()
    const index = session.messages.findLastIndex(({ role }) => role === 'user')
    if (index >= 0) await this.#read(session.edit(index, this.#words(), this.#options()))
  }

  async #fork(): Promise<void> {
    this.#keep(await this.#session().fork({ signal: this.#maybeSignal() }))
  }

  async #setMessages(): Promise<void> {
    const session = this.#session()
    session.setMessages(session.messages.slice(0, 2 * this.#random.below(3)))
    await this.#read(session.send(this.#words(), this.#options()))
  }

  async #save(): Promise<void> {
    this.#files.push(await this.#session().save({ signal: this.#maybeSignal() }))
    if (this.#files.length > MAX_FILES) this.#files.shift()
  }

  async #restore(): Promise<void> {
    if (this.#files.length === 0) return
    const session = await this.#engine.restoreSession(this.#random.pick(this.#files), {
      signal: this.#maybeSignal(),
    })
    await this.#read(this.#keep(session).send(this.#words(), this.#options()))
  }

  async #restoreStored(): Promise<void> {
    const name = this.#random.pick(this.#names)
    if (this.#random.chance(0.2)) await unstoreSession(name)
    this.#keep(await this.#engine.restoreSession(name, { signal: this.#maybeSignal() }))
  }

  async #constrain(): Promise<void> {
    const constraint = this.#random.pick(this.#model.constraints)
    const generation = this.#session().send(this.#words(), { ...this.#options(), ...constraint })
    const { text, finishReason } = await generation.result
    const { choices } = constraint
    if (choices !== undefined && finishReason === 'stop' && !choices.includes(text))
      throw new Error(`${JSON.stringify(text)} is not one of the choices`)
  }

  async #thereAndBack(): Promise<void> {
    const text = this.#words()
    const ids = await this.#engine.tokenize(text)
    const back = await this.#engine.detokenize(ids)
    if (back !== text) throw new Error(`${JSON.stringify(text)} was decoded as ${JSON.stringify(back)}`)
  }
}

function refusalOf(error: unknown): string | undefined {
  if (error instanceof Enough) return 'aborted'
  if (!isHalfbyteError(error)) return undefined
  if (ASKED_FOR.has(error.code)) return error.code
  return error.code === 'unsupported' && NOTHING_TO_DO.test(error.message) ? 'nothing to do' : undefined
}

export const describe = (error: unknown): string =>
  isHalfbyteError(error) ? `${error.code}: ${error.message}` : String((error as Error)?.stack ?? error)
