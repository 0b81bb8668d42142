// A text that arrives in chunks. Readers are written as if all of it were there: they are generators that
// pause when they need more.

/** A reader. It yields when it needs more text to continue. */
export type Reading<T> = Generator<undefined, T, undefined>

/** Thrown by readers if the text is not in their form. */
export const MISMATCH = new Error('the text has a different form')
/** Thrown by readers if the reply ends before the form does. */
export const CUT = new Error('the reply ends too early')

const isBlank = (char: string): boolean => /^\s$/.test(char)

export class GrowingText {
  text = ''
  /** The position of the next character. */
  at = 0
  /** True if no more text will arrive. */
  isOver = false;

  /** The next character; '' at the end of the reply. */
  *peek(): Reading<string> {
    while (this.at >= this.text.length) {
      if (this.isOver) return ''
      yield
    }
    return this.text[this.at]!
  }

  /** Whether `mark` comes next. Waits for more text only while that is undecided. */
  *sees(mark: string): Reading<boolean> {
    for (;;) {
      const held = this.text.slice(this.at, this.at + mark.length)
      if (held === mark) return true
      if (this.isOver || !mark.startsWith(held)) return false
      yield
    }
  }

  /** Reads one of the marks, if it comes next. */
  *takes(...marks: readonly string[]): Reading<boolean> {
    for (const mark of marks) {
      if (!(yield* this.sees(mark))) continue
      this.at += mark.length
      return true
    }
    return false
  }

  *expect(...marks: readonly string[]): Reading<void> {
    if (yield* this.takes(...marks)) return
    const rest = this.text.slice(this.at)
    throw this.isOver && marks.some((mark) => mark.startsWith(rest)) ? CUT : MISMATCH
  }

  /** Skips white space, and returns the next character. */
  *blanks(): Reading<string> {
    for (;;) {
      const char = yield* this.peek()
      if (!isBlank(char)) return char
      this.at += 1
    }
  }

  /** Whether one of the marks comes next, after white space. */
  *nears(...marks: readonly string[]): Reading<boolean> {
    yield* this.blanks()
    for (const mark of marks) if (yield* this.sees(mark)) return true
    return false
  }

  /**
   * The characters before the first that does not satisfy `fits`. Throws `MISMATCH` if there are more than
   * `most`.
   */
  *word(fits: RegExp, most = 256): Reading<string> {
    const start = this.at
    for (;;) {
      const char = yield* this.peek()
      if (char === '' || !fits.test(char)) return this.text.slice(start, this.at)
      this.at += 1
      if (this.at - start > most) throw MISMATCH
    }
  }

  /**
   * Returns the text before the first `mark` that `isEnd` accepts, and stops after that mark. `isEnd` reads
   * what follows the mark and may look ahead.
   */
  *upTo(mark: string, isEnd?: () => Reading<boolean>): Reading<string> {
    const start = this.at
    for (let from = start; ; ) {
      const found = this.text.indexOf(mark, from)
      if (found < 0) {
        if (this.isOver) throw CUT
        from = Math.max(start, this.text.length - mark.length + 1)
        yield
        continue
      }
      const after = found + mark.length
      this.at = after
      const isFound = isEnd === undefined || (yield* isEnd())
      this.at = after
      if (isFound) return this.text.slice(start, found)
      from = found + 1
    }
  }

  /** Throws `CUT` if the reply ends here, otherwise `MISMATCH`. */
  fail(): never {
    throw this.isOver && this.at >= this.text.length ? CUT : MISMATCH
  }
}
