// Formulas. In: a Markdown parser. Out: the same parser, which now also recognises TeX between $…$, $$…$$,
// \(…\) and \[…\].
import type MarkdownIt from 'markdown-it'

type Parser = InstanceType<typeof MarkdownIt>
type InlineRule = Parameters<Parser['inline']['ruler']['push']>[1]
type BlockRule = Parameters<Parser['block']['ruler']['push']>[1]

/** Token types; a token's content is the TeX. */
export const FORMULA = 'formula'
export const FORMULA_BLOCK = 'formula_block'

/** Opening and closing marks of formulas, longest first. */
const MARKS = [
  { open: '$$', close: '$$', isDisplay: true },
  { open: '$', close: '$', isDisplay: false },
  { open: '\\[', close: '\\]', isDisplay: true },
  { open: '\\(', close: '\\)', isDisplay: false },
] as const

const EMPTY_LINE = /\n[ \t]*\n/

export function addFormulas(parser: Parser): void {
  parser.inline.ruler.before('escape', FORMULA, inline)
  parser.block.ruler.before('fence', FORMULA_BLOCK, block)
}

const inline: InlineRule = (state, silent) => {
  const mark = MARKS.find(({ open }) => state.src.startsWith(open, state.pos))
  if (mark === undefined) return false
  const { open, close, isDisplay } = mark
  const start = state.pos + open.length
  const end = endOf(state.src, start, close)
  if (end < 0 || end > state.posMax) return false
  const tex = state.src.slice(start, end)
  const isMoney = open === '$' && (/^\s|\s$/.test(tex) || /\d/.test(state.src[end + 1] ?? ''))
  if (tex.trim() === '' || isMoney) return false
  if (!silent) state.push(isDisplay ? FORMULA_BLOCK : FORMULA, 'math', 0).content = tex.trim()
  state.pos = end + close.length
  return true
}

/**
 * A formula whose marks begin a block and end a line. While its end is missing, it includes all lines up to
 * an empty one, because a line such as `+ b` would begin a list. It never ends a paragraph: the text already
 * shown would change if this turned out not to be a formula. The inline rule finds it there.
 */
const block: BlockRule = (state, line, endLine, silent) => {
  const begin = (state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0)
  const mark = MARKS.find(({ open, isDisplay }) => isDisplay && state.src.startsWith(open, begin))
  if (mark === undefined) return false
  const start = begin + mark.open.length
  const isOpen = state.src.indexOf(mark.close, start) < 0
  const limit = state.eMarks[endLine - 1] ?? state.src.length
  const end = isOpen ? limit : endOf(state.src, start, mark.close)
  if (end < 0 || end > limit) return false
  const tex = state.src.slice(start, end).trim()
  if (tex === '' || EMPTY_LINE.test(state.src.slice(start, end))) return false
  let last = line
  while (last < endLine - 1 && (state.eMarks[last] ?? 0) < end) last++
  if (state.src.slice(end + mark.close.length, state.eMarks[last]).trim() !== '') return false
  if (silent) return true
  const token = state.push(FORMULA_BLOCK, 'math', 0)
  token.content = tex
  token.map = [line, last + 1]
  state.line = last + 1
  return true
}

/** The next unescaped `close`; -1 if there is none before an empty line. */
function endOf(text: string, start: number, close: string): number {
  let end = text.indexOf(close, start)
  while (close === '$' && end > 0 && text[end - 1] === '\\') end = text.indexOf(close, end + 1)
  return end >= 0 && EMPTY_LINE.test(text.slice(start, end)) ? -1 : end
}
