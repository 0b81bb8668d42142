// Markdown. In: a model's text. Out: a tree of elements and texts that contains nothing active.
import MarkdownIt, { type Token } from 'markdown-it'
import { addFormulas, FORMULA, FORMULA_BLOCK } from './formulas.ts'

export const plainText = (markdown: string): string =>
  parseMarkdown(markdown)
    .map(({ piece }) => textOf(piece))
    .join('\n')
    .trim()

/** Block elements. */
const LINES: readonly Piece['tag'][] = ['li', 'p', 'tr', 'br', 'pre', 'blockquote']

function textOf(piece: Piece | string): string {
  if (typeof piece === 'string') return piece
  const inside = piece.children.map(textOf).join(piece.tag === 'tr' ? ', ' : '')
  return LINES.includes(piece.tag) ? `${inside}\n` : inside
}

/** Elements that a model's text may contain. */
export type Tag =
  | ('p' | 'h2' | 'h3' | 'ul' | 'ol' | 'li' | 'blockquote' | 'hr' | 'br' | 'pre' | 'code')
  | ('table' | 'thead' | 'tbody' | 'tr' | 'th' | 'td' | 'strong' | 'em' | 's' | 'a' | 'span' | 'math')

export interface Piece {
  readonly tag: Tag
  readonly children: readonly (Piece | string)[]
  /** Address of a link; only http or https. */
  readonly href?: string
  /** First number of an ordered list. */
  readonly start?: number
  /** Language of a code block. */
  readonly language?: string
  /** Alignment of a table column. */
  readonly align?: Align
  /** Whether an item of a task list is done. */
  readonly isDone?: boolean
  /** Present if a formula is on its own line. Its child is TeX. */
  readonly isDisplay?: boolean
}

type Align = 'left' | 'center' | 'right'

/** A top-level block and its source lines. While these stay the same, so does the block object. */
export interface Block {
  readonly source: string
  /** Offset of its first line in the text. */
  readonly at: number
  readonly piece: Piece
}

let parser: InstanceType<typeof MarkdownIt> | undefined
/** Created on first use, because creating it takes as long as parsing many texts. */
const theParser = (): InstanceType<typeof MarkdownIt> => {
  if (parser !== undefined) return parser
  const rules = ['table', 'strikethrough', 'linkify']
  parser = new MarkdownIt('commonmark', { html: false, linkify: true }).enable(rules)
  // File names such as readme.md end like domain names.
  addFormulas(parser)
  parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false })
  return parser
}

/** In the parser's format. */
const LINE_END = /\r\n?|\n/g
const LAST_END = /(\r\n?|\n)$/

/** Headings in an answer are lower-level than those of the page. */
const TAGS: ReadonlyMap<string, Tag> = new Map(
  Object.entries({
    p: 'p',
    h1: 'h2',
    h2: 'h2',
    h3: 'h3',
    h4: 'h3',
    h5: 'h3',
    h6: 'h3',
    ul: 'ul',
    ol: 'ol',
    li: 'li',
    blockquote: 'blockquote',
    table: 'table',
    thead: 'thead',
    tbody: 'tbody',
    tr: 'tr',
    th: 'th',
    td: 'td',
    strong: 'strong',
    em: 'em',
    s: 's',
  }),
)

/** Parses Markdown while it streams: an unfinished fence, list or table is shown as far as it exists. */
export function parseMarkdown(text: string): Block[] {
  const starts = [0, ...Array.from(text.matchAll(LINE_END), ({ 0: end, index }) => index + end.length)]
  const blocks: Block[] = []
  eachTree(theParser().parse(text, {}), (tokens) => {
    const [from, to] = tokens[0]?.map ?? [0, starts.length]
    const at = starts[from] ?? 0
    const source = text.slice(at, starts[to] ?? text.length).replace(LAST_END, '')
    for (const piece of pieces(tokens)) {
      blocks.push({ source, at, piece: typeof piece === 'string' ? { tag: 'p', children: [piece] } : piece })
    }
  })
  return blocks
}

/** Parses a streaming answer without parsing finished blocks again. */
export class GrowingMarkdown {
  /** Later text does not change these, except through link definitions, which models do not write. */
  #ended: readonly Block[] = []
  /** The text of the finished blocks. */
  #read = ''

  /** The blocks of `text`. While the text only grows, finished blocks are the same objects as before. */
  blocks(text: string): readonly Block[] {
    if (!text.startsWith(this.#read)) {
      this.#ended = []
      this.#read = ''
    }
    const rest = text.slice(this.#read.length)
    const open = parseMarkdown(rest)
    const all = [...this.#ended, ...open]
    const { at = 0 } = open.at(-1) ?? {}
    // The start of a line may belong to the preceding list item.
    if (at > 0 && /[\r\n]/.test(rest.slice(at))) {
      this.#ended = [...this.#ended, ...open.filter((block) => block.at < at)]
      this.#read = text.slice(0, this.#read.length + at)
    }
    return all
  }
}

/** Characters of a full part. */
const PART = 240

/** Splits a text into short parts at block boundaries. Later text does not change full parts. */
export function inParts(blocks: readonly Block[]): readonly (readonly Block[])[] {
  const parts: Block[][] = []
  let room = 0
  for (const block of blocks) {
    if (room <= 0) {
      parts.push([])
      room = PART
    }
    parts.at(-1)?.push(block)
    room -= block.source.length
  }
  return parts
}

/**
 * Splits a flat token list at its top level: each part is either a leaf, or an open token with its content
 * and its close token.
 */
function eachTree(tokens: readonly Token[], visit: (tree: readonly Token[]) => void): void {
  let start = 0
  let depth = 0
  for (const [index, token] of tokens.entries()) {
    depth += token.nesting
    if (depth > 0) continue
    visit(tokens.slice(start, index + 1))
    start = index + 1
  }
}

function pieces(tokens: readonly Token[]): (Piece | string)[] {
  const found: (Piece | string)[] = []
  eachTree(tokens, (tree) => {
    const [token] = tree
    if (token === undefined) return
    if (token.nesting === 1) found.push(...container(token, pieces(tree.slice(1, -1))))
    else found.push(...leaf(token))
  })
  return found
}

function container(token: Token, children: readonly (Piece | string)[]): readonly (Piece | string)[] {
  if (token.tag === 'a') return [link(String(token.attrGet('href') ?? ''), children)]
  const tag = TAGS.get(token.tag)
  // The parser hides paragraphs in tight lists.
  if (tag === undefined || token.hidden) return children
  if (tag === 'ol') return [{ tag, children, start: Number(token.attrGet('start') ?? 1) }]
  if (tag === 'li') return [item(children)]
  const align = /text-align:(left|center|right)/.exec(String(token.attrGet('style') ?? ''))?.[1]
  return [{ tag, children, ...(align !== undefined && { align: align as Align }) }]
}

const TASK = /^\[([ xX])\]\s+/

/** A list item, or a task list item if its text starts with a checkbox. */
function item(children: readonly (Piece | string)[]): Piece {
  const [first, ...others] = children
  const [text, ...inside] =
    typeof first === 'object' && first.tag === 'p' ? first.children : children.slice(0, 1)
  const box = typeof text === 'string' ? TASK.exec(text) : null
  if (box === null || typeof text !== 'string') return { tag: 'li', children }
  const rest = text.slice(box[0].length)
  const told = typeof first === 'object' ? { ...first, children: [rest, ...inside] } : rest
  return { tag: 'li', children: [told, ...others], isDone: box[1] !== ' ' }
}

function link(href: string, children: readonly (Piece | string)[]): Piece {
  return /^https?:\/\//i.test(href) ? { tag: 'a', children, href } : { tag: 'span', children }
}

function leaf(token: Token): readonly (Piece | string)[] {
  switch (token.type) {
    case 'inline':
      return pieces(token.children ?? [])
    // Models' line breaks are meaningful: verses, addresses, dialogue.
    case 'softbreak':
    case 'hardbreak':
      return [{ tag: 'br', children: [] }]
    case 'hr':
      return [{ tag: 'hr', children: [] }]
    case FORMULA:
      return [{ tag: 'math', children: [token.content] }]
    case FORMULA_BLOCK:
      return [{ tag: 'math', children: [token.content], isDisplay: true }]
    case 'code_inline':
      return [{ tag: 'code', children: [token.content] }]
    case 'fence':
    case 'code_block':
      return [{ tag: 'pre', children: [token.content], language: token.info.trim().split(/\s/, 1)[0] ?? '' }]
    default:
      // Text, HTML as text, and an image's alt text, so that nothing is loaded from elsewhere.
      return token.content === '' ? [] : [token.content]
  }
}
