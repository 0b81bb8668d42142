// Markdown. In: a model's text. Out: a tree of elements and texts with nothing in it that could act on its own.
import MarkdownIt, { type Token } from 'markdown-it'

/** Elements that a model's text may become. */
export type Tag =
  | ('p' | 'h2' | 'h3' | 'ul' | 'ol' | 'li' | 'blockquote' | 'hr' | 'br' | 'pre' | 'code')
  | ('table' | 'thead' | 'tbody' | 'tr' | 'th' | 'td' | 'strong' | 'em' | 's' | 'a' | 'span')

export interface Piece {
  readonly tag: Tag
  readonly children: readonly (Piece | string)[]
  /** Address of a link, only ever http(s). */
  readonly href?: string
  /** First number of an ordered list. */
  readonly start?: number
  /** Language of a code block. */
  readonly language?: string
}

/** A block at the top level and the lines it was made of: as long as these stay, it stays. */
export interface Block {
  readonly source: string
  /** Where its first line begins in the text. */
  readonly at: number
  readonly piece: Piece
}

let parser: InstanceType<typeof MarkdownIt> | undefined
/** Made when it is first used: that takes as long as many parses. */
const theParser = (): InstanceType<typeof MarkdownIt> => {
  const rules = ['table', 'strikethrough']
  parser ??= new MarkdownIt('commonmark', { html: false, linkify: false }).enable(rules)
  return parser
}

/** As the parser takes them. */
const LINE_END = /\r\n?|\n/g
const LAST_END = /(\r\n?|\n)$/

/** Headings of an answer are below those of the page. */
const TAGS: Readonly<Record<string, Tag>> = {
  ...{ p: 'p', h1: 'h2', h2: 'h2', h3: 'h3', h4: 'h3', h5: 'h3', h6: 'h3' },
  ...{ ul: 'ul', ol: 'ol', li: 'li', blockquote: 'blockquote' },
  ...{ table: 'table', thead: 'thead', tbody: 'tbody', tr: 'tr', th: 'th', td: 'td' },
  ...{ strong: 'strong', em: 'em', s: 's' },
}

/** Reads Markdown as it streams: an unfinished fence, list or table is shown as far as it goes. */
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

/** An answer while it streams: what has ended in it is not read again. */
export class GrowingMarkdown {
  /** Nothing that follows changes these, but for definitions of links, which models do not write. */
  #ended: readonly Block[] = []
  /** The text that they were made of. */
  #read = ''

  /** The blocks of `text`; as long as it only grows, those that have ended are the same objects as before. */
  blocks(text: string): readonly Block[] {
    if (!text.startsWith(this.#read)) {
      this.#ended = []
      this.#read = ''
    }
    const rest = text.slice(this.#read.length)
    const open = parseMarkdown(rest)
    const all = [...this.#ended, ...open]
    const { at = 0 } = open.at(-1) ?? {}
    // The beginning of a line may be that of an item of the list before it.
    if (at > 0 && /[\r\n]/.test(rest.slice(at))) {
      this.#ended = [...this.#ended, ...open.filter((block) => block.at < at)]
      this.#read = text.slice(0, this.#read.length + at)
    }
    return all
  }
}

/** Letters that fill a part. */
const PART = 240

/** A text in parts of few letters, none of which divides a block: what follows does not change those that are full. */
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

/** Splits a flat token list at its top level: each part is one leaf, or an open token, its inside and its close token. */
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
  const tag = TAGS[token.tag]
  // Paragraphs of a tight list are hidden.
  if (tag === undefined || token.hidden) return children
  if (tag === 'ol') return [{ tag, children, start: Number(token.attrGet('start') ?? 1) }]
  return [{ tag, children }]
}

function link(href: string, children: readonly (Piece | string)[]): Piece {
  return /^https?:\/\//i.test(href) ? { tag: 'a', children, href } : { tag: 'span', children }
}

function leaf(token: Token): readonly (Piece | string)[] {
  switch (token.type) {
    case 'inline':
      return pieces(token.children ?? [])
    case 'softbreak':
      return [' ']
    case 'hardbreak':
      return [{ tag: 'br', children: [] }]
    case 'hr':
      return [{ tag: 'hr', children: [] }]
    case 'code_inline':
      return [{ tag: 'code', children: [token.content] }]
    case 'fence':
    case 'code_block':
      return [{ tag: 'pre', children: [token.content], language: token.info.trim().split(/\s/, 1)[0] ?? '' }]
    default:
      // Text, what is left of HTML, and an image's description: nothing is loaded from elsewhere.
      return token.content === '' ? [] : [token.content]
  }
}
