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
export interface StopMatcher {
  /** The stop string that was found; nothing is given out any more. */
  readonly matched: string | undefined
  /** The text that may be shown now. */
  push(chunk: string): string
  /** What was held back, when no more text comes; nothing after a match. */
  flush(): string
}

/** Empty strings are left out: they would end every text at once. */
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
