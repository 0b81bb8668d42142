// A reply in a terminal while it streams. In: its text as it grows. Out: Markdown with styles, where a line
// that is written changes only if its meaning does.
import { stripVTControlCharacters } from 'node:util'
import { type Block, GrowingMarkdown } from '../../../ui/chat/markdown/markdown.ts'
import { closeMarks } from './close-marks.ts'
import { LiveLines } from './live-lines.ts'
import { blockLines } from './render-lines.ts'

/** A terminal, as `process.stdout` describes it. */
interface Screen {
  readonly columns: number
  readonly rows: number
  write(text: string): unknown
}

/** The narrowest text that is worth wrapping. */
const MIN_COLUMNS = 16

const FENCED = /^ {0,3}(`{3,}|~{3,})/
const FENCE_END = /\n {0,3}(`{3,}|~{3,})[ \t]*$/

export class ReplyView {
  readonly #screen: Screen
  readonly #live: LiveLines
  readonly #markdown = new GrowingMarkdown()
  #text = ''
  /** The width of each block, which stays that of its first line. */
  readonly #widths: number[] = []
  #finished: { block: Block; lines: readonly string[] }[] = []

  constructor(screen: Screen) {
    this.#screen = screen
    this.#live = new LiveLines(
      (text) => screen.write(text),
      () => screen.rows,
    )
  }

  /** Adds a piece of the reply. */
  add(piece: string): void {
    this.#text += piece
    this.#keepWidth()
    this.#live.show(this.#render(this.#text, true))
  }

  /** Shows the whole reply, with the rules and marks that end it. */
  end(): void {
    this.#keepWidth()
    this.#live.show(this.#render(this.#text, false))
  }

  /** One column stays free, in case the terminal draws a character wider than expected. */
  get #width(): number {
    return Math.max(MIN_COLUMNS, (this.#screen.columns || 80) - 1)
  }

  #render(text: string, isOpen: boolean): readonly string[] {
    const blocks = this.#markdown.blocks(isOpen ? closeMarks(text) : text)
    const all = blocks.map((block, index) => {
      const isLast = index === blocks.length - 1
      this.#widths[index] ??= this.#width
      const known = this.#finished[index]
      if (!isLast && known?.block === block) return known.lines
      const width = this.#widths[index] as number
      const lines = blockLines(block.piece, { width, isOpen: isOpen && isLast && !isClosedCode(block) })
      if (!isLast) this.#finished[index] = { block, lines }
      return lines
    })
    return all.flatMap((lines, index) => (index > 0 ? ['', ...lines] : lines))
  }

  /** In a terminal that has become narrower, the last block continues at the new width. */
  #keepWidth(): void {
    const last = this.#widths.length - 1
    const before = this.#widths[last]
    if (before === undefined || this.#width >= before) return
    const written = this.#live.lines
    this.#widths[last] = this.#width
    const lines = this.#render(this.#text, true)
    this.#live.restart(lines.slice(0, linesWith(lines, lettersOf(written.join('')).length)))
  }
}

const isClosedCode = ({ source }: Block): boolean => FENCED.test(source) && FENCE_END.test(source)

const lettersOf = (text: string): string => stripVTControlCharacters(text).replaceAll(/\s/g, '')

/** How many whole lines the first `letters` characters fill. */
function linesWith(lines: readonly string[], letters: number): number {
  let left = letters
  const at = lines.findIndex((line) => {
    left -= lettersOf(line).length
    return left < 0
  })
  return at < 0 ? Math.max(0, lines.length - 1) : at
}
