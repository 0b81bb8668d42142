// A terminal for tests. In: what a program writes. Out: what a person sees, and how often it changed.
import stringWidth from 'string-width'

const ESCAPE = '\x1b'
const SEQUENCE = new RegExp(`${ESCAPE}\\[(\\??)([\\d;]*)([A-Za-z])|[\\r\\n]|[^${ESCAPE}]`, 'gu')

/** Understands the sequences that the chat writes; throws for any other. Wide characters take two columns. */
export class TerminalScreen {
  columns: number
  readonly rows: number
  /** All lines, also those above the top. */
  readonly #lines: string[][] = [[]]
  #row = 0
  #column = 0
  /** How many characters were replaced by different ones. */
  replaced = 0

  constructor(columns: number, rows = 24) {
    this.columns = columns
    this.rows = rows
  }

  get text(): string {
    return this.#lines.map((line) => line.join('').trimEnd()).join('\n')
  }

  write = (text: string): void => {
    for (const [all, isPrivate, number, command] of text.matchAll(SEQUENCE)) {
      if (command === undefined) this.#put(all)
      else if (isPrivate === '' && command !== 'm') this.#obey(command, Number(number || 1))
    }
  }

  #put(character: string): void {
    if (character === '\r') this.#column = 0
    else if (character === '\n') {
      this.#row += 1
      this.#column = 0
      this.#lines[this.#row] ??= []
    } else {
      const width = stringWidth(character)
      if (this.#column + width > this.columns) throw new Error('a line is wider than the terminal')
      const line = this.#lines[this.#row]!
      const old = line[this.#column]
      if (old !== undefined && old !== character) this.replaced += 1
      for (let at = line.length; at < this.#column; at++) line[at] = ' '
      line[this.#column] = character
      for (let at = 1; at < width; at++) line[this.#column + at] = ''
      this.#column += width
    }
  }

  #obey(command: string, count: number): void {
    const line = this.#lines[this.#row]!
    switch (command) {
      case 'A':
        if (count >= this.rows) throw new Error('the cursor goes above the top')
        this.#row -= count
        break
      case 'K':
        line.length = Math.min(line.length, this.#column)
        break
      case 'J':
        line.length = Math.min(line.length, this.#column)
        this.#lines.length = this.#row + 1
        break
      default:
        throw new Error(`the terminal does not know ${command}`)
    }
  }
}
