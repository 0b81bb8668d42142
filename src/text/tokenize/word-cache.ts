// Word cache. In: a function from words to ids. Out: the same function, with a cache.

/** V8 copies slices up to this length. A longer slice would keep the text that it was cut from alive. */
const LONGEST = 12
const MOST = 1 << 15

/**
 * Returns a function that adds a word's ids to `out`. A full cache is cleared, which is cheaper than tracking
 * use.
 */
export function cachedWords(
  encode: (word: string) => readonly number[],
): (word: string, out: number[]) => void {
  const words = new Map<string, readonly number[]>()
  return (word, out) => {
    let ids = words.get(word)
    if (ids === undefined) {
      ids = encode(word)
      if (word.length <= LONGEST) {
        if (words.size >= MOST) words.clear()
        words.set(word, ids)
      }
    }
    for (const id of ids) out.push(id)
  }
}
