// The speaker. In: an engine and a conversation. Out: the answer. The engine's state is preserved between
// turns and visits.
import {
  type Engine,
  type GenerateOptions,
  type Generation,
  isHalfbyteError,
  type Message,
  type RunnableTool,
  type Session,
} from '../../../../src/index.ts'
import { assistOffer, needsTool, type ToolWay, toolWay, withResult } from '../../../../src/ui/assist/index.ts'
import { PICTURE_PLACE, SerialQueue } from '../../../../src/ui/chat/library.ts'
import { IDLE_MS, isIdle, stopWhenHidden } from '../../../../src/ui/chat/reading/idle.ts'
import { readsDocuments } from '../../../../src/ui/documents/choose.ts'
import type { Training } from '../../models/training.ts'
import { replyOptions, type Settings } from '../../shell/settings.ts'
import { stepOfRun, TOOLS, TRAINED_TOOLS, type UsedTool, usedMessages } from '../../tools/tools.ts'
import {
  type Counter,
  checkFits,
  firstForNext,
  firstThatFits,
  leftOut,
  roomForAnswer,
} from '../context-window.ts'
import type { Picture } from '../files/attachments.ts'
import type { Read, StoredMessage } from '../store/conversations.ts'
import { keep, type Place, restoreKept } from '../store/kept.ts'
import type { Asked } from '../store/versions.ts'

/** Maximum replies of the model for one answer: three rounds of calls, and the answer. */
const MAX_STEPS = 4
/** Length of the sample from which characters per token are estimated. */
const SAMPLE = 4000

interface AnswerOptions {
  readonly begun: Asked['begun']
  /** What the model reads of the question's files. */
  readonly read: Read | undefined
  /** Steps whose results are added to the question. Default: those of `begun`. */
  readonly told?: readonly UsedTool[]
  readonly onPrefill: GenerateOptions['onPrefill']
}

/**
 * Follows one conversation at a time. Another one is restored from its stored state, or processed from its
 * beginning.
 */
export class Speaker {
  readonly engine: Engine
  /** True if the model can answer from documents. */
  readonly readsFiles: boolean
  /** True if the model can only tell stories and make small talk. */
  readonly isStoryteller: boolean
  /** True if the model was trained to use the page's tools. */
  readonly #knowsTools: boolean
  /** Addresses of the logit processors of each answer. */
  #processors: readonly string[]
  #session: Session | undefined
  #place: Place | undefined
  /** Index of the first message that the model still sees. */
  #first = 0
  /** Token counts of texts, so that each turn counts only new ones. */
  readonly #counted = new Map<string, number>()
  /** The settings of the last answer. */
  #settings: Settings | undefined
  #readingAhead = new AbortController()
  /** Set while there is unsaved state. */
  #waiting: ReturnType<typeof setTimeout> | undefined
  /** States are stored one at a time, and freed after that. */
  readonly #stateQueue = new SerialQueue()

  constructor(engine: Engine, { usesTools, processors, isStoryteller }: Training) {
    this.engine = engine
    this.isStoryteller = isStoryteller
    this.readsFiles = readsDocuments(engine.model.contextLength, !isStoryteller)
    this.#knowsTools = usesTools
    this.#processors = processors
  }

  /** Index of the first message that the last answer was based on. */
  get seenFrom(): number {
    return this.#first
  }

  get contextUsed(): number {
    return this.#session?.contextUsed ?? 0
  }

  /**
   * Answers the last message, or continues the answer that was `begun`. Messages that no longer fit in the
   * context are dropped, oldest first. Throws `context-overflow` if the last one alone is too long.
   */
  async answer(
    conversation: string,
    shownMessages: readonly StoredMessage[],
    settings: Settings,
    { begun, read, told = begun?.used ?? [], onPrefill }: AnswerOptions,
  ): Promise<Generation> {
    clearTimeout(this.#waiting)
    this.#readingAhead.abort()
    const messages = withResults(asRead(shownMessages, read), told)
    const tools = this.#toolsFor(settings, messages)
    const past = begun === undefined ? messages.slice(0, -1) : messages
    const session = await this.#sessionFor({ conversation, system: settings.system }, past)
    const answer: readonly StoredMessage[] = begun === undefined ? [] : [{ role: 'assistant', ...begun }]
    const shown = (message: StoredMessage) => this.#shown(message, tools)
    const questions = messages.flatMap(({ role }, index) => (role === 'user' ? [index] : []))
    const count: Counter = {
      from: (first) =>
        this.engine.countTokens([
          ...systemMessage(settings.system),
          ...[...messages.slice(first), ...answer].flatMap(shown),
        ]),
      text: (index) => this.#countText(messages[index]?.content ?? ''),
    }
    const contextLength = await this.#contextBeside(tools)
    // After an edit, dropped messages may fit again.
    const known = this.#first < messages.length ? this.#first : 0
    this.#first = await firstThatFits(known, questions, { ...settings, contextLength }, count)
    // The session would drop a part of the question.
    if (this.#first === questions.at(-1)) checkFits(await count.from(this.#first), contextLength)
    this.#settings = settings
    const seen = messages.slice(this.#first)
    const options = { ...this.#optionsFor(settings, tools), onPrefill }
    if (begun !== undefined) {
      const used = tools.length > 0 ? usedMessages(begun.used ?? []) : []
      session.setMessages([...seen.flatMap(shown), ...used])
      return session.regenerate({ ...options, prefix: begun.content })
    }
    session.setMessages(seen.slice(0, -1).flatMap(shown))
    return session.send(seen.slice(-1).flatMap(shown), options)
  }

  /**
   * A question or an answer as the model sees it: calls and results come before the answer. They are omitted
   * for a model without tools, which would imitate another model's calls, and images are omitted for a model
   * without vision.
   */
  #shown(message: StoredMessage, tools: readonly RunnableTool[]): readonly Message[] {
    const { role, used = [] } = message
    const pictures = this.#pictures(message)
    const content = this.#contentOf(message)
    const images = pictures.map(({ file }) => file)
    const calls = tools.length > 0 ? usedMessages(used.filter(({ id }) => !id.startsWith(TOLD))) : []
    return [...calls, { role, content, ...(images.length > 0 && { images }) }]
  }

  #pictures({ pictures = [] }: StoredMessage): readonly Picture[] {
    return this.engine.model.seesImages ? pictures : []
  }

  /** The text with a placeholder for each image, as in the session. */
  #contentOf(message: StoredMessage): string {
    return PICTURE_PLACE.repeat(this.#pictures(message).length) + message.content
  }

  /**
   * Roughly how many characters of a text like this the model can read in one message, leaving room for an
   * answer.
   */
  async readable(text: string, settings: Settings): Promise<number> {
    const sample = text.slice(0, SAMPLE)
    const contextLength = await this.#contextBeside(this.#toolsFor(settings, undefined))
    const frame = await this.engine.countTokens([
      ...systemMessage(settings.system),
      { role: 'user', content: '.' },
    ])
    const room = contextLength - frame - roomForAnswer({ ...settings, contextLength })
    return Math.max(0, (room * sample.length) / (await this.#countText(sample)))
  }

  /** True if a question fits in `share` of the context, leaving room for an answer. */
  async fits(question: StoredMessage, settings: Settings, share: number): Promise<boolean> {
    const tools = this.#toolsFor(settings, undefined)
    const contextLength = await this.#contextBeside(tools)
    const room = contextLength - roomForAnswer({ ...settings, contextLength })
    const system = systemMessage(settings.system)
    return (await this.engine.countTokens([...system, ...this.#shown(question, tools)])) <= room * share
  }

  /** Tokens of the context left by the tools. */
  async #contextBeside(tools: readonly RunnableTool[]): Promise<number> {
    const taken = tools.length === 0 ? 0 : await this.#countText(JSON.stringify(tools))
    return this.engine.model.contextLength - taken
  }

  /** True if the error is that a processor cannot be loaded: later answers then use none. */
  goesOnWithout(error: unknown): boolean {
    const isLost = isHalfbyteError(error) && error.code === 'network' && 'processor' in error.detail
    if (!isLost || this.#processors.length === 0) return false
    this.#processors = []
    return true
  }

  #optionsFor(settings: Settings, tools: readonly RunnableTool[]): GenerateOptions {
    const sampling = replyOptions(settings, this.engine.model.sampling)
    return { ...sampling, tools, maxSteps: MAX_STEPS, processors: this.#processors }
  }

  /**
   * The tools that the model's template describes. Once a message has needed one they stay, so that the
   * conversation is read again only once. Without `messages`: as if one needed them.
   */
  #toolsFor(
    settings: Settings,
    messages: readonly Pick<Message, 'role' | 'content'>[] | undefined,
  ): readonly RunnableTool[] {
    const way = this.#wayOf(settings)
    // The tools in the words of its training, without labels, which would also take up room in its small
    // context.
    if (way === 'trained') return TRAINED_TOOLS.map(({ execute: _, label: __, ...tool }) => tool)
    const isNeeded = messages?.some(({ role, content }) => role === 'user' && needsTool(content)) ?? true
    return way === 'template' && isNeeded ? TOOLS : []
  }

  #wayOf({ tools }: Settings): ToolWay | 'trained' {
    if (tools === 'off') return 'none'
    return this.#knowsTools ? 'trained' : toolWay(this.engine.model)
  }

  /** Whether `call` asks the model for the last message's call. */
  choosesCall(messages: readonly StoredMessage[], settings: Settings): boolean {
    return this.#wayOf(settings) === 'chosen' && needsTool(messages.at(-1)?.content ?? '')
  }

  /** The call that the last message needs, as an executed step; undefined if it needs none. */
  async call(
    messages: readonly StoredMessage[],
    settings: Settings,
    signal: AbortSignal,
  ): Promise<UsedTool | undefined> {
    if (!this.choosesCall(messages, settings)) return undefined
    const question = messages.at(-1)?.content ?? ''
    // Without a call, for example because its code does not load, the model answers alone.
    const { told } = await assistOffer(this.engine, question, { tools: TOOLS, signal }).catch(() => ({
      told: undefined,
    }))
    return told && { ...stepOfRun(told.run), id: `${TOLD}${messages.length}` }
  }

  async #countText(text: string): Promise<number> {
    const known = this.#counted.get(text)
    if (known !== undefined) return known
    const { length } = await this.engine.tokenize(text)
    this.#counted.set(text, length)
    return length
  }

  /** Stores the state for the next visit after a short idle time. */
  keepSoon(): void {
    clearTimeout(this.#waiting)
    this.#waiting = setTimeout(() => {
      this.keepNow()
      void this.#readAhead().catch(() => undefined)
    }, IDLE_MS)
  }

  /**
   * If the next question would hardly fit, drops the oldest messages now. Models that cannot move their state
   * then read the others again while nothing else happens. If this fails, the next answer does it.
   */
  async #readAhead(): Promise<void> {
    const session = this.#session
    const settings = this.#settings
    if (session === undefined || settings === undefined) return
    this.#readingAhead.abort()
    this.#readingAhead = new AbortController()
    const { signal } = this.#readingAhead
    const { messages } = session
    const tools = this.#toolsFor(settings, messages)
    const window = { ...settings, contextLength: await this.#contextBeside(tools) }
    const count: Counter = {
      from: (first) => this.engine.countTokens([...systemMessage(settings.system), ...messages.slice(first)]),
      text: (index) => this.#countText(messages[index]?.content ?? ''),
    }
    const first = await firstForNext(messages, window, count)
    if (first === 0 || !(await isIdle()) || signal.aborted || session !== this.#session) return
    stopWhenHidden(this.#readingAhead)
    this.#first += messages.slice(0, first).filter(isTurn).length
    session.setMessages(messages.slice(first))
    await session.prefill({ tools, signal })
  }

  /** Stores the state at once. */
  keepNow(): void {
    const session = this.#session
    const place = this.#place
    this.#readingAhead.abort()
    if (this.#waiting === undefined || session === undefined || place === undefined) return
    clearTimeout(this.#waiting)
    this.#waiting = undefined
    // If storing fails, the conversation is processed again.
    this.#stateQueue.run(() => keep(this.engine, session, place)).catch(() => undefined)
  }

  /** Forgets a removed conversation. Resolves when nothing of it will be stored any more. */
  async drop(conversation: string): Promise<void> {
    if (this.#place?.conversation === conversation) this.#forget()
    await this.#stateQueue.settled()
  }

  /** Frees the conversation's state. */
  #forget(): void {
    this.#readingAhead.abort()
    clearTimeout(this.#waiting)
    this.#waiting = undefined
    const session = this.#session
    // A dead engine has no state. If freeing fails, the next answer reports it.
    void this.#stateQueue.run(() => session?.dispose()).catch(() => undefined)
    this.#session = undefined
    this.#place = undefined
    this.#first = 0
  }

  /** `past`: the messages before the one to answer. */
  async #sessionFor(place: Place, past: readonly StoredMessage[]): Promise<Session> {
    const isSame = this.#place?.conversation === place.conversation && this.#place.system === place.system
    if (this.#session !== undefined && isSame) return this.#session
    this.keepNow()
    this.#forget()
    const kept = past.length > 0 ? await restoreKept(this.engine, place) : undefined
    this.#place = place
    this.#session =
      kept ??
      this.engine.createSession({ ...(place.system !== '' && { system: place.system }), overflow: 'shift' })
    // Messages dropped before stay dropped. The stored state may be older than the conversation.
    const held = (kept?.messages ?? []).filter(isTurn).map(({ content }) => content)
    const texts = past.map((message) => this.#contentOf(message))
    this.#first = leftOut(held, texts)
    return this.#session
  }
}

const systemMessage = (content: string): readonly Message[] =>
  content === '' ? [] : [{ role: 'system', content }]

/**
 * The messages, with long files replaced by the passages that the model read; `last`: those of the last
 * question.
 */
const asRead = (messages: readonly StoredMessage[], last?: Read): readonly StoredMessage[] =>
  messages.map((message, index) => {
    const read = index === messages.length - 1 ? last : messages[index + 1]?.read
    const isOther = message.role === 'user' && read !== undefined && 'text' in read
    return isOther ? { ...message, content: read.text } : message
  })

/** The prefix of the ids of steps whose results are given with the question. */
const TOLD = 'told'

/**
 * The messages, with results added to the questions that they belong to; `last`: those of the last question.
 */
const withResults = (
  messages: readonly StoredMessage[],
  last: readonly UsedTool[],
): readonly StoredMessage[] =>
  messages.map((message, index) => {
    if (message.role !== 'user') return message
    const used = index === messages.length - 1 ? last : (messages[index + 1]?.used ?? [])
    const told = used.filter(({ id, state }) => id.startsWith(TOLD) && state !== 'failed')
    const content = told.reduce((text, step) => withResult(text, step, step.result), message.content)
    return { ...message, content }
  })

/** False for calls and results, which are parts of the answer that follows. */
const isTurn = ({ role, toolCalls = [] }: Message): boolean => role !== 'tool' && toolCalls.length === 0
