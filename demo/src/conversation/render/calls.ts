// Calls. In: an answer with tool calls that a model wrote as text. Out: the answer without them.
import { CALL_MARKS, DEEPSEEK, KIMI } from '../../../../src/ui/chat/library.ts'

interface Block {
  readonly close?: string | undefined
  /** The characters that may follow the opening mark, for marks that also occur in prose. */
  readonly starts?: string | undefined
}

/** Blocks of calls, and of results that a model makes up, by opening mark. */
const BLOCKS: ReadonlyMap<string, Block> = new Map<string, Block>([
  ['<tool_response>', { close: '</tool_response>' }],
  ...Object.values(CALL_MARKS).flatMap(({ open, close, starts }) =>
    open.map((mark) => [mark, { close, starts }] as const),
  ),
  ...DEEPSEEK.section.map((mark, index) => [mark, { close: DEEPSEEK.sectionEnd[index] }] as const),
  ...DEEPSEEK.call.map((mark, index) => [mark, { close: DEEPSEEK.callEnd[index] }] as const),
  [KIMI.section, { close: KIMI.sectionEnd }],
  [KIMI.call, { close: KIMI.callEnd }],
])
const MARKS = [...BLOCKS.keys()]
/** If the marks are special tokens, they do not appear in the text. */
const BARE = /^\s*\[?\s*\{\s*"name"\s*:\s*"[^"]*"\s*,\s*"(?:arguments|parameters)"\s*:/
/** The beginning of such a call during streaming, without spaces. */
const BARE_START = /^\[?\{"name":(?:"[^"]{0,64}(?:",?(?:"[a-z]{0,10}"?)?)?)?$/
const BARE_BEGIN = '[{"name":'
/** Minimum letters at the very end of an answer that count as the beginning of a mark. */
const CUT = 6
/** Code, where calls are what the user asked to see. */
const CODE = /(?:^|\n)\s*(`{3,}|~{3,})[\s\S]*?(?:\n\s*\1|$)|`[^`\n]+`/g

/** The text around calls outside code. `isGrowing`: a possible beginning of a call is held back. */
export function withoutCalls(text: string, isGrowing: boolean): string {
  if (BARE.test(text) || (isGrowing && beginsBare(text))) return ''
  if (!/[<[{`]/.test(text)) return text
  const code = Array.from(text.matchAll(CODE), ({ index, 0: { length } }) => [index, index + length] as const)
  const isCode = (at: number) => code.some(([begin, end]) => at >= begin && at < end)
  let shown = ''
  let from = 0
  for (
    let found = nextMark(text, 0, isGrowing, isCode);
    found !== undefined;
    found = nextMark(text, from, isGrowing, isCode)
  ) {
    shown += text.slice(from, found.at)
    const end = BLOCKS.get(found.mark)?.close
    const at = end === undefined ? -1 : text.indexOf(end, found.at + found.mark.length)
    if (end === undefined || at < 0) return shown.trimEnd()
    from = at + end.length
  }
  const rest = text.slice(from)
  const cut = Math.max(...MARKS.map((mark) => partLength(rest, mark)))
  const isMark = /^[<[]/.test(rest.slice(rest.length - cut))
  const isHeld = cut > 0 && !isCode(text.length - cut) && (isGrowing || (isMark && cut >= CUT))
  return shown + (isHeld ? rest.slice(0, -cut) : rest)
}

function beginsBare(text: string): boolean {
  const dense = text.slice(0, 200).replaceAll(/\s/g, '')
  if (dense === '') return false
  return BARE_BEGIN.startsWith(dense) || BARE_BEGIN.slice(1).startsWith(dense) || BARE_START.test(dense)
}

function nextMark(text: string, from: number, isGrowing: boolean, isCode: (at: number) => boolean) {
  let first: { readonly at: number; readonly mark: string } | undefined
  for (const mark of MARKS) {
    let at = text.indexOf(mark, from)
    while (at >= 0 && (isCode(at) || !begins(text, at, mark, isGrowing))) at = text.indexOf(mark, at + 1)
    if (at >= 0 && (first === undefined || at < first.at)) first = { at, mark }
  }
  return first
}

/** Whether a mark begins a block, judging by the next character. At the end of a growing text, it may. */
function begins(text: string, at: number, mark: string, isGrowing: boolean): boolean {
  const starts = BLOCKS.get(mark)?.starts
  if (starts === undefined) return true
  const next = text.slice(at + mark.length).trimStart()[0]
  return next === undefined ? isGrowing : starts.includes(next)
}

/** Length of the longest suffix of the text that is a prefix of the mark. */
function partLength(text: string, mark: string): number {
  for (let length = Math.min(mark.length - 1, text.length); length > 0; length--)
    if (text.endsWith(mark.slice(0, length))) return length
  return 0
}
