// The chat. In: user actions. Out: its state, and three events: `change` when that state changes, `grow` when
// only the answer got longer, `progress` when only loading advanced.
import { type Engine, isHalfbyteError, makeRoom, type Smaller } from '../../../src/index.ts'
import { GrowthSaver } from '../../../src/ui/chat/growth-saver.ts'
import type { ModelChoice } from '../models/embedded.ts'
import { explain } from '../models/explain.ts'
import { ModelSlot } from '../models/model-slot.ts'
import { choiceKey, choiceName } from '../models/models.ts'
import { keepForOffline, nameBuild } from '../shell/offline.ts'
import { type Change, keepForModel, modelSettings, sorted } from '../shell/own-settings.ts'
import { Parts } from '../shell/parts.ts'
import { readSettings, type Settings, sameEngineSettings, writeSettings } from '../shell/settings.ts'
import { nextTask } from '../shell/tasks.ts'
import { addressedId } from './address.ts'
import type { AnswerPage, Figures } from './answer.ts'
import { Conversations, unkeep } from './conversations.ts'
import type { Speaker } from './speech/speaker.ts'
import {
  type Conversation,
  isSaid,
  type Said,
  type StoredMessage,
  withMessages,
} from './store/conversations.ts'
import { FILES, startChoice } from './store/remember.ts'
import { type Asked, again, asked, continued, edited } from './store/versions.ts'

/** Number of answers whose figures are kept. */
const MAX_FIGURES = 12
/** The code for answers, which loads when the first message is written. */
const ANSWER = () => import('./answer.ts')

type Answered = Omit<StoredMessage, 'role'>

interface Growing {
  readonly conversation: Conversation
  /** The messages to keep if no answer comes. */
  readonly left: readonly StoredMessage[]
  /** True if they are stored. */
  readonly isStored: boolean
}

/** The chat of one page: a model, its settings, its conversations. */
export class Chat extends Conversations {
  readonly model = new ModelSlot(
    () => this.changed(),
    () => this.dispatchEvent(new Event('progress')),
  )
  /** Parts of the page's code that are loaded later. */
  readonly parts = new Parts(() => this.changed())
  /** True once the stored conversations have been read. */
  isOpen = false
  /** The figures of the model's last answers, oldest first. */
  history: readonly Figures[] = []
  /** Linear memory of the engine. */
  memoryBytes: number | undefined
  /** Name of the model file used on the last visit. */
  lost: string | undefined
  /** Reopens that file; undefined if the browser cannot. */
  openLost: (() => Promise<void>) | undefined
  /**
   * Called with the length of the streaming answer. The engine continues after the returned promise resolves.
   */
  room: (letters: number) => Promise<void> | undefined = () => undefined

  #page: Settings = readSettings()
  /** The engine that answers, and its speaker, which exists from the first answer on. */
  #engine: Engine | undefined
  #speaker: Speaker | undefined
  #answered: Promise<void> = Promise.resolve()
  /** Resolves once no answer needs the engine. */
  #spoken: Promise<void> = Promise.resolve()
  #stopping = new AbortController()
  /** The streaming answer, and the stored part of its conversation without it. */
  #growing: Growing | undefined
  readonly #saver = new GrowthSaver(() => {
    if (this.#growing === undefined) return
    const { conversation, left, isStored } = this.#growing
    this.store.draft(conversation, left, isStored)
  })

  /** The settings for the next answer of the open conversation. */
  get settings(): Settings {
    return this.#settingsOf(this.conversation)
  }

  /** True if a change to instructions, tools or sampling applies only to the open conversation. */
  get hasOwn(): boolean {
    return this.conversation.messages.length > 0 || this.conversation.settings !== undefined
  }

  /** True if conversations are stored on this device. */
  get keeps(): boolean {
    return !this.store.isRefused
  }

  get answered(): Promise<void> {
    return this.#answered
  }

  /** True while a question can be asked: a model is ready, or soon will be. */
  get canAsk(): boolean {
    return this.model.engine !== undefined || this.model.phase.name === 'loading'
  }

  /** True if a changed setting requires reloading the model. */
  get needsReload(): boolean {
    const { used } = this.model
    return used !== undefined && !sameEngineSettings(used.settings, this.settings)
  }

  constructor() {
    super()
    this.model.idle = () => this.#spoken
    window.addEventListener('online', () => {
      const { phase, choice } = this.model
      if (phase.name === 'failed' && phase.isOffline) void this.load(choice)
    })
  }

  /** Restores the conversation in the page's address, or the newest one, and the last model. */
  async start(): Promise<void> {
    nameBuild()
    const { choice, crashed, lost } = await startChoice()
    if (crashed) void this.model.hesitate(choice, this.settings)
    else void this.load(choice)
    this.lost = lost
    if (lost !== undefined) void this.#findLost().catch(() => undefined)
    await this.store.open()
    this.isOpen = true
    const first = this.store.find(addressedId()) ?? this.conversations[0]
    if (first !== undefined && this.conversation.messages.length === 0) this.conversation = first
    this.changed()
  }

  /**
   * Replaces the loaded model, which keeps answering until the new one is ready. `unasked`: loads it even if
   * it does not seem to fit. `isKept`: whether its files are stored on this device.
   */
  async load(choice: ModelChoice, unasked = false, isKept?: boolean): Promise<void> {
    this.problem = undefined
    this.lost = undefined
    await this.model.load(choice, this.settings, unasked, isKept)
    const { engine } = this.model
    if (engine === undefined || engine === this.#engine) return
    this.#engine = engine
    this.#speaker = undefined
    this.figures = undefined
    this.hasSpoken = false
    this.history = []
    this.memoryBytes = undefined
    this.changed()
    await this.#weigh(engine)
  }

  /** Opens the last visit's file, immediately if the browser need not ask. */
  async #findLost(): Promise<void> {
    const kept = await (await FILES()).keptFiles()
    if (kept === undefined) return
    this.openLost = async () => {
      const files = await kept.open()
      this.openLost = undefined
      this.changed()
      if (files !== undefined) await this.load({ kind: 'files', files })
    }
    if (kept.isGranted) await this.openLost()
    else this.changed()
  }

  async reload(): Promise<void> {
    await this.load(this.model.choice, true)
  }

  /** Loads the chosen model without storing it. */
  async loadUnkept(): Promise<void> {
    await this.load(this.model.choice, true, false)
  }

  /** Loads the model that did not fit, with settings that make it fit. */
  async loadSmaller({ contextLength, kvCache, weights }: Smaller): Promise<void> {
    this.configure({
      ...this.settings,
      ...(contextLength !== undefined && { contextLength }),
      ...(kvCache !== undefined && { memory: 'int8' as const }),
      ...(weights !== undefined && { weights }),
    })
    await this.reload()
  }

  /** Removes stored models, least recently used first, until `bytes` are free, and loads again. */
  async makeRoom(bytes: number): Promise<void> {
    await unkeep()
    await makeRoom(bytes)
    await this.reload()
  }

  async send(said: Said): Promise<void> {
    await this.#answer((messages) => asked([...messages, { role: 'user', ...said }]))
  }

  /**
   * Replaces message `index` with `said` and answers it; the earlier message and what followed it are kept as
   * a version.
   */
  async resend(index: number, said: Said): Promise<void> {
    await this.#answer((messages) => asked(edited(messages, index, said)))
  }

  /** Answers the last question again. The earlier answer is kept as a version. */
  async regenerate(): Promise<void> {
    await this.#answer(again)
  }

  /**
   * Loads another model to answer the last question again, unless the user sends something else
   * meanwhile.
   */
  async askOther(choice: ModelChoice): Promise<void> {
    const { messages } = this.conversation
    await this.load(choice)
    if (this.model.used?.choice === choice && this.conversation.messages === messages) await this.regenerate()
  }

  /** Continues the last answer, which was cut off. */
  async goOn(): Promise<void> {
    await this.#answer(continued)
  }

  stop(): void {
    this.#stopping.abort()
  }

  /** Dismisses the current notice about an answer, or about the last visit's file. */
  understand(): void {
    this.problem = undefined
    this.lost = undefined
    this.changed()
  }

  /** Changes settings: those of the conversation, or the defaults for new ones. */
  configure(settings: Settings): void {
    const { conversation } = this
    const model = choiceKey(this.model.shown)
    const before: Change = { page: this.#page, model: modelSettings(model), own: conversation.settings }
    const after = sorted(before, this.settings, settings, this.hasOwn)
    this.#page = after.page
    writeSettings(after.page)
    keepForModel(model, after.model)
    if (after.own !== before.own) void this.adapt(after.own)
    this.changed()
  }

  /** Saves this conversation's settings as the defaults for new ones. */
  useForNew(): void {
    const none: Change = { page: this.#page, model: {}, own: undefined }
    const { page, model } = sorted(none, this.#page, this.settings, false)
    this.#page = page
    writeSettings(this.#page)
    keepForModel(choiceKey(this.model.shown), model)
    this.changed()
  }

  #settingsOf({ settings }: Conversation): Settings {
    return { ...this.#page, ...modelSettings(choiceKey(this.model.shown)), ...settings }
  }

  /** Saves the unfinished answer, or the model's state if there is none. */
  save(): void {
    if (this.isAnswering) this.#saver.flush()
    else this.#speaker?.keepNow()
  }

  /** Loads the code for answers when a question is likely to follow soon. */
  prepare(): void {
    void this.parts.load(ANSWER)
  }

  protected async forget(id: string): Promise<void> {
    await this.#speaker?.drop(id)
  }

  /**
   * `change` derives the messages to answer from the current ones, including any that another tab has
   * added.
   */
  async #answer(change: (messages: readonly StoredMessage[]) => Asked): Promise<void> {
    // From its first message on, a conversation keeps its initial instructions and tools.
    const { system, tools } = this.settings
    const isFirst = this.conversation.messages.length === 0
    const settings = { system, tools, ...this.conversation.settings }
    const before = isFirst ? { ...this.conversation, settings } : this.conversation
    let turn = change(before.messages)
    let conversation = withMessages(before, turn.messages)
    if (this.isAnswering || !this.canAsk || conversation.messages.length === 0) return
    const stopping = new AbortController()
    this.#stopping = stopping
    this.problem = undefined
    this.lost = undefined
    this.isAnswering = true
    const answered = Promise.withResolvers<void>()
    this.#answered = answered.promise
    const grow = () => {
      // When an answer is regenerated or continued, its question is already stored.
      this.#growing = {
        conversation,
        left: turn.unanswered,
        isStored: turn.unanswered !== turn.messages,
      }
      this.#grow(conversation, {
        content: '',
        ...turn.begun,
        model: choiceName(this.model.shown),
        ...turn.versions,
      })
    }
    grow()
    this.changed()
    try {
      // The page shows the user's message when this task ends.
      await nextTask()
      await this.store.alone(before.id, stopping.signal, async () => {
        const known = (await this.store.newest(before.id)) ?? before
        turn = change(known.messages)
        conversation = withMessages(known, turn.messages)
        // The answer need not wait until the question is stored.
        const stored = this.store.put(withMessages(conversation, turn.unanswered)).then(() => {
          if (this.#growing !== undefined) this.#growing = { ...this.#growing, isStored: true }
        })
        grow()
        const said = await this.#say(conversation, turn, stopping.signal)
        await stored
        this.#endGrowth()
        const isAnswered = said !== undefined && isSaid(said)
        const messages: readonly StoredMessage[] = isAnswered
          ? [...conversation.messages, { role: 'assistant', ...said }]
          : turn.unanswered
        // Another tab may continue only once this turn is stored.
        conversation = await this.store.put(withMessages(conversation, messages))
      })
    } catch (error) {
      this.#endGrowth()
      conversation = withMessages(conversation, turn.unanswered)
      // Stopped while another tab was answering, or before a model was loaded: the question stays.
      if (stopping.signal.aborted) conversation = await this.store.put(conversation)
      else this.#fail(error)
    }
    if (this.conversation.id === before.id) this.conversation = conversation
    this.isAnswering = false
    this.hasSpoken = true
    answered.resolve()
    this.changed()
    void keepForOffline()
    this.#speaker?.keepSoon()
    if (this.model.engine !== undefined) await this.#weigh(this.model.engine)
  }

  /**
   * The page's own answer, or that of the model, which may still be loading; undefined if neither can
   * answer.
   */
  async #say(conversation: Conversation, turn: Asked, stop: AbortSignal): Promise<Answered | undefined> {
    if (!(await this.parts.load(ANSWER))) return undefined
    const { ownAnswer, speakAnswer, Speaker, trainingOf } = await ANSWER()
    const own = ownAnswer(conversation.messages, trainingOf(this.model.shown), this.#settingsOf(conversation))
    if (own !== undefined) {
      this.#grow(conversation, { ...own, ...turn.versions })
      return { ...own, ...turn.versions }
    }
    const engine = await this.#engineSoon(stop)
    if (engine === undefined) return undefined
    if (this.#speaker?.engine !== engine) this.#speaker = new Speaker(engine, trainingOf(this.model.shown))
    const speaker = this.#speaker
    const spoken = Promise.withResolvers<void>()
    this.#spoken = spoken.promise
    try {
      const growing = { model: choiceName(this.model.shown), ...turn.versions }
      const page = this.#pageFor(engine, conversation, growing)
      const said = await speakAnswer(
        speaker,
        conversation,
        turn.begun,
        this.#settingsOf(conversation),
        stop,
        page,
      )
      return { ...growing, ...said }
    } finally {
      spoken.resolve()
    }
  }

  /** The engine in use, or the one that is loading; undefined if that fails. */
  async #engineSoon(stop: AbortSignal): Promise<Engine | undefined> {
    for (;;) {
      stop.throwIfAborted()
      const { engine, phase } = this.model
      if (engine !== undefined && engine === this.#engine) return engine
      if (engine === undefined && phase.name !== 'loading') return undefined
      const changed = Promise.withResolvers<unknown>()
      this.addEventListener('change', changed.resolve, { once: true })
      stop.addEventListener('abort', changed.resolve, { once: true })
      await changed.promise
    }
  }

  #pageFor(
    engine: Engine,
    conversation: Conversation,
    growing: Omit<StoredMessage, 'role' | 'content'>,
  ): AnswerPage {
    return {
      grow: (answer) => this.#grow(conversation, { ...growing, ...answer }),
      room: (letters) => this.room(letters),
      measured: (figures) => {
        this.figures = figures
        this.history = [...this.history, figures].slice(-MAX_FIGURES)
      },
      // If another model was chosen meanwhile, the old engine's failure does not matter.
      failed: (error) => {
        if (this.model.engine === engine) this.#fail(error)
      },
    }
  }

  /** Unsaved text is saved as a draft: the page may close before the answer is stored. */
  #endGrowth(): void {
    this.#saver.flush()
    this.#saver.end()
    this.#growing = undefined
  }

  #fail(error: unknown): void {
    const isOver = isHalfbyteError(error) && (error.code === 'internal' || error.code === 'disposed')
    if (isOver) this.model.fail(error)
    else this.problem = explain(error)
  }

  /** Shows an unfinished answer, already marked as interrupted in case the page closes. */
  #grow(conversation: Conversation, said: Omit<StoredMessage, 'role'>): void {
    const answer: StoredMessage = { role: 'assistant', ...said, ending: 'interrupted' }
    const grown = { ...conversation, messages: [...conversation.messages, answer] }
    if (this.#growing !== undefined) {
      this.#growing = { ...this.#growing, conversation: grown }
      this.#saver.grown()
    }
    if (this.conversation.id !== conversation.id) return
    this.conversation = grown
    this.dispatchEvent(new Event('grow'))
  }

  async #weigh(engine: Engine): Promise<void> {
    try {
      const { totalBytes } = await engine.memory()
      if (this.model.engine !== engine) return
      this.memoryBytes = totalBytes
      this.changed()
    } catch (error) {
      if (this.model.engine === engine) this.#fail(error)
    }
  }
}
