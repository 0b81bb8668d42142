// The visible text of a web page as Markdown.
import { Blocks } from './blocks.ts'
import { documentError } from './document-error.ts'
import { MAX_LETTERS } from './kinds.ts'
import { type MarkupSink, parseMarkup } from './markup.ts'

const UNSEEN = new Set(
  'script title style noscript template svg math head nav iframe object select'.split(' '),
)
const HEADING = /^h([1-6])$/
const BLOCKS = new Set(
  'address article aside blockquote body dd details div dl dt fieldset figcaption figure footer form header hr main ol p section summary table ul'.split(
    ' ',
  ),
)

/** Collects what the parser reports. */
class Page implements MarkupSink {
  readonly blocks = new Blocks()
  title = ''
  hasHeading = false
  #text = ''
  #depth = 0
  /** Depth of the outermost element that is not shown; 0: none. */
  #unseen = 0
  #lists = 0
  #isTitle = false
  #isCode = false
  #cells: string[] | undefined

  open(name: string, attributes: Readonly<Record<string, string>>): void {
    this.#depth++
    this.#isTitle = name === 'title' && this.title === ''
    if (this.#unseen > 0) return
    if (UNSEEN.has(name) || 'hidden' in attributes || attributes['aria-hidden'] === 'true') {
      this.#unseen = this.#depth
      return
    }
    if (name === 'br') this.#text += '\n'
    if (name === 'td' || name === 'th') this.#cells ??= []
    else if (BLOCKS.has(name) || HEADING.test(name) || ['li', 'pre', 'tr'].includes(name)) this.#end()
    if (name === 'ul' || name === 'ol') this.#lists++
    if (name === 'pre') this.#isCode = true
    if (name === 'tr') this.#cells = []
  }

  text(text: string): void {
    if (this.#isTitle) this.title += text
    if (this.#unseen === 0) this.#text += this.#isCode ? text : text.replaceAll(/\s+/g, ' ')
  }

  close(name: string): void {
    this.#isTitle = false
    if (this.#unseen === 0) this.#closed(name)
    else if (this.#unseen === this.#depth) this.#unseen = 0
    this.#depth--
  }

  #closed(name: string): void {
    const level = HEADING.exec(name)?.[1]
    if (level !== undefined) {
      if (level === '1' && this.#text.trim() !== '') this.hasHeading = true
      this.blocks.heading(Number(level), this.#taken())
    } else if (name === 'td' || name === 'th') this.#cells?.push(this.#taken())
    else if (name === 'tr') {
      this.blocks.row(this.#cells ?? [])
      this.#cells = undefined
    } else if (name === 'li') this.blocks.item(this.#lists - 1, this.#taken())
    else if (name === 'pre') {
      this.blocks.code(this.#taken())
      this.#isCode = false
    } else if (BLOCKS.has(name)) this.#end()
    if (name === 'ul' || name === 'ol') this.#lists = Math.max(0, this.#lists - 1)
    if (['ul', 'ol', 'table'].includes(name) && this.#lists === 0) this.blocks.gap()
  }

  /** Ends a paragraph. In a cell or a list, it is part of the cell or of its item. */
  #end(): void {
    if (this.#cells !== undefined && this.#cells.length + this.#text.trim().length > 0) {
      this.#text += ' '
      return
    }
    if (this.#isCode) return
    const text = this.#taken()
    if (this.#lists > 0) this.blocks.item(this.#lists - 1, text)
    else this.blocks.paragraph(text)
  }

  #taken(): string {
    const text = this.#text
    this.#text = ''
    return text
  }

  finish(): string {
    this.#end()
    const title = this.title.replaceAll(/\s+/g, ' ').trim()
    const start = title === '' || this.hasHeading ? '' : `# ${title}\n\n`
    return `${start}${this.blocks.text}`.trim()
  }
}

/** Throws `long`. */
export async function htmlText(name: string, source: string, signal?: AbortSignal): Promise<string> {
  const page = new Page()
  const check = () => {
    if (page.blocks.letters > MAX_LETTERS) throw documentError('long', name)
  }
  await parseMarkup(source, page, { signal, check })
  return page.finish()
}
