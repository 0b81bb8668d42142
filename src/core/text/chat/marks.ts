// Finds the first of several marks in a growing text, or how much of the text's end may become one.

/**
 * The first of the markers in a text, and where it begins. If two begin at the same place, the one listed
 * first wins.
 */
export const firstMark = (text: string, marks: readonly string[]): { mark: string; at: number } | undefined =>
  marks
    .map((mark) => ({ mark, at: text.indexOf(mark) }))
    .filter(({ at }) => at >= 0)
    .toSorted((one, other) => one.at - other.at)[0]

/** Length of the longest suffix of `text` that is a proper prefix of one of the markers. */
export function partLength(text: string, marks: readonly string[]): number {
  const most = Math.max(...marks.map(({ length }) => length)) - 1
  for (let length = Math.min(most, text.length); length > 0; length--) {
    const end = text.slice(-length)
    if (marks.some((mark) => mark.length > length && mark.startsWith(end))) return length
  }
  return 0
}
