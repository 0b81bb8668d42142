// The chat. In: what the person does. Out: its state, and three events: `change` when that state changes,
// `grow` when only the answer got longer, `progress` when only loading advanced.
import { type Engine, isHalfbyteError, makeRoom, type Smaller } from '../../../src/index.ts'
import type { ModelChoice } from '../models/embedded.ts'
import { type Explained, explain } from '../models/explain.ts'
import { ModelSlot } from '../models/model-slot.ts'
import { choiceName, usesTools } from '../models/models.ts'
import { keepForOffline, nameBuild } from '../shell/offline.ts'
import { readSettings, type Settings, sameEngineSettings, writeSettings } from '../shell/settings.ts'
import { nextTask } from '../shell/tasks.ts'
import { type AnswerPage, type Figures, speakAnswer } from './answer.ts'
import { Speaker } from './speaker.ts'
import { ConversationStore } from './store/conversation-store.ts'
import {
  type Conversation,
  newConversation,
  renamed,
  type StoredMessage,
  withMessages,
} from './store/conversations.ts'
import { unkeep } from './store/kept.ts'
import { startChoice } from './store/remember.ts'
import { type Asked, again, asked, continued, edited, forked, turned } from './store/versions.ts'

/** Answers whose figures are kept. */
const MOST_FIGURES = 12

/** The chat of one page: a model, its settings, its conversations. */
export class Chat extends EventTarget {
  readonly model = new ModelSlot(
    () => this.#changed(),
    () => this.dispatchEvent(new Event('progress')),
  )
  settings: Settings = readSettings()
  conversation: Conversation = newConversation()
  isAnswering = false
  /** True once the stored conversations were read. */
  isOpen = false
  figures: Figures | undefined
  /** Those of the model's last answers, oldest first. */
  history: readonly Figures[] = []
  /** Linear memory of the engine. */
  memoryBytes: number | undefined
  /** The last error in an answer. */
  problem: Explained | undefined
  /** Name of the file that answered at the last visit and cannot be opened again. */
  lost: string | undefined
  /**
   * Called with the length of the growing answer. The engine continues after the returned promise resolves.
   */
  room: (letters: number) => Promise<void> | undefined = () => undefined

  readonly #store = new ConversationStore()
  /** Parts of the page's code that could not be had. */
  readonly #missing = new Set<() => Promise<unknown>>()
  #speaker: Speaker | undefined
  #answered: Promise<void> = Promise.resolve()
  #stopping = new AbortController()

  /** Resolves when nothing is being answered. */
  get answered(): Promise<void> {
    return this.#answered
  }

  /** True when a part of the page's code could not be had, such as after an update. */
  get lacksPart(): boolean {
    return this.#missing.size > 0
  }

  /** Newest first. */
  get conversations(): readonly Conversation[] {
    return this.#store.all
  }

  /** The conversation that was removed last, which can be brought back. */
  get removed(): Conversation | undefined {
    return this.#store.removed
  }

  /** True when a changed setting needs a reload of the model. */
  get needsReload(): boolean {
    const { used } = this.model
    return used !== undefined && !sameEngineSettings(used.settings, this.settings)
  }

  constructor() {
    super()
    this.model.idle = () => this.#answered
    this.#store.changedElsewhere = (id, conversation) => this.#follow(id, conversation)
  }

  /** Brings back the newest conversation and the last model. */
  async start(): Promise<void> {
    nameBuild()
    const { choice, crashed, lost } = await startChoice()
    if (crashed) void this.model.hesitate(choice, this.settings)
    else void this.load(choice)
    this.lost = lost
    await this.#store.open()
    this.isOpen = true
    const newest = this.conversations[0]
    if (newest !== undefined && this.conversation.messages.length === 0) this.conversation = newest
    this.#changed()
  }

  /**
   * Replaces the loaded model, which answers until the new one can. `unasked`: loads it even if it does not
   * seem to fit.
   */
  async load(choice: ModelChoice, unasked = false): Promise<void> {
    this.problem = undefined
    this.lost = undefined
    await this.model.load(choice, this.settings, unasked)
    const { engine } = this.model
    if (engine === undefined || engine === this.#speaker?.engine) return
    this.#speaker = new Speaker(engine, usesTools(this.model.shown))
    this.figures = undefined
    this.history = []
    this.memoryBytes = undefined
    this.#changed()
    await this.#weigh(engine)
  }

  async reload(): Promise<void> {
    await this.load(this.model.choice, true)
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

  async send(text: string): Promise<void> {
    await this.#answer((messages) => asked([...messages, { role: 'user', content: text }]))
  }

  /**
   * Replaces message `index` with `text` and answers it; what followed the earlier one is kept as a version.
   */
  async resend(index: number, text: string): Promise<void> {
    await this.#answer((messages) => asked(edited(messages, index, text)))
  }

  /** Shows the next newer or older version of message `index`. */
  async turn(index: number, step: 1 | -1): Promise<void> {
    if (this.isAnswering) return
    const turnedTo = withMessages(this.conversation, turned(this.conversation.messages, index, step))
    this.conversation = turnedTo
    this.figures = undefined
    this.#changed()
    const stored = await this.#store.put(turnedTo)
    if (this.conversation === turnedTo) this.conversation = stored
    this.#changed()
  }

  /** Answers the last question again. The earlier answer is kept as a version. */
  async regenerate(): Promise<void> {
    await this.#answer(again)
  }

  /** Goes on with the last answer, which was cut short. */
  async goOn(): Promise<void> {
    await this.#answer(continued)
  }

  /** Goes on from message `index` in a conversation of its own. */
  async fork(index: number): Promise<void> {
    if (this.isAnswering) return
    const fork = forked(this.conversation, index)
    this.#show(fork)
    await this.#store.put(fork)
    this.#changed()
  }

  stop(): void {
    this.#stopping.abort()
  }

  fresh(): void {
    if (this.conversation.messages.length > 0) this.#show(newConversation())
  }

  open(id: string): void {
    const conversation = this.#store.find(id)
    if (conversation !== undefined && id !== this.conversation.id) this.#show(conversation)
  }

  /** Gives a conversation a title. If it is being answered, this waits for the answer's end. */
  async rename(id: string, title: string): Promise<void> {
    if (id === this.conversation.id) await this.#answered
    const conversation = this.#store.find(id)
    if (conversation === undefined) return
    const stored = this.#store.put(renamed(conversation, title))
    if (id === this.conversation.id) this.conversation = renamed(this.conversation, title)
    this.#changed()
    await stored
  }

  /** Stores conversations of a file. One whose id is taken gets another. */
  async add(conversations: readonly Conversation[]): Promise<void> {
    await this.#store.add(conversations)
    this.#changed()
  }

  async remove(id: string): Promise<void> {
    const gone = this.#store.remove(id)
    if (id === this.conversation.id) this.fresh()
    this.#changed()
    await gone
    await this.#speaker?.drop(id)
    await unkeep(id)
  }

  /** Brings back what was removed last. */
  async restore(): Promise<void> {
    const stored = this.#store.restore()
    this.#changed()
    await stored
  }

  /** Takes note of what the page says about the last visit's file. */
  understand(): void {
    this.lost = undefined
    this.#changed()
  }

  /** Loads a part of the page's code; false if it could not be had, which the page then says. */
  async part(load: () => Promise<unknown>): Promise<boolean> {
    try {
      await load()
      if (this.#missing.delete(load)) this.#changed()
      return true
    } catch {
      this.#missing.add(load)
      this.#changed()
      return false
    }
  }

  configure(settings: Settings): void {
    this.settings = settings
    writeSettings(settings)
    this.#changed()
  }

  /** Saves the unfinished answer, or the model's state if there is none. */
  save(): void {
    if (this.isAnswering) this.#saveDraft()
    else this.#speaker?.keepNow()
  }

  /** `change` makes the messages to answer from those that there are, also if another tab has added some. */
  async #answer(change: (messages: readonly StoredMessage[]) => Asked): Promise<void> {
    const { engine } = this.model
    const speaker = this.#speaker
    const before = this.conversation
    let turn = change(before.messages)
    let home = withMessages(before, turn.messages)
    if (engine === undefined || speaker === undefined || this.isAnswering || home.messages.length === 0)
      return
    const stopping = new AbortController()
    this.#stopping = stopping
    this.problem = undefined
    this.lost = undefined
    this.isAnswering = true
    const answered = Promise.withResolvers<void>()
    this.#answered = answered.promise
    const model = choiceName(this.model.shown)
    this.#grow(home, { content: '', ...turn.begun, model, ...turn.versions })
    this.#changed()
    try {
      // When this task ends, the page shows the person's message.
      await nextTask()
      await this.#store.alone(before.id, stopping.signal, async () => {
        const known = (await this.#store.newest(before.id)) ?? before
        turn = change(known.messages)
        home = withMessages(known, turn.messages)
        const growing = { model, ...turn.versions }
        // The answer need not wait until the question is stored.
        const stored = this.#store.put(withMessages(home, turn.unanswered))
        this.#grow(home, { content: '', ...turn.begun, ...growing })
        const page = this.#pageFor(engine, home, growing)
        const said = await speakAnswer(speaker, home, turn.begun, this.settings, stopping.signal, page)
        await stored
        const answer: StoredMessage = { role: 'assistant', ...growing, ...said }
        // Another tab may go on only when this turn is there for it to read.
        home = await this.#store.put(
          withMessages(home, said.content === '' ? turn.unanswered : [...home.messages, answer]),
        )
      })
    } catch (error) {
      home = withMessages(home, turn.unanswered)
      // Stopped while another tab was answering here: the question stays.
      if (stopping.signal.aborted) home = await this.#store.put(home)
      else this.#fail(error)
    }
    if (this.conversation.id === before.id) this.conversation = home
    this.isAnswering = false
    answered.resolve()
    this.#changed()
    void keepForOffline()
    if (this.#speaker === speaker) speaker.keepSoon()
    if (this.model.engine === engine) await this.#weigh(engine)
  }

  #pageFor(engine: Engine, home: Conversation, growing: Omit<StoredMessage, 'role' | 'content'>): AnswerPage {
    return {
      grow: (answer) => this.#grow(home, { ...growing, ...answer }),
      save: () => this.#saveDraft(),
      room: (letters) => this.room(letters),
      measured: (figures) => {
        this.figures = figures
        this.history = [...this.history, figures].slice(-MOST_FIGURES)
      },
      // If another model was chosen meanwhile, the old engine's failure does not matter.
      failed: (error) => {
        if (this.model.engine === engine) this.#fail(error)
      },
    }
  }

  /** Saves the conversation with its unfinished answer. */
  #saveDraft(): void {
    const { messages } = this.conversation
    const last = messages.at(-1)
    // What is stored still has the earlier versions of the answer.
    if (last?.content === '' && last.others !== undefined) return
    const said = messages.filter(({ content }) => content !== '')
    if (said.length > 0) void this.#store.put(withMessages(this.conversation, said))
  }

  #fail(error: unknown): void {
    const isOver = isHalfbyteError(error) && (error.code === 'internal' || error.code === 'disposed')
    if (isOver) this.model.fail(error)
    else this.problem = explain(error)
  }

  /** Shows an unfinished answer, already marked as interrupted in case the page closes. */
  #grow(home: Conversation, said: Omit<StoredMessage, 'role'>): void {
    if (this.conversation.id !== home.id) return
    const answer: StoredMessage = { role: 'assistant', ...said, ending: 'interrupted' }
    this.conversation = { ...home, messages: [...home.messages, answer] }
    this.dispatchEvent(new Event('grow'))
  }

  /** Shows what another tab has done. */
  #follow(id: string, conversation: Conversation | undefined): void {
    if (id === this.conversation.id) {
      if (conversation === undefined) this.#show(newConversation())
      else if (!this.isAnswering) this.conversation = conversation
    }
    this.#changed()
  }

  async #weigh(engine: Engine): Promise<void> {
    try {
      const { totalBytes } = await engine.memory()
      if (this.model.engine !== engine) return
      this.memoryBytes = totalBytes
      this.#changed()
    } catch (error) {
      if (this.model.engine === engine) this.#fail(error)
    }
  }

  #show(conversation: Conversation): void {
    this.stop()
    this.conversation = conversation
    this.problem = undefined
    this.figures = undefined
    this.#changed()
  }

  #changed(): void {
    this.dispatchEvent(new Event('change'))
  }
}
