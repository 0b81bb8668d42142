// Sequence breakers. In: texts, and tokens as they come. Out: behind which token the latest of them ended.
import { Matcher } from '../../text/stop.ts'

/** The UTF-8 bytes that a token writes; none for an id without a token. */
export type TokenBytes = (id: number) => Uint8Array

export class Breakers {
  readonly #tokenBytes: TokenBytes
  /** Of the text, and of one token by itself. */
  readonly #ofText: readonly Matcher[]
  readonly #ofToken: readonly Matcher[]
  /** Tokens looked at, and behind which of them the latest breaker ended. */
  #seen = 0
  #end = 0

  /** `texts`: none empty. */
  constructor(texts: readonly string[], tokenBytes: TokenBytes) {
    this.#tokenBytes = tokenBytes
    const encoder = new TextEncoder()
    const matchers = () => texts.map((text) => new Matcher(encoder.encode(text)))
    this.#ofText = matchers()
    this.#ofToken = matchers()
  }

  /**
   * Tokens of `history`, which ends at `length`, up to the end of the latest breaker; 0 without one. What was seen
   * before is not read again, so a history only grows.
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

  /** True when a token has a whole breaker in it. */
  isIn(id: number): boolean {
    for (const matcher of this.#ofToken) matcher.length = 0
    const bytes = this.#tokenBytes(id)
    for (let at = 0; at < bytes.length; at++) if (ends(this.#ofToken, bytes[at]!)) return true
    return false
  }
}

/** True when a text ends with this byte, however tokens cut it. */
function ends(matchers: readonly Matcher[], byte: number): boolean {
  let found = false
  for (let index = 0; index < matchers.length; index++) if (matchers[index]!.push(byte)) found = true
  return found
}
