// Loops. In: a growing answer. Out: whether its end repeats itself, as small models do when they lose the
// thread.

/** How often a passage is repeated before it counts as a loop. */
const REPEATS = 3
/** Minimum characters of all repetitions together. Shorter ones, such as "ha ha ha", are intended. */
const SHORTEST = 160
/** Maximum length of a repeated passage. */
const LONGEST = 600
/** A horizontal rule, the second row of a table, or a blank to fill in. */
const DRAWN = /^[-=_.*|:\s]+$/
/** A longer line of this kind is a loop. */
const LONGEST_DRAWN = 800

/**
 * The length of `text` up to the end of the first repetition, if it ends with a passage repeated at least
 * three times; undefined otherwise.
 */
export function beforeLoop(text: string): number | undefined {
  for (let size = 1; size <= LONGEST && size * REPEATS <= text.length; size++) {
    const start = repeatedFrom(text, size)
    const length = text.length - start
    if (length < size * REPEATS || length < SHORTEST) continue
    if (DRAWN.test(text.slice(-size)) && length < LONGEST_DRAWN) return undefined
    return start + size
  }
  return undefined
}

/** The start of the longest end of `text` that repeats with a period of `size` characters. */
function repeatedFrom(text: string, size: number): number {
  let at = text.length - 1
  while (at >= size && text.charCodeAt(at) === text.charCodeAt(at - size)) at--
  return at === text.length - 1 ? text.length : at + 1 - size
}
