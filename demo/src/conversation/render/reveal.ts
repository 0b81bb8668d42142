// Revealing. In: a conversation with a streaming answer, and frame times. Out: as much of it as a frame can
// show in time.
import type { Conversation } from '../store/conversations.ts'
import { Pace } from './pace.ts'

/** Characters that the first frame adds, and the minimum for later ones. */
const FIRST = 48
const LEAST = 96
/** The minimum after a stop, when the user is waiting for the end. */
const LEAST_OF_REST = 192
/** How far, in frames, an answer may be ahead of the display before it waits. */
const AHEAD = 2

/** Limits how much of an answer each frame shows, because an engine may be faster than layout. */
export class Reveal {
  /** The streaming answer, as its conversation and index. */
  #answer: string | undefined
  /** Characters of it that are shown. */
  #shown = 0
  #pace = new Pace(FIRST, LEAST)
  /** Resumes the waiting answer. */
  #wake: (() => void) | undefined

  /** True while part of the answer is not shown yet. */
  isBehind = false

  /** True while the rest of a stopped answer is being shown. */
  get isEnding(): boolean {
    return this.#pace.least > LEAST
  }

  /** The conversation as displayed. Only the streaming answer is truncated. */
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

  /**
   * Resolves when the answer of `length` characters is no longer far ahead of the display; undefined if it is
   * not ahead.
   */
  room(length: number): Promise<void> | undefined {
    if (!this.isBehind || !this.#isAhead(length)) return undefined
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  /** Resumes an answer that waits for the display. */
  goOn(): void {
    this.#wake?.()
    this.#wake = undefined
  }

  /** The displayed last answer is about to be continued. */
  resume({ id, messages }: Conversation): void {
    this.#answer = `${id} ${messages.length}`
    this.#shown = messages.at(-1)?.content.length ?? 0
    this.#pace = new Pace(FIRST, LEAST)
  }

  /** Other versions of the answer do not stream: they are shown whole. */
  leave(): void {
    this.#answer = undefined
  }

  /** The next frame may show more. */
  advance(): void {
    this.#shown += this.#pace.letters
  }

  /** Call this with the duration of a frame, from its start until the page was idle again. */
  took(ms: number): void {
    this.#pace.took(ms, this.isBehind)
  }

  /** Shows the rest in larger steps. */
  finish(): void {
    this.#pace.least = LEAST_OF_REST
    this.#pace.letters = Math.max(LEAST_OF_REST, this.#pace.letters)
    this.goOn()
  }

  #isAhead(length: number): boolean {
    return length - this.#shown > AHEAD * this.#pace.letters
  }
}

/** Never splits a character that takes two UTF-16 units. */
function beginning(text: string, length: number): string {
  const isHalf = /[\uD800-\uDBFF]/.test(text.charAt(length - 1))
  return text.slice(0, isHalf ? length - 1 : length)
}
