// Stop strings. In: text as it is generated. Out: the text that is certain not to be part of a stop string.

/** Finds one text in units that come one by one, as Knuth, Morris and Pratt do. */
export class Matcher {
  /** How many of the text's units the units seen end with. */
  length = 0
  readonly #units: ArrayLike<number>
  /** By length of a beginning: the longest shorter beginning it ends with. */
  readonly #borders = [0, 0]

  constructor(units: ArrayLike<number>) {
    this.#units = units
    for (let at = 1; at < units.length; at++) {
      this.#next(units[at]!)
      this.#borders.push(this.length)
    }
    this.length = 0
  }

  /** True when the text ends with this unit. */
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
 * Finds the stop string that is complete first, over any number of chunks; of several that end at one place the longest.
 * It never leaks, and no more is held back than could still become one.
 */
export class StopMatcher {
  readonly #patterns: readonly { readonly text: string; readonly matcher: Matcher }[]
  #held = ''
  #matched: string | undefined

  /** Empty strings are left out: they would end every text at once. */
  constructor(stops: readonly string[]) {
    this.#patterns = stops
      .filter((text) => text !== '')
      .map((text) => {
        const codes = Uint16Array.from({ length: text.length }, (_, at) => text.charCodeAt(at))
        return { text, matcher: new Matcher(codes) }
      })
  }

  /** The stop string that was found; nothing is given out any more. */
  get matched(): string | undefined {
    return this.#matched
  }

  /** The text that may be shown now. */
  push(chunk: string): string {
    if (this.#matched !== undefined) return ''
    if (this.#patterns.length === 0) return chunk
    const text = this.#held + chunk
    for (let at = this.#held.length; at < text.length; at++) {
      const found = this.#advance(text.charCodeAt(at))
      if (found === undefined) continue
      this.#matched = found
      this.#held = ''
      return text.slice(0, at + 1 - found.length)
    }
    const heldLength = Math.max(...this.#patterns.map(({ matcher }) => matcher.length))
    this.#held = text.slice(text.length - heldLength)
    return text.slice(0, text.length - heldLength)
  }

  /** What was held back, when no more text comes; nothing after a match. */
  flush(): string {
    const held = this.#held
    this.#held = ''
    for (const { matcher } of this.#patterns) matcher.length = 0
    return held
  }

  #advance(code: number): string | undefined {
    let found: string | undefined
    for (const { text, matcher } of this.#patterns) {
      if (matcher.push(code) && (found === undefined || text.length > found.length)) found = text
    }
    return found
  }
}
