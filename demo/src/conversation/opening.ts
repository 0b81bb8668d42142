// Opening. In: a conversation's messages and frame times. Out: how much of them each frame shows, from the
// end backwards.

import { Pace } from './render/pace.ts'
import type { StoredMessage } from './store/conversations.ts'

/** Minimum number of characters that a frame adds. A shorter answer is shown at once. */
const LEAST = 240
/** Fixed cost of a message (its action buttons), counted in characters. */
const MESSAGE = 160
/** Parsing time per frame, in milliseconds. */
const READ_MS = 8

/** How much of an opened conversation is shown. */
export class Opening {
  readonly #messages: readonly StoredMessage[]
  readonly #pace = new Pace(LEAST, LEAST)
  /** The first displayed message. */
  first: number
  /** Characters shown at the end of the first shown message. */
  #letters: number

  constructor(messages: readonly StoredMessage[]) {
    this.#messages = messages
    this.first = Math.max(0, messages.length - 1)
    this.#letters = this.#length > LEAST ? 0 : LEAST
  }

  get isWhole(): boolean {
    return this.first === 0 && !this.#isPart
  }

  /** Characters shown at the end of message `index`. */
  tail(index: number): number {
    return index === this.first && this.#isPart ? this.#letters : Number.POSITIVE_INFINITY
  }

  /**
   * Shows more in the next frame. `read` parses the partly shown message for the given milliseconds and
   * returns whether it is done.
   */
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

  /** Shows all with the next frame, however long that takes. */
  finish(): void {
    this.first = 0
    this.#letters = Number.POSITIVE_INFINITY
  }

  /** Call this with the duration of a frame. */
  took(ms: number): void {
    this.#pace.took(ms, !this.isWhole)
  }

  /** Call this with the current messages. A changed message is shown whole. */
  follow(messages: readonly StoredMessage[]): void {
    if (messages[this.first]?.content !== this.#messages[this.first]?.content)
      this.#letters = Number.POSITIVE_INFINITY
  }

  get #length(): number {
    return this.#messages[this.first]?.content.length ?? 0
  }

  /** Questions are plain text and are shown whole. */
  get #isPart(): boolean {
    return this.#messages[this.first]?.role === 'assistant' && this.#letters < this.#length
  }
}
