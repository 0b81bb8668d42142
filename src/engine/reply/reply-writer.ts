// Writes one reply: decodes ids, splits off the thought and calls of tools, and sends the text in chunks.

import type { ReplyConstraint } from '../../core/constrain/written-grammar.ts'
import type { LogProbabilities } from '../../core/generate/sampler/candidates.ts'
import type { TokenAnswer } from '../../core/generate/schedule/generate-work.ts'
import { markTexts, type SplitText } from '../../core/text/chat/reasoning.ts'
import { stopMatcher } from '../../core/text/detokenizer.ts'
import type { LoadedModel, ModelText } from '../load/loaded-model.ts'
import type { ToolCall } from '../types/conversation.ts'
import type { TextChunk, TokenLogprobs } from '../types/reply.ts'
import type { Outlet } from '../wire/reply-stream.ts'
import type { ReplyReasoning } from './reply-reasoning.ts'
import type { ReplyToolCalls } from './reply-tool-calls.ts'
import { tokenLogprobs } from './token-logprobs.ts'

/** The limits of a reply: its constraint, its thought, its stop texts, and the calls that it may contain. */
interface ReplyLimits {
  readonly stop: readonly string[]
  readonly constraint: ReplyConstraint | undefined
  readonly reasoning: ReplyReasoning | undefined
  readonly calls: ReplyToolCalls | undefined
  /** The id before the reply, if the space that encoding adds after a special token is not part of it. */
  readonly after: number | undefined
}

/** Decodes ids, splits the thought off, holds back text that may become a stop text, and sends the rest. */
export class ReplyWriter {
  readonly tokens: number[] = []
  /** One entry per token, if requested. */
  readonly logprobs: TokenLogprobs[] | undefined
  /** The log-probabilities of the end-of-turn token, if requested. */
  endLogprobs: TokenLogprobs | undefined
  text = ''
  reasoning = ''
  /** Tokens up to the end of the thought. */
  reasoningTokens = 0
  /** True if the reply's text is exactly the text of its ids. Known once the reply has finished. */
  isWhole = false
  readonly #text: ModelText
  readonly #limits: ReplyLimits
  readonly #source: LogProbabilities | undefined
  readonly #outlet: Outlet
  readonly #marks: ReturnType<typeof markTexts> | undefined
  readonly #decoder: ReturnType<ModelText['detokenizer']>
  readonly #stops: ReturnType<typeof stopMatcher>
  /** Tokens since the last chunk. */
  #unsent = 0

  constructor(model: LoadedModel, limits: ReplyLimits, source: LogProbabilities | undefined, outlet: Outlet) {
    const { stop, reasoning, calls, after } = limits
    this.#text = model.text
    this.#limits = limits
    this.#source = source
    this.#outlet = outlet
    this.logprobs = source && []
    this.#marks = reasoning && markTexts(reasoning.form)
    this.#decoder = this.#text.detokenizer({ toolCalls: calls !== undefined, marks: this.#marks, after })
    this.#stops = stopMatcher(stop)
  }

  /** True if a thought has begun. */
  get hasThought(): boolean {
    return this.#limits.reasoning?.splitter.hasThought === true
  }

  /** False if the reply was cut off and does not satisfy its constraint. */
  get isComplete(): boolean {
    const { constraint } = this.#limits
    return constraint === undefined || (constraint.canEnd && this.#stops.matched === undefined)
  }

  /** Undefined if there are no tools. */
  get toolCalls(): readonly ToolCall[] | undefined {
    return this.#limits.calls?.found
  }

  // hot
  take(id: number): TokenAnswer {
    const { constraint, calls } = this.#limits
    this.tokens.push(id)
    this.#unsent += 1
    if (this.#source !== undefined) this.logprobs?.push(tokenLogprobs(this.#source, this.#text, id))
    const sent = this.#pass(this.#split(this.#decoder.push(id)))
    // If only the end may follow, no further token is requested.
    const isOver = this.#stops.matched !== undefined || constraint?.mustEnd === true || calls?.isFull === true
    return isOver ? 'stop' : sent
  }

  /** The end-of-turn token. */
  takeEnd(id: number): void {
    if (this.#source !== undefined) this.endLogprobs = tokenLogprobs(this.#source, this.#text, id)
  }

  /** Sends the held-back text, unless a stop text was found. An incomplete character is dropped. */
  finish(): void {
    const { reasoning, calls } = this.#limits
    this.#pass(reasoning?.splitter.finish() ?? { reasoning: '', text: '' })
    const isStopped = this.#stops.matched !== undefined
    const text = isStopped ? '' : this.#stops.flush()
    if (calls === undefined) this.#send('', text)
    else this.#send(calls.finishThought(), calls.push(text) + calls.finish())
    this.isWhole = !isStopped && this.#decoder.flush() === '' && (calls === undefined || this.#isPlain())
  }

  // hot
  #split(piece: string): SplitText {
    const splitter = this.#limits.reasoning?.splitter
    if (splitter === undefined) return { reasoning: '', text: piece }
    const before = splitter.phase
    const parts = splitter.push(piece)
    const isThinking = [before, splitter.phase].includes('thought')
    if (splitter.hasThought && (isThinking || parts.reasoning !== ''))
      this.reasoningTokens = this.tokens.length
    return parts
  }

  /** Stop texts end the answer, not the thought; calls are found in both. */
  #pass({ reasoning, text }: SplitText): Promise<void> | undefined {
    const { calls } = this.#limits
    const rest = this.#stops.push(text)
    if (calls === undefined) return this.#send(reasoning, rest)
    // Pieces of the thought come before the answer.
    const thoughtText = calls.think(reasoning) + (text === '' ? '' : calls.finishThought())
    return this.#send(thoughtText, calls.push(rest))
  }

  /** With tools, call marks are text. The next prompt quotes them, so their ids will differ. */
  #isPlain(): boolean {
    const { reasoning, calls, after } = this.#limits
    const plain = this.#text.detokenizer({ marks: this.#marks, after })
    const text = this.tokens.map((id) => plain.push(id)).join('') + plain.flush()
    return calls?.found.length === 0 && text === (reasoning?.splitter.whole((words) => words) ?? this.text)
  }

  #send(reasoning: string, text: string): Promise<void> | undefined {
    if (reasoning === '' && text === '') return undefined
    this.text += text
    this.reasoning += reasoning
    if (reasoning !== '' && text !== '') this.#sendChunk({ text: '', reasoning, tokens: 0 })
    return this.#sendChunk(text === '' ? { text, reasoning } : { text })
  }

  /** Tokens belong to the last chunk that they complete. */
  #sendChunk(part: Pick<TextChunk, 'text' | 'reasoning'> & { tokens?: 0 }): Promise<void> | undefined {
    const count = part.tokens ?? this.#unsent
    this.#unsent -= count
    return this.#outlet.send({
      ...part,
      tokens: count,
      ...(this.logprobs && { logprobs: this.logprobs.slice(this.logprobs.length - count) }),
    })
  }
}
