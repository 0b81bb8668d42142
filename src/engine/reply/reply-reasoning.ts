// Splits a reply into thought and answer, and applies its constraint to the answer only.
import type { ReplyConstraint, TokenConstraint } from '../../core/constrain/written-grammar.ts'
import {
  beginningAfter,
  type ReasoningForm,
  type ReasoningSplitter,
  reasoningSplitter,
} from '../../core/text/chat/reasoning.ts'
import type { LoadedModel } from '../load/loaded-model.ts'
import type { DecodeOptions } from '../types/reply.ts'
import type { Prompt } from '../wire/protocol.ts'

export interface ReplyReasoning {
  readonly form: ReasoningForm
  readonly splitter: ReasoningSplitter
}

/**
 * Undefined if nothing is split because no marks are known or the caller turned it off. `text` is the
 * prompt's.
 */
export function openReasoning(
  model: LoadedModel,
  prompt: Prompt,
  text: string,
  { reasoning: named }: DecodeOptions,
  hasConstraint: boolean,
): ReplyReasoning | undefined {
  const found = model.text.reasoning
  const isFound = named === undefined || (named !== false && named.open === found?.open)
  const form = isFound ? (prompt.type !== 'messages' && named === undefined ? undefined : found) : named
  if (form === undefined || form === false) return undefined
  const { isAssumed = false, isImplied = false }: ReasoningForm = form
  // A constraint applies from the start of the reply, unless the model is known to think first.
  if (isAssumed && named === undefined && hasConstraint) return undefined
  const { prefix = '', reasoningPrefix = '' } = prompt.type === 'messages' ? prompt : {}
  // In the prompt, only the model's own marks enclose a thought.
  const isContinued = reasoningPrefix !== '' && prefix.trim() === '' && isFound && !isAssumed
  const beginning = isContinued ? 'continued' : beginningAfter(text, form, prefix)
  return {
    form,
    splitter: reasoningSplitter(form, isImplied && beginning === 'start' ? 'thought' : beginning),
  }
}

/**
 * The constraint on a whole reply, with `constraint` for its answer and at most `maxReasoningTokens` for its
 * thought. The splitter must have read every token before the next one is picked.
 */
export function aroundThought(
  model: LoadedModel,
  { form, splitter }: ReplyReasoning,
  constraint: TokenConstraint | undefined,
  maxReasoningTokens = Number.POSITIVE_INFINITY,
): ReplyConstraint | undefined {
  if (constraint === undefined && maxReasoningTokens === Number.POSITIVE_INFINITY) return constraint
  return new ThoughtConstraint(model, { form, splitter }, constraint, maxReasoningTokens)
}

/** Whitespace that models write between a thought and an answer. */
const GAPS = ['\n\n', '\n']

class ThoughtConstraint implements ReplyConstraint {
  readonly #model: LoadedModel
  readonly #form: ReasoningForm
  readonly #splitter: ReasoningSplitter
  readonly #most: number
  readonly #openIds: readonly number[]
  readonly #closeIds: readonly number[]
  readonly #gapIds: readonly number[]
  /** The constraint on the answer, and a copy of it at its beginning. */
  #answer: TokenConstraint | undefined
  readonly #fresh: TokenConstraint | undefined
  /** Whether the reply so far may be an answer, and whether it may open a thought. */
  #mayAnswer = true
  #mayOpen = true
  /** Number of tokens of the opening mark, of the thought, and of its forced end. */
  #opened = 0
  #thought = 0
  #forced = 0
  /** True from the end of a thought to the first token after it. */
  #isAfterThought = false
  readonly #words: Uint32Array
  readonly #free: Uint32Array
  /** Ids that end the thought and begin the answer, by how much of the closing mark has been written. */
  #straddling: readonly (readonly number[])[] | undefined

  constructor(
    model: LoadedModel,
    { form, splitter }: ReplyReasoning,
    constraint: TokenConstraint | undefined,
    most: number,
  ) {
    const idsOf = (text: string) => model.text.encode(text, false)
    this.#model = model
    this.#form = form
    this.#splitter = splitter
    this.#most = most
    this.#answer = constraint
    this.#fresh = constraint?.copy()
    this.#openIds = idsOf(form.open)
    this.#closeIds = idsOf(form.close)
    this.#gapIds = form.isHarmony ? [] : GAPS.map(idsOf).flatMap((ids) => (ids.length === 1 ? ids : []))
    const { vocab } = model.logitRows
    this.#words = new Uint32Array(Math.ceil(vocab / 32))
    this.#free = new Uint32Array(this.#words.length)
    for (let id = 0; id < vocab; id++) allow(this.#free, id)
    // A thought is not the constrained answer, so it does not end the reply.
    if (constraint !== undefined) for (const id of model.text.endIds) if (id < vocab) forbid(this.#free, id)
  }

  mask(): Uint32Array {
    // hot
    const answer = this.#answer
    switch (this.#splitter.phase) {
      case 'thought':
        return this.#thoughtMask()
      case 'start':
        if (answer === undefined) return this.#free
        this.#words.fill(0)
        if (this.#mayAnswer) this.#words.set(answer.mask())
        if (this.#mayOpen) allow(this.#words, this.#openIds[this.#opened]!)
        return this.#words
      case 'answer':
        if (answer === undefined) return this.#free
        if (!this.#isAfterThought) return answer.mask()
        this.#words.set(answer.mask())
        for (const id of this.#gapIds) allow(this.#words, id)
        return this.#words
    }
  }

  #thoughtMask(): Uint32Array {
    this.#isAfterThought = true
    this.#answer = this.#fresh
    const forced = this.#isCut ? this.#closeIds[this.#forced] : undefined
    const { closing } = this.#splitter
    if (forced === undefined && (closing === 0 || this.#answer === undefined)) return this.#free
    if (forced === undefined) {
      this.#words.set(this.#free)
      for (const id of this.#straddlingAt(closing)) forbid(this.#words, id)
    } else {
      this.#words.fill(0)
      allow(this.#words, forced)
    }
    return this.#words
  }

  /** Ids whose text completes the mark after its first `length` characters and continues with more text. */
  #straddlingAt(length: number): readonly number[] {
    if (this.#straddling === undefined) {
      const { close } = this.#form
      const found: number[][] = Array.from(close, () => [])
      for (let id = 0; id < this.#model.logitRows.vocab; id++) {
        const text = this.#model.text.tokenText(id)
        for (let at = 1; at < close.length; at++) {
          const rest = close.slice(at)
          if (text.startsWith(rest) && text.slice(rest.length).trim() !== '') found[at]?.push(id)
        }
      }
      this.#straddling = found
    }
    return this.#straddling[length] ?? []
  }

  accept(id: number): void {
    // hot
    const { phase } = this.#splitter
    if (phase === 'thought') {
      if (this.#isCut) this.#forced++
      this.#thought++
      return
    }
    if (phase === 'answer') {
      const isGap =
        this.#isAfterThought &&
        this.#gapIds.includes(id) &&
        !(this.#answer && allows(this.#answer.mask(), id))
      this.#isAfterThought = false
      if (!isGap) this.#answer?.accept(id)
      return
    }
    this.#mayOpen &&= this.#openIds[this.#opened++] === id && this.#opened < this.#openIds.length
    if (this.#answer === undefined) return
    this.#mayAnswer &&= allows(this.#answer.mask(), id)
    if (this.#mayAnswer) this.#answer.accept(id)
  }

  expectedIds(): readonly number[] {
    // hot
    const { phase } = this.#splitter
    if (phase === 'thought') return this.#isCut ? this.#closeIds.slice(this.#forced) : []
    const isFree = phase === 'answer' ? this.#isAfterThought : this.#mayOpen || !this.#mayAnswer
    return isFree ? [] : (this.#answer?.expectedIds() ?? [])
  }

  /** Whether the thought has reached its limit. */
  get #isCut(): boolean {
    return this.#thought >= this.#most
  }

  get canEnd(): boolean {
    if (this.#answer === undefined) return true
    return this.#isInAnswer && this.#answer.canEnd
  }

  get mustEnd(): boolean {
    return this.#isInAnswer && this.#answer?.mustEnd === true
  }

  get #isInAnswer(): boolean {
    return this.#splitter.phase === 'answer' || (this.#splitter.phase === 'start' && this.#mayAnswer)
  }
}

function allow(words: Uint32Array, id: number): void {
  words[id >> 5] = words[id >> 5]! | (1 << (id & 31))
}

function forbid(words: Uint32Array, id: number): void {
  words[id >> 5] = words[id >> 5]! & ~(1 << (id & 31))
}

const allows = (words: Uint32Array, id: number): boolean => ((words[id >> 5]! >>> (id & 31)) & 1) === 1
