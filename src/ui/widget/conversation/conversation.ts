// A conversation. In: questions, an engine, the page's reply settings. Out: the entries to show, as they
// grow.
import { HalfbyteError } from '../../../core/base/errors.ts'
import { SerialQueue } from '../../../core/base/time/serial-queue.ts'
import { memo } from '../../../core/base/values.ts'
import type { Engine } from '../../../engine/api/engine.ts'
import type {
  ToolRun as CoreToolRun,
  Generation,
  RunnableTool,
  SaidMessage,
  Session,
} from '../../../engine/api/types.ts'
import { beforeLoop } from '../../chat/loops.ts'
import { IDLE_MS, isIdle, stopWhenHidden } from '../../chat/reading/idle.ts'
import { whenLong } from '../../chat/reading/progress.ts'
import { readsDocuments } from '../../documents/choose.ts'
import { placeText } from '../../documents/place-text.ts'
import type { TextDocument } from '../../documents/read-file.ts'
import { fill } from '../../words/message.ts'
import type { Assist, Entry, EntryPicture, Passage, Settings, ToolRun, WidgetTools } from './entries.ts'
import { passagesFor } from './passages.ts'

/** Answers and tools that need no model, in a separate script. */
const ASSIST = () => import('../../assist/index.ts')
/** Share of the context that is free for the next question and its answer. */
const NEXT_SHARE = 0.25

/** What a user attaches to a question. */
export interface AskedFiles {
  readonly documents?: readonly TextDocument[]
  readonly pictures?: readonly EntryPicture[]
}

/** What is currently happening to an answer. */
type Activity =
  | { readonly name: 'answering' }
  | { readonly name: 'searching' | 'reading'; readonly done: number; readonly total: number }

interface OpenSession {
  readonly engine: Engine
  readonly system: string | undefined
  readonly it: Session
}

interface ConversationEvents {
  /** The entries or the activity changed. */
  onChange(): void
  /** An entry is complete. */
  onEntry(entry: Entry): void
  onToolRun(run: ToolRun): void
}

export class Conversation {
  #entries: readonly Entry[] = []
  #activity: Activity | undefined
  #error: unknown
  readonly #events: ConversationEvents
  #session: OpenSession | undefined
  #stop: AbortController | undefined
  #generation: Generation | undefined
  #readingAhead = new AbortController()
  #idle: ReturnType<typeof setTimeout> | undefined
  /** Pending answers, including those that are no longer awaited. */
  readonly #queue = new SerialQueue()

  constructor(events: ConversationEvents) {
    this.#events = events
  }

  get entries(): readonly Entry[] {
    return this.#entries
  }

  /** Undefined while nothing is being answered. */
  get activity(): Activity | undefined {
    return this.#activity
  }

  /** Why the last answer failed; undefined if it did not. */
  get error(): unknown {
    return this.#error
  }

  /** True if the last question has no answer, which `answer` then generates. */
  get isWaiting(): boolean {
    return this.#activity === undefined && this.#entries.at(-1)?.role === 'user'
  }

  /** Replaces the entries. Ends an answer in progress. */
  restore(entries: readonly Entry[]): void {
    this.#abandon()
    this.#entries = entries
    void this.#endSession()
    this.#events.onChange()
  }

  ask(question: string, { documents = [], pictures = [] }: AskedFiles = {}): void {
    const entry: Entry = {
      role: 'user',
      content: question,
      ...(documents.length > 0 && { documents }),
      ...(pictures.length > 0 && { pictures }),
    }
    this.#error = undefined
    this.#entries = [...this.#entries, entry]
    this.#events.onEntry(entry)
    this.#events.onChange()
  }

  /** Drops the last answer, so that its question can be answered again. */
  takeBack(): void {
    this.#abandon()
    const last = this.#entries.findLastIndex(({ role }) => role === 'user')
    this.#entries = this.#entries.slice(0, last + 1)
    this.#events.onChange()
  }

  /**
   * Answers the open question itself if it must not be left to a model. Resolves to whether it did; if not,
   * the caller shows what happens next. `assist`: which questions these are.
   */
  async answerAlone(assist: Assist): Promise<boolean> {
    const asked = this.#entries
    if (!this.isWaiting || assist === 'none') return false
    const activity: Activity = { name: 'answering' }
    this.#show(activity, asked)
    const question = asked.at(-1)?.content ?? ''
    // If the script for these answers cannot be loaded, the model answers.
    const own = await ownAnswer(question, assist).catch(() => undefined)
    if (this.#activity !== activity || this.#entries !== asked) return false
    // Not shown: between two activities, Send would be disabled and lose focus.
    this.#activity = undefined
    if (own === undefined) return false
    const entry: Entry = { role: 'assistant', content: own }
    this.#error = undefined
    this.#finish([...asked, entry])
    this.#events.onEntry(entry)
    return true
  }

  /**
   * Answers the open question. Resolves with the answer; undefined if it failed or there is no open
   * question.
   */
  async answer(engine: Engine, settings: Settings): Promise<Entry | undefined> {
    if (!this.isWaiting) return undefined
    this.#endReading()
    const stop = new AbortController()
    this.#stop = stop
    const question = this.#entries
    this.#error = undefined
    this.#show({ name: 'answering' }, [...question, { role: 'assistant', content: '' }])
    try {
      // A session answers one question at a time.
      const entry = await this.#queue.run(() => this.#reply(engine, settings, question, stop.signal))
      if (this.#stop !== stop) return undefined
      this.#finish([...question, entry])
      this.#events.onEntry(entry)
      this.#idle = setTimeout(() => void this.readAhead(engine, settings).catch(() => undefined), IDLE_MS)
      return entry
    } catch (error) {
      if (this.#stop !== stop) return undefined
      const partial = this.#entries.at(-1)
      const hasText = partial?.role === 'assistant' && partial.content !== ''
      if (stop.signal.aborted)
        this.#finish(hasText ? [...question, { ...partial, ending: 'stopped' }] : question)
      else {
        this.#error = error
        this.#finish(question)
      }
      return undefined
    }
  }

  /**
   * In idle time, drops the oldest messages if the next one would barely fit, and lets the model read what it
   * has not yet read in its final form: messages without their passages, or all remaining messages if their
   * state cannot be moved. The next answer interrupts this and does the rest.
   */
  async readAhead(engine: Engine, settings: Settings): Promise<void> {
    const session = this.#session
    if (this.#activity !== undefined || session?.engine !== engine || !(await isIdle())) return
    if (this.#activity !== undefined || session !== this.#session) return
    const { it } = await this.#sessionOf(engine, settings, this.#entries)
    this.#endReading()
    stopWhenHidden(this.#readingAhead)
    const room = Math.max(1, Math.floor(engine.model.contextLength * NEXT_SHARE))
    await it.prefill({ room, tools: toolsOf(settings), signal: this.#readingAhead.signal })
  }

  #endReading(): void {
    clearTimeout(this.#idle)
    this.#readingAhead.abort()
    this.#readingAhead = new AbortController()
  }

  /** Ends the answer in progress; its text so far is kept. */
  stop(): void {
    this.#generation?.cancel()
    this.#stop?.abort()
  }

  /** Ends everything except the engine. */
  async dispose(): Promise<void> {
    this.stop()
    await this.#endSession()
  }

  async #reply(
    engine: Engine,
    settings: Settings,
    asked: readonly Entry[],
    signal: AbortSignal,
  ): Promise<Entry> {
    const { content: question = '', documents, pictures = [] } = asked.at(-1) ?? {}
    if (documents !== undefined && !readsDocuments(engine.model.contextLength))
      return { role: 'assistant', content: settings.documentsUnread }
    checkSight(engine, pictures)
    const { it: session } = await this.#sessionOf(engine, settings, asked.slice(0, -1))
    const passages = await this.#passages(engine, settings, asked, signal)
    const toolRuns: ToolRun[] = []
    let text = ''
    let thoughts = ''
    const entry = (): Entry => ({
      role: 'assistant',
      content: text,
      ...(thoughts !== '' && { thoughts }),
      ...(passages.length > 0 && { passages }),
      ...(toolRuns.length > 0 && { toolRuns: [...toolRuns] }),
    })
    const show = () => {
      if (!signal.aborted) this.#show({ name: 'answering' }, [...asked, entry()])
    }
    const places = new Map<string, number>()
    const ran = (core: CoreToolRun) => {
      const run = shownRun(core, settings)
      toolRuns[memo(places, core.id, () => toolRuns.length)] = run
      this.#events.onToolRun(run)
    }
    const { tools, told } = await toolsFor(engine, question, settings.tools, signal)
    signal.throwIfAborted()
    if (told !== undefined) {
      ran(told.run)
      show()
    }
    const content = withPassages(told?.message ?? question, passages, settings)
    const { generateOptions } = settings
    const showReading = whenLong(({ tokens: done, total }) => {
      if (!signal.aborted) this.#show({ name: 'reading', done, total }, [...asked, entry()])
    })
    const generation = session.send(saidOf(engine, { role: 'user', content, pictures }), {
      ...generateOptions,
      tools,
      onPrefill: (progress) => {
        showReading(progress)
        return generateOptions.onPrefill?.(progress)
      },
    })
    this.#generation = generation
    for await (const { text: said, reasoning = '', toolRun } of generation) {
      text += said
      const loopAt = said === '' ? undefined : beforeLoop(text)
      if (loopAt !== undefined) {
        text = text.slice(0, loopAt).trimEnd()
        generation.cancel()
        return { ...entry(), ending: 'loop' }
      }
      thoughts += reasoning
      if (toolRun !== undefined) ran(toolRun)
      show()
    }
    const { text: whole, finishReason } = await generation.result
    text = whole.trimEnd()
    if (finishReason === 'cancelled') return { ...entry(), ending: 'stopped' }
    return finishReason === 'length' ? { ...entry(), ending: 'length' } : entry()
  }

  /**
   * The session, with `before` as its conversation: without the passages of earlier questions and without
   * calls, which would fill a small context.
   */
  async #sessionOf(engine: Engine, { system }: Settings, before: readonly Entry[]): Promise<OpenSession> {
    const old = this.#session
    if (old?.engine !== engine || old.system !== system) {
      await this.#endSession()
      this.#session = { engine, system, it: engine.createSession({ system, overflow: 'shift' }) }
    }
    const session = this.#session as OpenSession
    session.it.setMessages(before.map((entry) => saidOf(engine, entry)))
    return session
  }

  async #endSession(): Promise<void> {
    this.#endReading()
    const session = this.#session?.it
    this.#session = undefined
    await session?.dispose().catch(() => undefined)
  }

  async #passages(
    engine: Engine,
    settings: Settings,
    asked: readonly Entry[],
    signal: AbortSignal,
  ): Promise<readonly Passage[]> {
    const question = asked.at(-1)?.content ?? ''
    const mostTokens = engine.model.contextLength
    return passagesFor(asked, settings, {
      signal,
      fits: async (passages, share) =>
        (await engine.countTokens(withPassages(question, passages, settings))) <= share * mostTokens,
      onProgress: (done, total) => {
        if (!signal.aborted) this.#show({ name: 'searching', done, total }, this.#entries)
      },
    })
  }

  /** An answer in progress is discarded. */
  #abandon(): void {
    this.stop()
    this.#stop = undefined
    this.#activity = undefined
    this.#error = undefined
  }

  #finish(entries: readonly Entry[]): void {
    this.#stop = undefined
    this.#generation = undefined
    this.#show(undefined, entries)
  }

  #show(activity: Activity | undefined, entries: readonly Entry[]): void {
    this.#activity = activity
    this.#entries = entries
    this.#events.onChange()
  }
}

/** The tools offered with every question. */
const toolsOf = ({ tools }: Settings): readonly RunnableTool[] | undefined =>
  tools === 'assist' || tools.length === 0 ? undefined : tools

/** The text of an answer that needs no model. */
async function ownAnswer(question: string, assist: Assist): Promise<string | undefined> {
  const { careAnswer, exactAnswer } = await ASSIST()
  return (careAnswer(question) ?? (assist === 'all' ? exactAnswer(question) : undefined))?.text
}

/**
 * The tools to offer, or a call that was executed in advance, with the message that tells the model its
 * result.
 */
interface Offered {
  readonly tools?: readonly RunnableTool[] | undefined
  readonly told?: { readonly run: CoreToolRun; readonly message: string } | undefined
}

async function toolsFor(
  engine: Engine,
  question: string,
  tools: WidgetTools,
  signal: AbortSignal,
): Promise<Offered> {
  if (tools !== 'assist') return tools.length > 0 ? { tools } : {}
  // If the script of these tools cannot be loaded, the model answers alone.
  const assist = await ASSIST().catch(() => undefined)
  return (await assist?.assistOffer(engine, question, { signal })) ?? {}
}

/** Throws `unsupported` for pictures that the model cannot see. */
function checkSight({ model }: Engine, pictures: readonly EntryPicture[]): void {
  if (model.seesImages || pictures.length === 0) return
  const sentence = `${model.id} has no vision tower, so it cannot see pictures; load a vision model with its tower`
  throw new HalfbyteError('unsupported', sentence, { pictures: 'blind' })
}

/** A message for the model. Includes its pictures if they are still available and the model can see them. */
function saidOf({ model }: Engine, { role, content, pictures = [] }: Entry): SaidMessage {
  const images = model.seesImages ? pictures.flatMap(({ file }) => file ?? []) : []
  return { role, content, ...(images.length > 0 && { images }) }
}

function shownRun(run: CoreToolRun, { tools, toolLabels }: Settings): ToolRun {
  const { name, arguments: given, state, result } = run
  const labelled = tools === 'assist' ? toolLabels[name] : tools.find((tool) => tool.name === name)?.label
  const label = labelled ?? name
  return { name, label, arguments: given, state, ...(result !== undefined && { result }) }
}

function withPassages(question: string, passages: readonly Passage[], settings: Settings): string {
  if (passages.length === 0) return question
  const quoted = passages.map(({ title, text, place }, index) => {
    const where = place === undefined ? '' : placeText(place, settings.words, settings.language)
    const source = [title ?? '', where].filter((part) => part !== '').join(', ')
    return `[${index + 1}] ${source === '' ? '' : `${source}: `}${text}`
  })
  return fill(settings.passagesPrompt, { passages: quoted.join('\n\n'), question })
}
