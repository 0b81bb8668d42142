// JSON scan. In: text in pieces. Out: where one object or array ends in it, without parsing what is not there yet.

/** Follows brackets and strings; whether what they hold is JSON is for the parser to say. */
export class JsonScan {
  #depth = 0
  #isString = false
  #isEscaped = false
  #at: number

  /** Begins at `from` of the text that `end` is given. */
  constructor(from: number) {
    this.#at = from
  }

  /**
   * The index behind the value; undefined while it is not whole; -1 when what is there is no object or array. `text` is the
   * same as before, or longer.
   */
  end(text: string): number | undefined {
    for (; this.#at < text.length; this.#at++) {
      const char = text[this.#at] as string
      if (this.#isString) this.#inString(char)
      else if (char === '{' || char === '[') this.#depth += 1
      else if (this.#depth === 0 && !/\s/.test(char)) return -1
      else if (char === '"') this.#isString = true
      else if (char === '}' || char === ']') {
        this.#depth -= 1
        if (this.#depth === 0) return this.#at + 1
      }
    }
    return undefined
  }

  #inString(char: string): void {
    if (this.#isEscaped) this.#isEscaped = false
    else if (char === '\\') this.#isEscaped = true
    else if (char === '"') this.#isString = false
  }
}
