// The speaker. In: an engine and a conversation. Out: the answer, from an engine state that is kept between turns and visits.
import type { Engine, GenerateOptions, Generation, Message, Session } from '../../../src/index.ts'
import type { Settings } from '../shell/settings.ts'
import { firstThatFits } from './context-window.ts'
import type { StoredMessage } from './conversations.ts'
import { keep, type Place, restoreKept } from './kept.ts'

/** How long nothing was said before a conversation is kept, in milliseconds: it may be many megabytes. */
const IDLE = 1500

/** One engine's voice. It follows one conversation at a time; another is taken from what is kept of it, or read from its beginning. */
export class Speaker {
  readonly #engine: Engine
  #session: Session | undefined
  #place: Place | undefined
  /** First message that the model still sees. */
  #first = 0
  /** Set while something was said that is not kept. */
  #waiting: ReturnType<typeof setTimeout> | undefined
  /** Resolves when nothing is being kept. */
  #keeping: Promise<void> = Promise.resolve()

  constructor(engine: Engine) {
    this.#engine = engine
  }

  get contextUsed(): number {
    return this.#session?.contextUsed ?? 0
  }

  /** Answers the last message. What no longer fits the context is left out, oldest first. */
  async answer(
    conversation: string,
    messages: readonly StoredMessage[],
    settings: Settings,
  ): Promise<Generation> {
    clearTimeout(this.#waiting)
    const session = await this.#sessionFor({ conversation, system: settings.system }, messages.length - 1)
    const questions = messages.flatMap(({ role }, index) => (role === 'user' ? [index] : []))
    const countFrom = (first: number) =>
      this.#engine.countTokens([...systemMessage(settings.system), ...messages.slice(first)])
    const { contextLength } = this.#engine.model
    // After an edit, what was dropped may fit again.
    const known = this.#first < messages.length ? this.#first : 0
    this.#first = await firstThatFits(known, questions, { ...settings, contextLength }, countFrom)
    const seen = messages.slice(this.#first)
    session.setMessages(seen.slice(0, -1))
    return session.send(seen.at(-1)?.content ?? '', generateOptions(settings))
  }

  /** Keeps what was said for the next visit, once nothing more is said for a while. */
  keepSoon(): void {
    clearTimeout(this.#waiting)
    this.#waiting = setTimeout(() => this.keepNow(), IDLE)
  }

  /** The same at once. */
  keepNow(): void {
    const [session, place] = [this.#session, this.#place]
    if (this.#waiting === undefined || session === undefined || place === undefined) return
    clearTimeout(this.#waiting)
    this.#waiting = undefined
    // What cannot be kept is read again.
    const work = () => keep(this.#engine, session, place).catch(() => undefined)
    this.#keeping = this.#keeping.then(work)
  }

  /** The conversation is gone: resolves when nothing of it will be kept any more. */
  async drop(conversation: string): Promise<void> {
    if (this.#place?.conversation === conversation) this.#forget()
    await this.#keeping
  }

  /** Frees the state of the conversation. */
  #forget(): void {
    clearTimeout(this.#waiting)
    this.#waiting = undefined
    const session = this.#session
    // An engine that is gone holds no state, and a failure to free it shows at the next answer.
    void this.#keeping.then(() => session?.dispose()).catch(() => undefined)
    this.#session = undefined
    this.#place = undefined
    this.#first = 0
  }

  /** `past`: messages before the one to answer. */
  async #sessionFor(place: Place, past: number): Promise<Session> {
    const isSame = this.#place?.conversation === place.conversation && this.#place.system === place.system
    if (this.#session !== undefined && isSame) return this.#session
    this.keepNow()
    this.#forget()
    const kept = past > 0 ? await restoreKept(this.#engine, place) : undefined
    this.#place = place
    this.#session =
      kept ?? this.#engine.createSession({ ...(place.system !== '' && { system: place.system }) })
    // What was left out of it stays out.
    this.#first = kept === undefined ? 0 : Math.max(0, past - kept.messages.length)
    return this.#session
  }
}

const systemMessage = (content: string): readonly Message[] =>
  content === '' ? [] : [{ role: 'system', content }]

function generateOptions(settings: Settings): GenerateOptions {
  const { temperature, topK, topP, minP, repeatPenalty, maxTokens, seed } = settings
  return { temperature, topK, topP, minP, repeatPenalty, maxTokens, ...(seed !== undefined && { seed }) }
}
