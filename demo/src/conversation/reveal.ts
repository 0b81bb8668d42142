// Revealing. In: a conversation whose answer grows, and how long frames take. Out: as much of it as a frame can show in time.
import type { Conversation } from './conversations.ts'
import { Pace } from './pace.ts'

/** Letters that the first frame adds, and each other one at least. */
const FIRST = 48
const LEAST = 96
/** The same of an answer that was stopped: the person waits for its end. */
const LEAST_OF_REST = 192
/** Frames that an answer may be ahead of what is shown before it waits. */
const AHEAD = 2

/** An engine may be faster than a page can lay out: what is more than fits a frame waits for the next ones. */
export class Reveal {
  /** The answer that grows, as its conversation and place. */
  #answer: string | undefined
  /** Letters of it that are shown. */
  #shown = 0
  #pace = new Pace(FIRST, LEAST)
  /** Lets the answer go on. */
  #wake: (() => void) | undefined

  /** True while there is more than is shown. */
  isBehind = false

  /** True while the rest of an answer that was stopped is wanted soon. */
  get isEnding(): boolean {
    return this.#pace.least > LEAST
  }

  /** The conversation as it is shown. An answer that is not the growing one is shown whole. */
  cut(conversation: Conversation): Conversation {
    const { messages } = conversation
    const last = messages.at(-1)
    const answer = `${conversation.id} ${messages.length}`
    if (last?.role === 'assistant' && last.content === '') {
      this.#answer = answer
      this.#shown = 0
      this.#pace = new Pace(this.isEnding ? FIRST : this.#pace.letters, LEAST)
    }
    this.isBehind = false
    if (last !== undefined && answer === this.#answer) {
      this.#shown = Math.min(this.#shown, last.content.length)
      this.isBehind = this.#shown < last.content.length
    }
    if (last === undefined || !this.isBehind) {
      this.goOn()
      return conversation
    }
    if (!this.#isAhead(last.content.length)) this.goOn()
    return {
      ...conversation,
      messages: [...messages.slice(0, -1), { ...last, content: beginning(last.content, this.#shown) }],
    }
  }

  /** Resolves when the answer, which has so many letters, is no longer far ahead of what is shown; undefined when it is not. */
  room(length: number): Promise<void> | undefined {
    if (!this.isBehind || !this.#isAhead(length)) return undefined
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  /** Whoever waits for room waits no longer. */
  goOn(): void {
    this.#wake?.()
    this.#wake = undefined
  }

  /** The next frame may show more. */
  advance(): void {
    this.#shown += this.#pace.letters
  }

  /** The frame took so long, from its start until the page was idle again. */
  took(ms: number): void {
    this.#pace.took(ms, this.isBehind)
  }

  /** The next frames show what there is in larger steps. */
  finish(): void {
    this.#pace.least = LEAST_OF_REST
    this.#pace.letters = Math.max(LEAST_OF_REST, this.#pace.letters)
    this.goOn()
  }

  #isAhead(length: number): boolean {
    return length - this.#shown > AHEAD * this.#pace.letters
  }
}

/** Never half of a letter that takes two units. */
function beginning(text: string, length: number): string {
  const isHalf = /[\uD800-\uDBFF]/.test(text.charAt(length - 1))
  return text.slice(0, isHalf ? length - 1 : length)
}
