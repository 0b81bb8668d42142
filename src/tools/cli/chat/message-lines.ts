// Joins the lines that a terminal sends to messages: pasted lines, lines that end with a backslash, and
// blocks between """.

const FENCE = '"""'

export class MessageLines {
  #lines: string[] = []
  #isFenced = false

  /** True while further lines belong to the message. */
  get isOpen(): boolean {
    return this.#lines.length > 0 || this.#isFenced
  }

  /** Returns the message that `line` completes; undefined if there is more to come. */
  add(line: string, isPasting = false): string | undefined {
    if (this.#isFenced) return this.#addFenced(line)
    if (!isPasting && this.#lines.length === 0 && line.trimStart().startsWith(FENCE)) {
      this.#isFenced = true
      const rest = line.trimStart().slice(FENCE.length)
      return rest === '' ? undefined : this.#addFenced(rest)
    }
    const isContinued = !isPasting && line.endsWith('\\')
    this.#lines.push(isContinued ? line.slice(0, -1) : line)
    return isPasting || isContinued ? undefined : this.#take()
  }

  /** Forgets an unfinished message. */
  clear(): void {
    this.#lines = []
    this.#isFenced = false
  }

  #addFenced(line: string): string | undefined {
    const isLast = line.trimEnd().endsWith(FENCE)
    const text = isLast ? line.trimEnd().slice(0, -FENCE.length) : line
    if (!isLast || text !== '') this.#lines.push(text)
    return isLast ? this.#take() : undefined
  }

  #take(): string {
    const text = this.#lines.join('\n')
    this.clear()
    return text
  }
}
