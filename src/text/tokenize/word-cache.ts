// Word cache. In: how a word becomes ids. Out: the same, which remembers the words that come back.

/** V8 copies slices up to this length; a longer one would keep the whole text it was cut from alive. */
const LONGEST = 12
const MOST = 1 << 15

/** Adds a word's ids to `out`. Short words are kept; when it is full it starts again, which costs less than an order of use. */
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
