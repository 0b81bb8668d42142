// Stop strings. In: text as it is generated. Out: the text that is certain not to be part of a stop string.

/** One stop string with how much of it the text ends with. */
interface Pattern {
  readonly text: string
  /** Of `text`. */
  readonly borders: readonly number[]
  length: number
}

/**
 * Finds the stop string that is complete first, over any number of chunks; of several that end at one place the longest.
 * It never leaks, and no more is held back than could still become one.
 */
export class StopMatcher {
  readonly #patterns: readonly Pattern[]
  #held = ''
  #matched: string | undefined

  /** Empty strings are left out: they would end every text at once. */
  constructor(stops: readonly string[]) {
    this.#patterns = stops
      .filter((text) => text !== '')
      .map((text) => ({ text, borders: bordersOf(text), length: 0 }))
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
    const heldLength = this.#patterns.reduce((most, { length }) => Math.max(most, length), 0)
    this.#held = text.slice(text.length - heldLength)
    return text.slice(0, text.length - heldLength)
  }

  /** What was held back, when no more text comes; nothing after a match. */
  flush(): string {
    const held = this.#held
    this.#held = ''
    for (const pattern of this.#patterns) pattern.length = 0
    return held
  }

  #advance(code: number): string | undefined {
    let found: string | undefined
    for (const pattern of this.#patterns) {
      const { text, borders } = pattern
      while (pattern.length > 0 && text.charCodeAt(pattern.length) !== code) {
        pattern.length = borders[pattern.length] as number
      }
      if (text.charCodeAt(pattern.length) === code) pattern.length++
      if (pattern.length < text.length) continue
      pattern.length = borders[text.length] as number
      if (found === undefined || text.length > found.length) found = text
    }
    return found
  }
}

/** By length of a beginning: the longest shorter beginning it ends with, as in Knuth, Morris and Pratt. */
export function bordersOf(text: ArrayLike<unknown>): readonly number[] {
  const borders = [0, 0]
  let length = 0
  for (let at = 1; at < text.length; at++) {
    while (length > 0 && text[at] !== text[length]) length = borders[length] as number
    if (text[at] === text[length]) length++
    borders.push(length)
  }
  return borders
}
