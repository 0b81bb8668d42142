// Revealing. In: a conversation whose answer grows, and how long frames take. Out: as much of it as a frame can show in time.
import type { Conversation } from './conversations.ts'

/** What a frame may take of the page's own thread, in milliseconds: half of what counts as a long task. */
const FRAME_MS = 25
/** Letters that the first frame adds. */
const FIRST = 48
/** And each other one at least: frames cost more than letters, and a page that is starved must not fall ever further behind. */
const LEAST = 96
/** The same of an answer that was stopped: the person waits for its end. */
const LEAST_OF_REST = 400

/** An engine may be faster than a page can lay out: what is more than fits a frame waits for the next ones. */
export class Reveal {
  /** The answer that grows, as its conversation and place. */
  #answer: string | undefined
  /** Letters of it that are shown, and those that a frame may add. */
  #shown = 0
  #step = FIRST
  #least = LEAST

  /** True while there is more than is shown. */
  isBehind = false

  /** True while the rest of an answer that was stopped is wanted soon. */
  get isEnding(): boolean {
    return this.#least > LEAST
  }

  /** The conversation as it is shown. An answer that is not the growing one is shown whole. */
  cut(conversation: Conversation): Conversation {
    const { messages } = conversation
    const last = messages.at(-1)
    const answer = `${conversation.id} ${messages.length}`
    if (last?.role === 'assistant' && last.content === '') {
      this.#answer = answer
      this.#shown = 0
      if (this.isEnding) this.#step = FIRST
      this.#least = LEAST
    }
    this.isBehind = false
    if (last === undefined || answer !== this.#answer) return conversation
    this.#shown = Math.min(this.#shown, last.content.length)
    this.isBehind = this.#shown < last.content.length
    if (!this.isBehind) return conversation
    return {
      ...conversation,
      messages: [...messages.slice(0, -1), { ...last, content: beginning(last.content, this.#shown) }],
    }
  }

  /** The next frame may show more. */
  advance(): void {
    this.#shown += this.#step
  }

  /** The frame took so long, from its start until the page was idle again. */
  took(ms: number): void {
    if (ms > FRAME_MS) this.#step = Math.max(this.#least, Math.floor((this.#step * FRAME_MS) / ms))
    else if (this.isBehind) this.#step = Math.ceil(this.#step * 1.25)
  }

  /** The next frames show what there is in larger steps. */
  finish(): void {
    this.#least = LEAST_OF_REST
    this.#step = Math.max(this.#least, this.#step)
  }
}

/** Never half of a letter that takes two units. */
function beginning(text: string, length: number): string {
  const isHalf = /[\uD800-\uDBFF]/.test(text.charAt(length - 1))
  return text.slice(0, isHalf ? length - 1 : length)
}
