// The place of a passage in words, for its source and for the model.
import { fill } from '../chat/texts.ts'
import type { Place } from './passages.ts'
import type { DocumentWords } from './words.ts'

/** Characters of one heading. */
const MOST_HEADING = 60

/** Such as `page 3` or `Delivery › Abroad`; lines only if there is nothing better. */
export function placeText({ page, headings, lines, rows }: Place, words: DocumentWords): string {
  if (rows !== undefined) {
    const [from, to] = rows
    return from === to ? fill(words.placeRow, { row: from }) : fill(words.placeRows, { from, to })
  }
  const under = headings?.map(shortened).join(' › ')
  const place = [page === undefined ? undefined : fill(words.placePage, { page }), under].filter(
    (part) => part !== undefined,
  )
  if (place.length > 0) return place.join(', ')
  if (lines === undefined) return ''
  const [from, to] = lines
  return from === to ? fill(words.placeLine, { line: from }) : fill(words.placeLines, { from, to })
}

const shortened = (heading: string): string => {
  const letters = [...heading]
  return letters.length > MOST_HEADING ? `${letters.slice(0, MOST_HEADING).join('').trimEnd()}…` : heading
}
