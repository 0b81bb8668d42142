// Word cache. In: words and the ids they became. Out: the ids again, for words that come back.

/** V8 copies slices up to this length; a longer one would keep the whole text it was cut from alive. */
const LONGEST = 12
const MOST = 1 << 15

export class WordCache {
  readonly #words = new Map<string, readonly number[]>()

  get(word: string): readonly number[] | undefined {
    return this.#words.get(word)
  }

  /** Keeps short words; when it is full it starts again, which costs less than remembering what was used last. */
  keep(word: string, ids: readonly number[]): void {
    if (word.length > LONGEST) return
    if (this.#words.size >= MOST) this.#words.clear()
    this.#words.set(word, ids)
  }
}
