// WordPiece: splits a word into the longest pieces of a vocabulary, from left to right.
import { cachedWords } from './merge.ts'
import type { Vocabulary } from './vocabulary.ts'

interface WordPieceOptions {
  /** Prefixes in the vocabulary: of a piece that begins a word, and of one inside a word. */
  readonly first: string
  readonly inner: string
  /** Replaces a word that the vocabulary cannot spell. */
  readonly unknownId: number
  /** Longer words, in characters, are unknown. */
  readonly longestWord: number
}

/** Returns a function that adds the ids of a word to `out`. */
export function createWordPiece(
  vocabulary: Vocabulary,
  { first, inner, unknownId, longestWord }: WordPieceOptions,
): (word: string, out: number[]) => void {
  const unknown = [unknownId]
  return cachedWords((word) => {
    // A character has at most two units.
    if (word.length > 2 * longestWord || [...word].length > longestWord) return unknown
    const ids: number[] = []
    for (let start = 0; start < word.length; ) {
      const mark = start === 0 ? first : inner
      let end = Math.min(word.length, start + vocabulary.longest)
      let id: number | undefined
      for (; end > start; end--) {
        id = vocabulary.idOf(mark + word.slice(start, end))
        if (id !== undefined) break
      }
      if (id === undefined) return unknown
      ids.push(id)
      start = end
    }
    return ids
  })
}
