// Collects the text of a marked-up document as Markdown: headings, paragraphs, items and rows of tables.

/** Maximum indentation level of a list. */
const MAX_INDENT = 6

interface Block {
  readonly text: string
  /** True for items and rows, which follow each other without an empty line. */
  readonly isTight: boolean
}

export class Blocks {
  readonly #blocks: Block[] = []
  #letters = 0

  /** Characters so far. */
  get letters(): number {
    return this.#letters
  }

  get text(): string {
    return this.#blocks
      .map(({ text, isTight }, index) => {
        const before = this.#blocks[index - 1]
        if (before === undefined) return text
        return (isTight && before.isTight ? '\n' : '\n\n') + text
      })
      .join('')
      .replaceAll(/\n{3,}/g, '\n\n')
      .trim()
  }

  /** `level`: between 1 and 6. */
  heading(level: number, text: string): void {
    const line = oneLine(text)
    if (line !== '') this.#add(`${'#'.repeat(Math.min(6, Math.max(1, level)))} ${line}`)
  }

  paragraph(text: string): void {
    this.#add(withoutMarks(lines(text)))
  }

  /** `depth`: 0 for items of the outermost list. */
  item(depth: number, text: string): void {
    const line = lines(text)
    if (line !== '') this.#add(`${'  '.repeat(Math.min(MAX_INDENT, depth))}- ${line}`, true)
  }

  row(cells: readonly string[]): void {
    if (cells.some((cell) => cell.trim() !== '')) this.#add(cells.map(oneLine).join(' | '), true)
  }

  /** Text whose spaces count. */
  code(text: string): void {
    this.#add(withoutMarks(text.replaceAll(/[^\S\n]+$/gm, '').replace(/^\n+|\n+$/g, '')))
  }

  /** Separates what comes next from a list or a table. */
  gap(): void {
    if (this.#blocks.length > 0) this.#blocks.push({ text: '', isTight: false })
  }

  #add(text: string, isTight = false): void {
    if (text === '') return
    this.#letters += text.length
    this.#blocks.push({ text, isTight })
  }
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()

const lines = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.replaceAll(/\s+/g, ' ').trim())
    .join('\n')
    .replaceAll(/\n{2,}/g, '\n')
    .trim()

/** A line of the document's own text that begins with `#` must not read as a heading. */
const withoutMarks = (text: string): string => text.replaceAll(/^(?=#{1,6} )/gm, ' ')
