// Plain text. In: Markdown. Out: what is read out of it, without its marks.
import { type Piece, parseMarkdown } from './markdown.ts'

export const plainText = (markdown: string): string =>
  parseMarkdown(markdown)
    .map(({ piece }) => textOf(piece))
    .join('\n')
    .trim()

/** Elements that stand on lines of their own. */
const LINES: readonly Piece['tag'][] = ['li', 'p', 'tr', 'br', 'pre', 'blockquote']

function textOf(piece: Piece | string): string {
  if (typeof piece === 'string') return piece
  const inside = piece.children.map(textOf).join(piece.tag === 'tr' ? ', ' : '')
  return LINES.includes(piece.tag) ? `${inside}\n` : inside
}
