// The text of a Word document (DOCX: a ZIP archive of XML) as Markdown: headings by their styles, list
// items, tables, and notes at the end. Deleted text and field instructions are left out.
import { Blocks } from '../blocks.ts'
import { documentError } from '../document-error.ts'
import { MAX_EXPANDED, MAX_LETTERS } from '../kinds.ts'
import { type MarkupSink, parseMarkup } from '../markup.ts'
import { unzipped, type ZipEntry, ZipError, zipEntries } from './zip.ts'

const MAIN = 'document'
const NOTES = ['footnotes', 'endnotes']
/** Not shown: deleted text, and the older form of what a current program shows. */
const UNSEEN = new Set(['del', 'moveFrom', 'Fallback', 'instrText', 'delText'])
/** The compound file in which Word 97 and encrypted documents are stored. */
const COMPOUND = [0xd0, 0xcf, 0x11, 0xe0]
/** The name in UTF-16, without the last zero byte. */
const ENCRYPTED = 'E\0n\0c\0r\0y\0p\0t\0e\0d\0P\0a\0c\0k\0a\0g\0e'

type Attributes = Readonly<Record<string, string>>

/** Throws `kind`, `locked`, `long` and `damaged`. */
export async function docxText(
  name: string,
  bytes: Uint8Array<ArrayBuffer>,
  signal?: AbortSignal,
): Promise<string> {
  if (COMPOUND.every((byte, at) => bytes[at] === byte)) {
    const isLocked = new TextDecoder('latin1').decode(bytes).includes(ENCRYPTED)
    throw documentError(isLocked ? 'locked' : 'kind', name)
  }
  try {
    const entries = zipEntries(bytes)
    const entryOf = (part: string) => entries.get(`word/${part}.xml`)
    if (entryOf(MAIN) === undefined)
      throw documentError('kind', name, { why: 'no text of Word in the archive' })
    const read = async (entry: ZipEntry | undefined) =>
      entry && new TextDecoder().decode(await unzipped(bytes, entry, MAX_EXPANDED, signal))
    const styles = await headingStyles((await read(entryOf('styles'))) ?? '', signal)
    const story = new Story(styles)
    for (const part of [MAIN, ...NOTES]) {
      const source = await read(entryOf(part))
      if (source !== undefined) await tell(name, source, story, signal)
    }
    return story.blocks.text
  } catch (error) {
    throw error instanceof ZipError ? documentError(error.fault, name, { why: error.message }, error) : error
  }
}

async function tell(name: string, source: string, story: Story, signal?: AbortSignal): Promise<void> {
  const check = () => {
    if (story.blocks.letters > MAX_LETTERS) throw documentError('long', name)
  }
  await parseMarkup(source, story, { isXml: true, signal, check })
}

const localName = (tag: string): string => tag.slice(tag.indexOf(':') + 1)
const settingOf = (attributes: Attributes): string => attributes['w:val'] ?? attributes['val'] ?? ''

/** The level of each style of headings. Its id depends on the language of Word, its name does not. */
async function headingStyles(source: string, signal?: AbortSignal): Promise<ReadonlyMap<string, number>> {
  const levels = new Map<string, number>()
  let style = ''
  const open = (tag: string, attributes: Attributes) => {
    const name = localName(tag)
    const value = settingOf(attributes)
    if (name === 'style') style = attributes['w:styleId'] ?? attributes['styleId'] ?? ''
    const [, level] = /^heading ([1-6])$/i.exec(value) ?? []
    if (name === 'name' && level !== undefined) levels.set(style, Number(level))
    if (name === 'name' && /^title$/i.test(value)) levels.set(style, 1)
    const outline = Number.parseInt(value, 10)
    if (name === 'outlineLvl' && outline < 6 && !levels.has(style)) levels.set(style, outline + 1)
  }
  await parseMarkup(source, { open, text: () => undefined, close: () => undefined }, { isXml: true, signal })
  return levels
}

interface Paragraph {
  text: string
  level: number | undefined
  /** Depth in a list; undefined: not an item. */
  item: number | undefined
}

/** Collects what the parser reports. Paragraphs of text boxes are inside others. */
class Story implements MarkupSink {
  readonly blocks = new Blocks()
  readonly #styles: ReadonlyMap<string, number>
  readonly #paragraphs: Paragraph[] = []
  /** The cells of each open row: tables may be in tables. */
  readonly #rows: string[][] = []
  #depth = 0
  /** Depth of the outermost element that is not shown; 0: none. */
  #unseen = 0
  #isText = false

  constructor(styles: ReadonlyMap<string, number>) {
    this.#styles = styles
  }

  open(tag: string, attributes: Attributes): void {
    const name = localName(tag)
    this.#depth++
    if (this.#unseen > 0) return
    if (UNSEEN.has(name)) this.#unseen = this.#depth
    const paragraph = this.#paragraphs.at(-1)
    switch (name) {
      case 'p':
        this.#paragraphs.push({ text: '', level: undefined, item: undefined })
        break
      case 'tr':
        this.#rows.push([])
        break
      case 'tc':
        this.#rows.at(-1)?.push('')
        break
      case 't':
        this.#isText = true
        break
      case 'tab':
        // In the paragraph's properties, it defines a tab stop.
        if ('w:pos' in attributes) break
        this.#append('\t')
        break
      case 'br':
      case 'cr':
        this.#append('\n')
        break
      case 'noBreakHyphen':
        this.#append('-')
        break
      case 'pStyle':
        if (paragraph) paragraph.level = this.#styles.get(settingOf(attributes))
        break
      case 'outlineLvl':
        if (paragraph && Number(settingOf(attributes)) < 6)
          paragraph.level ??= Number(settingOf(attributes)) + 1
        break
      case 'numPr':
        if (paragraph) paragraph.item ??= 0
        break
      case 'ilvl':
        if (paragraph) paragraph.item = Math.max(0, Math.trunc(Number(settingOf(attributes)))) || 0
        break
      default:
    }
  }

  text(text: string): void {
    if (this.#isText && this.#unseen === 0) this.#append(text)
  }

  close(tag: string): void {
    if (this.#unseen === 0) this.#closed(localName(tag))
    else if (this.#unseen === this.#depth) this.#unseen = 0
    this.#depth--
  }

  #closed(name: string): void {
    if (name === 't') this.#isText = false
    if (name === 'p') this.#endParagraph(this.#paragraphs.pop())
    if (name === 'tbl') this.blocks.gap()
    if (name !== 'tr') return
    const cells = this.#rows.pop() ?? []
    const outer = this.#rows.at(-1)
    if (outer === undefined) this.blocks.row(cells)
    else if (outer.length > 0) outer[outer.length - 1] += ` ${cells.join(', ')}`
  }

  #endParagraph(paragraph: Paragraph | undefined): void {
    if (paragraph === undefined) return
    const { text, level, item } = paragraph
    const cells = this.#rows.at(-1)
    if (cells !== undefined) {
      if (cells.length > 0) cells[cells.length - 1] = `${cells.at(-1)} ${text}`.trim()
    } else if (level !== undefined) this.blocks.heading(level, text)
    else if (item !== undefined) this.blocks.item(item, text)
    else this.blocks.paragraph(text)
  }

  #append(text: string): void {
    const paragraph = this.#paragraphs.at(-1)
    if (paragraph) paragraph.text += text
  }
}
