// Opening. In: a conversation's messages, and how long frames take. Out: what each frame shows of them, from the end to the beginning.
import type { StoredMessage } from './conversations.ts'
import { Pace } from './pace.ts'

/** Letters that a frame adds at least; an answer that has no more is shown at once. */
const LEAST = 240
/** What a message costs beside its letters, in letters: its actions. */
const MESSAGE = 160
/** Reading may take so much of a frame, in milliseconds. */
const READ_MS = 8

/** How far a conversation that was opened is shown. */
export class Opening {
  readonly #messages: readonly StoredMessage[]
  readonly #pace = new Pace(LEAST, LEAST)
  /** The first message that is shown. */
  first: number
  /** Letters of its end that are shown. */
  #letters: number

  constructor(messages: readonly StoredMessage[]) {
    this.#messages = messages
    this.first = Math.max(0, messages.length - 1)
    this.#letters = this.#length > LEAST ? 0 : LEAST
  }

  get isWhole(): boolean {
    return this.first === 0 && !this.#isPart
  }

  /** Letters of a message's end that are shown. */
  tail(index: number): number {
    return index === this.first && this.#isPart ? this.#letters : Number.POSITIVE_INFINITY
  }

  /** The next frame shows more. `read` reads the message that is shown in part, for some milliseconds, and says whether it is done. */
  advance(read: (ms: number) => boolean): void {
    if (this.#isPart) {
      if (read(READ_MS)) this.#letters += this.#pace.letters
      return
    }
    let room = this.#pace.letters
    while (this.first > 0 && room > 0 && !this.#isPart) {
      this.first--
      this.#letters = Math.max(0, room - MESSAGE)
      room -= MESSAGE + this.#length
    }
  }

  /** A frame took so long. */
  took(ms: number): void {
    this.#pace.took(ms, !this.isWhole)
  }

  /** What the messages are now: one that has changed meanwhile is shown whole. */
  follow(messages: readonly StoredMessage[]): void {
    if (messages[this.first]?.content !== this.#messages[this.first]?.content)
      this.#letters = Number.POSITIVE_INFINITY
  }

  get #length(): number {
    return this.#messages[this.first]?.content.length ?? 0
  }

  /** Questions are one piece of text. */
  get #isPart(): boolean {
    return this.#messages[this.first]?.role === 'assistant' && this.#letters < this.#length
  }
}
