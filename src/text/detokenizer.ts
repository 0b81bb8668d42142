// Detokenizer. In: ids, one at a time. Out: the text that each adds, in whole characters.

/** The parts of a tokenizer that a detokenizer uses. */
export interface TokenSource {
  readonly addsSpacePrefix: boolean
  tokenBytes(id: number): Uint8Array
  isSpecial(id: number): boolean
}

export interface DetokenizeOptions {
  /** Writes special tokens too. Default false. */
  readonly special?: boolean
  /**
   * True when the ids begin a text: the space that encoding added at the start is left out. False when they
   * continue a prompt. Default false, but true in `Tokenizer.decode`.
   */
  readonly atStart?: boolean
}

const SPACE = 0x20

/**
 * Turns the bytes of tokens into text as they arrive. An incomplete character is held back until it is
 * complete.
 */
export class Detokenizer {
  readonly #source: TokenSource
  readonly #special: boolean
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  #dropsSpace: boolean

  constructor(source: TokenSource, { special = false, atStart = false }: DetokenizeOptions = {}) {
    this.#source = source
    this.#special = special
    this.#dropsSpace = atStart && source.addsSpacePrefix
  }

  /**
   * Adds a token; returns the text that is now certain. Bytes that cannot become a character become U+FFFD.
   */
  push(id: number): string {
    const isSpecial = this.#source.isSpecial(id)
    if (isSpecial && !this.#special) return ''
    let bytes = this.#source.tokenBytes(id)
    if (this.#dropsSpace && !isSpecial && bytes.length > 0) {
      this.#dropsSpace = false
      if (bytes[0] === SPACE) bytes = bytes.subarray(1)
    }
    return this.#decoder.decode(bytes, { stream: true })
  }

  /** Call when no more ids follow. Returns held-back bytes as U+FFFD; the next push starts afresh. */
  flush(): string {
    return this.#decoder.decode()
  }
}
