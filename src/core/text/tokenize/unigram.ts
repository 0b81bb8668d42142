// SentencePiece's unigram model: splits a text into the pieces whose scores have the largest sum.
import { cachedWords } from './merge.ts'
import { type Piece, PieceSearch } from './piece-search.ts'
import { byteName, type Vocabulary } from './vocabulary.ts'

/** By how much a character without a piece scores below the lowest score; SentencePiece's `kUnkPenalty`. */
const UNKNOWN_PENALTY = 10

interface UnigramOptions {
  /** Logarithms of probabilities, by id. Tokens beyond them are not pieces. */
  readonly scores: ArrayLike<number>
  readonly unknownId: number
  /** Characters without a piece are spelled in bytes, if the vocabulary has all of them. */
  readonly byteFallback: boolean
}

/**
 * Returns a function that adds the ids of a word to `out`: the best path through all pieces by Viterbi's
 * algorithm (Kudo 2018, "Subword Regularization", section 3.1). Among equal paths, the one whose last piece
 * begins first wins. Neighbouring characters without a piece become one unknown token. Throws `format` if the
 * pieces take too much memory or time.
 */
export function createUnigram(
  vocabulary: Vocabulary,
  { scores, unknownId, byteFallback }: UnigramOptions,
): (word: string, out: number[]) => void {
  const unknownScore =
    Array.from(scores).reduce((least, score) => Math.min(least, score), 0) - UNKNOWN_PENALTY
  const search = new PieceSearch(piecesOf(vocabulary, scores))
  const spell = byteFallback ? bytesIn(vocabulary) : () => undefined
  return cachedWords((word) => {
    const { from, piece } = bestPath(word)
    const ids: number[] = []
    for (let end = word.length; end > 0; ) {
      let start = from[end]!
      if (piece[end] !== unknownId) {
        ids.push(piece[end]!)
      } else {
        while (start > 0 && piece[start] === unknownId) start = from[start]!
        ids.push(...(spell(word.slice(start, end))?.toReversed() ?? [unknownId]))
      }
      end = start
    }
    return ids.reverse()
  })

  /** For each unit where a piece of the best path may end: where the piece begins, and its id. */
  // hot
  function bestPath(word: string): { readonly from: Int32Array; readonly piece: Int32Array } {
    const from = new Int32Array(word.length + 1).fill(-1)
    const piece = new Int32Array(word.length + 1)
    const best = new Float64Array(word.length + 1)
    const offer = (start: number, end: number, id: number, score: number): void => {
      if (from[end] !== -1 && !(score > best[end]!)) return
      from[end] = start
      piece[end] = id
      best[end] = score
    }
    let node = 0
    for (let last = 0, end = 1; end <= word.length; end++) {
      node = search.step(node, word.charCodeAt(end - 1))
      // No piece begins or ends inside a surrogate pair.
      if (end - last === 1 && word.codePointAt(last)! > 0xffff) continue
      let hasOne = false
      for (let found = search.longest(node); found !== 0; found = search.shorter(found)) {
        const start = end - search.lengthOf(found)
        if (start > 0 && from[start] === -1) continue
        const id = search.idOf(found)
        offer(start, end, id, best[start]! + scores[id]!)
        if (start === last) hasOne = true
      }
      if (!hasOne) offer(last, end, unknownId, best[last]! + unknownScore)
      last = end
    }
    return { from, piece }
  }
}

/** The pieces into which a text may be split: those that have a score and stand for their own text. */
function* piecesOf(vocabulary: Vocabulary, scores: ArrayLike<number>): Generator<Piece> {
  for (let id = 0; id < scores.length; id++) {
    const text = vocabulary.tokens[id]
    if (text !== undefined && vocabulary.idOf(text) === id) yield { text, id }
  }
}

function bytesIn(vocabulary: Vocabulary): (text: string) => number[] | undefined {
  const encoder = new TextEncoder()
  return (text) => {
    const ids = Array.from(encoder.encode(text), (byte) => vocabulary.idOf(byteName(byte)))
    return ids.every((id) => id !== undefined) ? ids : undefined
  }
}
