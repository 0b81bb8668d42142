// Markdown that is still being written. In: a text that may end inside of bold text, code or a link. Out: the
// same text with the marks closed, so that it is styled from its first letter on and does not change later.

const FENCE = /^ {0,3}(`{3,}|~{3,})/gm

/** Closes what the last paragraph has opened, and hides marks at its end that may become something else. */
export function closeMarks(text: string): string {
  // Inside a fence, marks are plain text.
  if ((text.match(FENCE)?.length ?? 0) % 2 === 1) return text
  const start = text.lastIndexOf('\n\n') + 1
  return text.slice(0, start) + closedParagraph(text.slice(start))
}

function closedParagraph(text: string): string {
  // An opening mark whose word has not arrived, or a bullet, a heading or a fence that is not complete.
  const shown = text.replace(/(^|[\s(])[*_~`#]{1,3}$/, '$1')
  const plain = shown.replaceAll(/`[^`\n]*`/g, (code) => '.'.repeat(code.length))
  const tick = plain.indexOf('`')
  if (tick >= 0) return `${shown}\``
  return closedStyles(openedLink(shown, plain))
}

/** Shows a link's text without its brackets until its address is complete. */
function openedLink(shown: string, plain: string): string {
  const [, text] = /!?\[([^\]\n]*)(?:\](?:\([^)\s]*)?)?$/.exec(plain) ?? []
  if (text === undefined) return shown
  const at = plain.lastIndexOf('[')
  const isImage = plain[at - 1] === '!'
  return shown.slice(0, isImage ? at - 1 : at) + shown.slice(at + 1, at + 1 + text.length)
}

/** Marks that come in pairs, longest first. */
const PAIRS = ['**', '__', '~~', '*', '_'] as const

function closedStyles(text: string): string {
  const open: string[] = []
  const marks = /`[^`\n]*`|\\.|(?<=^|\n)\s*[*+-] |\*\*|__|~~|\*|_/g
  for (const { 0: mark, index } of text.matchAll(marks)) {
    if (!PAIRS.some((pair) => pair === mark)) continue
    const [before = ' ', after = ' '] = [text[index - 1], text[index + mark.length]]
    if (open.at(-1) === mark && !/\s/.test(before)) open.pop()
    else if (!/\s/.test(after) && (mark.includes('*') || mark === '~~' || !/\w/.test(before))) open.push(mark)
  }
  if (open.length === 0) return text
  // The first half of a closing mark.
  const half = open.at(-1)?.[0] ?? ''
  const cut = open.at(-1)?.length === 2 && text.endsWith(half) && !text.endsWith(half + half)
  return (cut ? text.slice(0, -1) : text).trimEnd() + open.reverse().join('')
}
