// Detokenizer. In: ids, one at a time. Out: the text they add, in whole characters.

/** What a detokenizer asks of a tokenizer. */
export interface TokenSource {
  readonly addsSpacePrefix: boolean
  tokenBytes(id: number): Uint8Array
  isSpecial(id: number): boolean
}

export interface DetokenizeOptions {
  /** Writes special tokens too. Default false. */
  readonly special?: boolean
  /**
   * True when the ids begin a text: the space that encoding put in front is left out. False when they go on from a
   * prompt. Default false; `Tokenizer.decode` has true.
   */
  readonly atStart?: boolean
}

const SPACE = 0x20

/** Joins the bytes of tokens to text as they come. What is no character yet is held back until it is one. */
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

  /** The text that is certain with this token. Bytes that cannot become a character read as U+FFFD. */
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

  /** What is held back, as U+FFFD, when no more ids come. The next push begins anew. */
  flush(): string {
    return this.#decoder.decode()
  }
}
