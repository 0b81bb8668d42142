// Turns ids into text, one id at a time and in whole characters, and finds stop strings in it.

/** Finds a text in a stream of UTF-16 units, by Knuth-Morris-Pratt. */
export class Matcher {
  /** Length of the longest prefix of the text that is a suffix of the units seen so far. */
  length = 0
  readonly #units: ArrayLike<number>
  /** For each prefix length: the length of the longest shorter prefix that this prefix ends with. */
  readonly #borders = [0, 0]

  constructor(units: ArrayLike<number>) {
    this.#units = units
    for (let at = 1; at < units.length; at++) {
      this.#next(units[at]!)
      this.#borders.push(this.length)
    }
    this.length = 0
  }

  /** Adds a unit; returns true if it completes the text. */
  push(unit: number): boolean {
    this.#next(unit)
    if (this.length < this.#units.length) return false
    this.length = this.#borders[this.length]!
    return true
  }

  #next(unit: number): void {
    while (this.length > 0 && this.#units[this.length] !== unit) this.length = this.#borders[this.length]!
    if (this.#units[this.length] === unit) this.length++
  }
}

/**
 * Finds the stop string that is completed first, across any number of chunks. If several end at the same
 * position, the longest wins. Never releases a part of a stop string, and holds back only text that could
 * become one.
 */
interface StopMatcher {
  /** The stop string that was found. After a match no more text is released. */
  readonly matched: string | undefined
  /** Returns the text that may be shown now. */
  push(chunk: string): string
  /** Call when no more text follows. Returns the held-back text; empty after a match. */
  flush(): string
}

/** Empty stop strings are ignored: they would end every text at once. */
export function stopMatcher(stops: readonly string[]): StopMatcher {
  const patterns = stops
    .filter((text) => text !== '')
    .map((text) => {
      const codes = Uint16Array.from({ length: text.length }, (_, at) => text.charCodeAt(at))
      return { text, matcher: new Matcher(codes) }
    })
  let held = ''
  let matched: string | undefined
  return {
    get matched() {
      return matched
    },
    push(chunk) {
      if (matched !== undefined) return ''
      const text = held + chunk
      for (let at = held.length; at < text.length; at++) {
        matched = advance(text.charCodeAt(at))
        if (matched === undefined) continue
        held = ''
        return text.slice(0, at + 1 - matched.length)
      }
      const known = text.length - Math.max(0, ...patterns.map(({ matcher }) => matcher.length))
      held = text.slice(known)
      return text.slice(0, known)
    },
    flush() {
      const rest = held
      held = ''
      for (const { matcher } of patterns) matcher.length = 0
      return rest
    },
  }

  function advance(code: number): string | undefined {
    let found: string | undefined
    for (const { text, matcher } of patterns) {
      if (matcher.push(code) && (found === undefined || text.length > found.length)) found = text
    }
    return found
  }
}

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
   * True if the ids begin a text, so that the space added by encoding is removed. False if they continue a
   * prompt. Default: false, but true in `Tokenizer.decode`.
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

  /** Call when no more ids follow. Returns held-back bytes as U+FFFD. The next push starts a new text. */
  flush(): string {
    return this.#decoder.decode()
  }
}
