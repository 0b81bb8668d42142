// Visible text. In: text from a file or a model. Out: the same with control characters escaped, so a terminal
// does not act on them.

import type { TextChunk } from '../../engine/wire/reply.ts'

/** Control characters except line breaks and tabs, and characters that change the direction of text. */
const OBEYED = /[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu

/** Escapes of JSON, so JSON keeps its meaning. */
export const visible = (text: string): string =>
  text.replaceAll(OBEYED, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** For a name: line breaks are escaped too, so that it cannot look like a further line. */
export const visibleLine = (text: string): string => visible(text).replaceAll('\n', '\\n')

/** A piece of a reply. A terminal has the thought dimmed; pipes and files get the answer alone, unchanged. */
export function replyPiece({ text, reasoning }: Pick<TextChunk, 'text' | 'reasoning'>): string {
  if (!process.stdout.isTTY) return text
  return reasoning === undefined ? visible(text) : `\x1b[2m${visible(reasoning)}\x1b[22m`
}
