// The place of a passage in words, for its source and for the model.
import type { DocumentWords } from '../words/documents.ts'
import { say } from '../words/message.ts'
import type { Place } from './passages.ts'

/** Characters of one heading. */
const MAX_HEADING = 60

/** Such as `page 3` or `Delivery › Abroad`; lines only if there is nothing better. */
export function placeText(
  { page, headings, lines, rows }: Place,
  words: DocumentWords,
  language: string,
): string {
  if (rows !== undefined) {
    const [from, to] = rows
    return from === to
      ? say(words.placeRow, { row: from }, language)
      : say(words.placeRows, { from, to }, language)
  }
  const under = headings?.map(shortened).join(' › ')
  const place = [page === undefined ? undefined : say(words.placePage, { page }, language), under].filter(
    (part) => part !== undefined,
  )
  if (place.length > 0) return place.join(', ')
  if (lines === undefined) return ''
  const [from, to] = lines
  return from === to
    ? say(words.placeLine, { line: from }, language)
    : say(words.placeLines, { from, to }, language)
}

const shortened = (heading: string): string => {
  const letters = [...heading]
  return letters.length > MAX_HEADING ? `${letters.slice(0, MAX_HEADING).join('').trimEnd()}…` : heading
}
