// Loops. In: a growing answer. Out: whether its end repeats itself, as small models do when they lose the
// thread.

/** How often a passage is repeated before it counts as a loop. */
const REPEATS = 3
/** Characters that the repetitions have together. Shorter ones, such as "ha ha ha", are meant. */
const SHORTEST = 160
/** The longest passage that is compared with the ones before it. */
const LONGEST = 600
/** A rule, the second row of a table, or a field to fill in. */
const DRAWN = /^[-=_.*|:\s]+$/
/** A drawn line is that long only in a loop. */
const LONGEST_DRAWN = 800

/**
 * The length of `text` without the repetitions after the first, if its end is one passage at least three
 * times; undefined otherwise.
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

/** Where the part of `text` begins that equals itself `size` characters later, to the end. */
function repeatedFrom(text: string, size: number): number {
  let at = text.length - 1
  while (at >= size && text.charCodeAt(at) === text.charCodeAt(at - size)) at--
  return at === text.length - 1 ? text.length : at + 1 - size
}
