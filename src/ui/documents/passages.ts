// Splits documents into overlapping passages, each with its place: the page of a PDF, the path of headings,
// the lines of a text or the rows of a table.
import { hasHeadings, kindOf } from './kinds.ts'
import type { TextDocument } from './read-file.ts'
import { tableRows } from './table.ts'

/** Where a passage is in its document. */
export interface Place {
  /** From 1. */
  readonly page?: number | undefined
  /** The headings above it, outermost first. */
  readonly headings?: readonly string[] | undefined
  /** First and last line, from 1. Absent if the document has pages. */
  readonly lines?: readonly [number, number] | undefined
  /** First and last row of a table, as in a spreadsheet. */
  readonly rows?: readonly [number, number] | undefined
}

interface DocumentPassage {
  readonly text: string
  readonly place: Place
}

/** Maximum width of a passage in letters, about 150 tokens. An ideograph is three letters wide. */
const PASSAGE_WIDTH = 600
/** Maximum width of the text that a passage repeats from the one before. */
const OVERLAP_WIDTH = 120
/** Maximum width of a table's header, which each of its passages repeats. */
const HEADER_WIDTH = 300

const IDEOGRAPHS = /[\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff]/g
const widthOf = (text: string): number => text.length + 2 * (text.match(IDEOGRAPHS)?.length ?? 0)

/** The passages in text order. */
export function cutDocument(document: TextDocument): readonly DocumentPassage[] {
  const { name, text } = document
  if (kindOf(name) === 'table') return cutTable(text)
  const passages = new Cutter(text.includes('\f')).cut(document)
  // Line numbers that span the whole document say nothing.
  const [{ lines: _, ...place } = {}] = passages.map((passage) => passage.place)
  return passages.length === 1 ? passages.map((passage) => ({ ...passage, place })) : passages
}

/** A line, or a part of a long one. */
interface Piece {
  readonly text: string
  readonly width: number
  readonly line: number
  readonly page: number
  /** What separates it from the piece before. */
  readonly glue: string
}

class Cutter {
  readonly #hasPages: boolean
  readonly #passages: DocumentPassage[] = []
  /** The current headings, by level. */
  #headings: (string | undefined)[] = []
  #pieces: Piece[] = []
  #width = 0
  /** The end of the previous passage in the same section. */
  #tail = ''

  constructor(hasPages: boolean) {
    this.#hasPages = hasPages
  }

  cut({ name, text }: TextDocument): readonly DocumentPassage[] {
    const isMarked = hasHeadings(name)
    let line = 0
    let paragraph: Piece[] = []
    const end = () => {
      this.#add(paragraph)
      paragraph = []
    }
    for (const [index, page] of text.split('\f').entries()) {
      for (const source of page.split('\n')) {
        line++
        const [, marks = '', heading = ''] = (isMarked && /^(#{1,6}) +(.+)$/.exec(source)) || []
        if (heading !== '' || source.trim() === '') end()
        if (heading !== '') this.#under(marks.length, heading.replace(/\s+#+\s*$/, ''))
        else if (source.trim() !== '') paragraph.push(...piecesOf(source, line, index + 1))
      }
      end()
      this.#flush()
    }
    return this.#passages
  }

  #under(level: number, heading: string): void {
    this.#flush()
    this.#tail = ''
    this.#headings = this.#headings.slice(0, level - 1)
    this.#headings[level - 1] = heading
  }

  /** A paragraph stays together if it fits in a passage. */
  #add(paragraph: readonly Piece[]): void {
    const width = paragraph.reduce((sum, piece) => sum + piece.width, 0)
    if (this.#width > 0 && this.#width + width > PASSAGE_WIDTH && width <= PASSAGE_WIDTH) this.#flush()
    for (const [index, piece] of paragraph.entries()) {
      if (this.#width > 0 && this.#width + piece.width > PASSAGE_WIDTH) this.#flush()
      this.#pieces.push(index === 0 ? { ...piece, glue: '\n\n' } : piece)
      this.#width += piece.width
    }
  }

  #flush(): void {
    const [first] = this.#pieces
    const last = this.#pieces.at(-1)
    if (first === undefined || last === undefined) return
    const own = this.#pieces.map(({ text, glue }, index) => (index === 0 ? text : glue + text)).join('')
    const text = this.#tail === '' ? own : `${this.#tail}${first.glue === '\n\n' ? '\n\n' : ' '}${own}`
    const headings = this.#headings.filter((heading) => heading !== undefined)
    this.#passages.push({
      text,
      place: {
        ...(this.#hasPages ? { page: first.page } : { lines: [first.line, last.line] }),
        ...(headings.length > 0 && { headings }),
      },
    })
    this.#tail = tailOf(own)
    this.#pieces = []
    this.#width = 0
  }
}

/** A long line is split after sentences, and a long sentence anywhere. */
function piecesOf(source: string, line: number, page: number): Piece[] {
  const text = source.trimEnd()
  const parts = widthOf(text) <= PASSAGE_WIDTH ? [text] : sentencesOf(text).flatMap(shortParts)
  return parts.map((part, index) => ({
    text: part,
    // With the line's end.
    width: widthOf(part) + 1,
    line,
    page,
    glue: index === 0 ? '\n' : ' ',
  }))
}

const sentencesOf = (text: string): string[] =>
  text.split(/(?<=[.!?…]['"”’)\]]*)\s+|(?<=[。！？｡।॥؟])\s*/u).filter((sentence) => sentence !== '')

/** At most 600 letters or 200 ideographs, at spaces where there are some. */
function shortParts(sentence: string): string[] {
  const parts: string[] = []
  let rest = sentence
  while (widthOf(rest) > PASSAGE_WIDTH) {
    const letters = [...rest.slice(0, PASSAGE_WIDTH)]
    let end = letters.length
    while (end > 1 && widthOf(letters.slice(0, end).join('')) > PASSAGE_WIDTH) end = Math.ceil(end * 0.7)
    const start = letters.slice(0, end).join('')
    const space = start.lastIndexOf(' ')
    const part = space > start.length / 2 ? start.slice(0, space) : start
    parts.push(part.trim())
    rest = rest.slice(part.length).trimStart()
  }
  return rest === '' ? parts : [...parts, rest]
}

/** The last sentences of a passage, or the last words of a long one. */
function tailOf(text: string): string {
  let tail = ''
  for (const sentence of sentencesOf(text.slice(-2 * OVERLAP_WIDTH)).toReversed()) {
    const longer = tail === '' ? sentence : `${sentence} ${tail}`
    if (widthOf(longer) > OVERLAP_WIDTH) break
    tail = longer
  }
  if (tail !== '') return tail
  const words = text.slice(-OVERLAP_WIDTH / (widthOf(text.slice(-OVERLAP_WIDTH)) > OVERLAP_WIDTH ? 3 : 1))
  return /\s(\S.*)$/su.exec(words)?.[1] ?? ''
}

/** Groups of rows, each below the table's header. */
function cutTable(text: string): readonly DocumentPassage[] {
  const [head, ...rows] = tableRows(text)
  if (head === undefined) return []
  const header = lineOf(head.cells).slice(0, HEADER_WIDTH)
  const room = PASSAGE_WIDTH - widthOf(header)
  const passages: DocumentPassage[] = []
  let lines: string[] = []
  let width = 0
  let first = 0
  let last = 0
  const flush = () => {
    if (lines.length > 0)
      passages.push({ text: [header, ...lines].join('\n'), place: { rows: [first, last] } })
    lines = []
    width = 0
  }
  for (const { cells, number } of rows) {
    for (const line of shortParts(lineOf(cells))) {
      if (width + widthOf(line) > room) flush()
      if (lines.length === 0) first = number
      lines.push(line)
      width += widthOf(line)
      last = number
    }
  }
  flush()
  return passages.length > 0 ? passages : [{ text: header, place: { rows: [head.number, head.number] } }]
}

const lineOf = (cells: readonly string[]): string =>
  cells.map((cell) => cell.replaceAll(/\s+/g, ' ').trim()).join(' | ')
