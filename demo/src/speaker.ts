// The speaker. In: an engine and a conversation. Out: the answer, from an engine state that is kept between turns.
import type { Engine, GenerateOptions, Generation, Message, Session } from '../../src/index.ts'
import { firstThatFits } from './context-window.ts'
import type { StoredMessage } from './conversations.ts'
import type { Settings } from './settings.ts'

interface Place {
  readonly conversation: string
  readonly system: string
}

/** One engine's voice. It follows one conversation at a time and reads another from its beginning. */
export class Speaker {
  readonly #engine: Engine
  #session: Session | undefined
  #place: Place | undefined
  /** First message that the model still sees. */
  #first = 0

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
    const session = this.#sessionFor({ conversation, system: settings.system })
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

  /** Frees the state of the conversation. */
  forget(): void {
    // An engine that is gone holds no state, and a failure to free it shows at the next answer.
    this.#session?.dispose().catch(() => undefined)
    this.#session = undefined
    this.#place = undefined
    this.#first = 0
  }

  #sessionFor(place: Place): Session {
    const isSame = this.#place?.conversation === place.conversation && this.#place.system === place.system
    if (this.#session !== undefined && isSame) return this.#session
    this.forget()
    this.#place = place
    this.#session = this.#engine.createSession({ ...(place.system !== '' && { system: place.system }) })
    return this.#session
  }
}

const systemMessage = (content: string): readonly Message[] =>
  content === '' ? [] : [{ role: 'system', content }]

function generateOptions(settings: Settings): GenerateOptions {
  const { temperature, topK, topP, minP, repeatPenalty, maxTokens, seed } = settings
  return { temperature, topK, topP, minP, repeatPenalty, maxTokens, ...(seed !== undefined && { seed }) }
}
