// Sequence breakers. In: texts, and tokens as they come. Out: behind which token the latest of them ended.
import { bordersOf } from '../../text/stop.ts'

/** The UTF-8 bytes that a token writes; none for an id without a token. */
export type TokenBytes = (id: number) => Uint8Array

/** Finds texts in bytes that come one by one, however tokens cut them. */
class ByteMatcher {
  readonly #patterns: readonly { readonly bytes: Uint8Array; readonly borders: readonly number[] }[]
  /** How much of each pattern the bytes end with. */
  readonly #lengths: number[]

  constructor(texts: readonly string[]) {
    const encoder = new TextEncoder()
    this.#patterns = texts.map((text) => {
      const bytes = encoder.encode(text)
      return { bytes, borders: bordersOf(bytes) }
    })
    this.#lengths = texts.map(() => 0)
  }

  reset(): void {
    this.#lengths.fill(0)
  }

  /** True when a text ends with this byte. */
  push(byte: number): boolean {
    let found = false
    for (let index = 0; index < this.#patterns.length; index++) {
      const { bytes, borders } = this.#patterns[index]!
      let length = this.#lengths[index]!
      while (length > 0 && bytes[length] !== byte) length = borders[length]!
      if (bytes[length] === byte) length++
      if (length === bytes.length) {
        found = true
        length = borders[length]!
      }
      this.#lengths[index] = length
    }
    return found
  }
}

export class Breakers {
  readonly #tokenBytes: TokenBytes
  readonly #ofText: ByteMatcher
  readonly #ofToken: ByteMatcher
  /** Tokens looked at, and behind which of them the latest breaker ended. */
  #seen = 0
  #end = 0

  /** `texts`: none empty. */
  constructor(texts: readonly string[], tokenBytes: TokenBytes) {
    this.#tokenBytes = tokenBytes
    this.#ofText = new ByteMatcher(texts)
    this.#ofToken = new ByteMatcher(texts)
  }

  /**
   * Tokens of `history`, which ends at `length`, up to the end of the latest breaker; 0 without one. What was seen
   * before is not read again, so a history only grows.
   */
  lastEnd(history: ArrayLike<number>, length: number): number {
    for (; this.#seen < length; this.#seen++) {
      const bytes = this.#tokenBytes(history[this.#seen] as number)
      for (let at = 0; at < bytes.length; at++) {
        if (this.#ofText.push(bytes[at]!)) this.#end = this.#seen + 1
      }
    }
    return this.#end
  }

  /** True when a token has a whole breaker in it. */
  isIn(id: number): boolean {
    this.#ofToken.reset()
    const bytes = this.#tokenBytes(id)
    for (let at = 0; at < bytes.length; at++) if (this.#ofToken.push(bytes[at]!)) return true
    return false
  }
}
