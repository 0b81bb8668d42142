// Markdown for a terminal. In: a block of the parsed tree, and a width. Out: its lines, styled and wrapped.
import stringWidth from 'string-width'
import wrapAnsi from 'wrap-ansi'
import type { Piece } from '../../../ui/chat/markdown/markdown.ts'
import { visible } from '../terminal/failure.ts'
import { type Style, styled, wrapped } from './styled-text.ts'
import { tableLines } from './table-lines.ts'

type Child = Piece | string

interface Place {
  /** Columns. */
  readonly width: number
  /** True for the end of a text that is still growing. */
  readonly isOpen: boolean
}

/**
 * The lines of a block, each at most `width` columns wide. `isOpen`: more of it may follow, so that a code
 * block has no closing rule yet.
 */
export function blockLines(piece: Piece, place: Place): readonly string[] {
  switch (piece.tag) {
    case 'h2':
      return wrapped(inline(piece.children, ['bold', 'underline']), place.width)
    case 'h3':
      return wrapped(inline(piece.children, ['bold']), place.width)
    case 'hr':
      return [rule(place.width)]
    case 'pre':
      return codeLines(piece, place)
    case 'ul':
    case 'ol':
      return listLines(piece, place)
    case 'blockquote':
      return prefixed(flowLines(piece.children, narrowed(place, 2)), styled('│ ', ['dim']))
    case 'table':
      return tableLines(rowsOf(piece), place.width)
    default:
      return wrapped(inline([piece], []), place.width)
  }
}

const narrowed = (place: Place, columns: number): Place => ({ ...place, width: place.width - columns })

const prefixed = (lines: readonly string[], first: string, rest = first): string[] =>
  lines.map((line, index) => (index === 0 ? first : rest) + line)

const rule = (width: number, title = ''): string => {
  const head = title === '' ? '' : `── ${title} `
  return styled(head + '─'.repeat(Math.max(0, width - stringWidth(head))), ['dim'])
}

/** Code is cut at the width, so that every line is known; spaces are kept. */
function codeLines({ children, language = '' }: Piece, { width, isOpen }: Place): string[] {
  const code = children.join('').replace(/\n$/, '').replaceAll('\t', '    ')
  const lines = code.split('\n').flatMap((line) => {
    const cut = wrapAnsi(visible(line), width, { hard: true, wordWrap: false, trim: false })
    return cut.split('\n')
  })
  return [rule(width, visible(language)), ...lines, ...(isOpen ? [] : [rule(width)])]
}

const BULLETS = ['•', '◦'] as const

function listLines({ tag, children, start = 1 }: Piece, place: Place, depth = 0): string[] {
  const items = children.filter((child): child is Piece => typeof child !== 'string')
  const isLoose = items.some(({ children: inside }) => inside.some((each) => isPiece(each, 'p')))
  const marks = items.map((_, index) =>
    tag === 'ol' ? `${start + index}.` : (BULLETS[depth % BULLETS.length] as string),
  )
  const widest = Math.max(...marks.map(({ length }) => length))
  return items.flatMap(({ children: inside, isDone }, index) => {
    const isLast = index === items.length - 1
    const box = isDone === undefined ? '' : isDone ? '☑ ' : '☐ '
    const first = `${(marks[index] as string).padStart(widest)} ${box}`
    const inner = { width: place.width - first.length, isOpen: place.isOpen && isLast }
    const lines = flowLines(inside, inner, depth + 1)
    const own = prefixed(lines.length === 0 ? [''] : lines, first, ' '.repeat(first.length))
    return isLoose && !isLast ? [...own, ''] : own
  })
}

const isPiece = (child: Child, ...tags: readonly Piece['tag'][]): boolean =>
  typeof child !== 'string' && tags.includes(child.tag)

const BLOCKS: readonly Piece['tag'][] = ['p', 'h2', 'h3', 'ul', 'ol', 'blockquote', 'hr', 'pre', 'table']

/** The contents of an item or a quotation: blocks, and runs of text without a paragraph of their own. */
function flowLines(children: readonly Child[], place: Place, depth = 0): string[] {
  const runs: Child[][] = []
  for (const child of children) {
    const last = runs.at(-1)
    const isText = last !== undefined && !isPiece(last[0] as Child, ...BLOCKS)
    if (isText && !isPiece(child, ...BLOCKS)) last.push(child)
    else runs.push([child])
  }
  return runs.flatMap((run, index) => {
    const isOpen = place.isOpen && index === runs.length - 1
    const isSpaced = index > 0 && [run, runs[index - 1]].every((each) => isPiece(each?.[0] ?? '', 'p'))
    return [...(isSpaced ? [''] : []), ...runLines(run, { ...place, isOpen }, depth)]
  })
}

function runLines(run: readonly Child[], place: Place, depth: number): readonly string[] {
  const [first = ''] = run
  if (typeof first === 'string' || !isPiece(first, ...BLOCKS)) return wrapped(inline(run, []), place.width)
  return isPiece(first, 'ul', 'ol') ? listLines(first, place, depth) : blockLines(first, place)
}

/** Text with its styles. Control characters are escaped before any style is added. */
function inline(children: readonly Child[], styles: readonly Style[]): string {
  return children
    .map((child) => (typeof child === 'string' ? styled(visible(child), styles) : span(child, styles)))
    .join('')
}

function span(piece: Piece, styles: readonly Style[]): string {
  const within = (...more: readonly Style[]) => inline(piece.children, [...new Set([...styles, ...more])])
  switch (piece.tag) {
    case 'strong':
      return within('bold')
    case 'em':
      return within('italic')
    case 's':
      return within('strikethrough')
    case 'code':
    case 'math':
      return within('cyan')
    case 'br':
      return '\n'
    case 'a':
      return within('underline') + address(piece)
    default:
      return within()
  }
}

/** The address after a link's text, unless the text is the address. */
function address({ href = '', children }: Piece): string {
  const text = children.join('')
  return href === text || href === `https://${text}` ? '' : styled(` (${visible(href)})`, ['dim'])
}

/** The cells of a table, the header's first. */
function rowsOf(table: Piece) {
  const rows = table.children.flatMap((part) => (typeof part === 'string' ? [] : part.children))
  return rows.flatMap((row) => {
    if (typeof row === 'string') return []
    const cells = row.children.filter((cell): cell is Piece => typeof cell !== 'string')
    return [
      cells.map((cell) => ({
        text: inline(cell.children, cell.tag === 'th' ? ['bold'] : []),
        align: cell.align,
      })),
    ]
  })
}
