// Sequence breakers. In: texts, and tokens as they arrive. Out: the token that the latest breaker ended with.
import { Matcher } from '../../text/stop.ts'

/** The UTF-8 bytes of a token; none for an id without a token. */
export type TokenBytes = (id: number) => Uint8Array

export class Breakers {
  readonly #tokenBytes: TokenBytes
  /** Matches in the text so far, and in one token alone. */
  readonly #ofText: readonly Matcher[]
  readonly #ofToken: readonly Matcher[]
  /** Number of tokens read, and number of tokens up to the end of the latest breaker. */
  #seen = 0
  #end = 0

  /** `texts`: none may be empty. */
  constructor(texts: readonly string[], tokenBytes: TokenBytes) {
    this.#tokenBytes = tokenBytes
    const encoder = new TextEncoder()
    const matchers = () => texts.map((text) => new Matcher(encoder.encode(text)))
    this.#ofText = matchers()
    this.#ofToken = matchers()
  }

  /**
   * Number of tokens of `history`, which ends at `length`, up to the end of the latest breaker; 0 without
   * one. Tokens that were read before are not read again, so a history may only grow.
   */
  lastEnd(history: ArrayLike<number>, length: number): number {
    for (; this.#seen < length; this.#seen++) {
      const bytes = this.#tokenBytes(history[this.#seen] as number)
      for (let at = 0; at < bytes.length; at++) {
        if (ends(this.#ofText, bytes[at]!)) this.#end = this.#seen + 1
      }
    }
    return this.#end
  }

  /** True if a token contains a complete breaker. */
  isIn(id: number): boolean {
    for (const matcher of this.#ofToken) matcher.length = 0
    const bytes = this.#tokenBytes(id)
    for (let at = 0; at < bytes.length; at++) if (ends(this.#ofToken, bytes[at]!)) return true
    return false
  }
}

/** True if a text ends with this byte, regardless of how tokens divide it. */
function ends(matchers: readonly Matcher[], byte: number): boolean {
  let found = false
  for (let index = 0; index < matchers.length; index++) if (matchers[index]!.push(byte)) found = true
  return found
}
