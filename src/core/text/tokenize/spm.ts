// SentencePiece's BPE: encodes text with marks for spaces, using a vocabulary with scores.
import { crossesWords, markedWords } from './byte-level.ts'
import { cachedWords, Merger } from './merge.ts'
import { byteName, KIND, type Vocabulary } from './vocabulary.ts'

const encoder = new TextEncoder()

/**
 * Returns a function that adds the ids of a text to `out`. Two neighbours merge if their joined text is a
 * token; the best score merges first. There are no merge rules, so the joined text of adjacent symbols is
 * looked up. `unknownId` replaces bytes that the vocabulary lacks; without it they are dropped.
 */
export function createSpm(
  vocabulary: Vocabulary,
  scores: readonly number[],
  unknownId: number | undefined,
): (text: string, out: number[]) => void {
  const isWhole = crossesWords(mergeable(vocabulary))
  const merger = new Merger({
    find: (_left, _right, start, end) => find(start, end),
    priority: (id) => -scores[id]!,
    symbol: (id) => id,
  })
  const byteIds = Int32Array.from({ length: 256 }, (_, byte) => vocabulary.idOf(byteName(byte)) ?? -1)
  const encodeWord = cachedWords(encode)
  let word = ''
  // Where each character of the word begins, and the end of the word.
  let offsets: number[] = []
  return (text, out) => {
    for (const each of isWhole ? [text] : markedWords(text)) encodeWord(each, out)
  }

  function encode(next: string): readonly number[] {
    word = next
    offsets = [0]
    let offset = 0
    for (const character of word) {
      offset += character.length
      offsets.push(offset)
    }
    const count = offsets.length - 1
    const symbols = merger.begin(count)
    for (let at = 0; at < count; at++) symbols[at] = find(at, at + 1)
    const left = merger.merge()
    const ids: number[] = []
    for (let at = 0; at < left; at++) {
      const id = merger.symbols[at]!
      if (id >= 0) ids.push(id)
      else pushBytes(merger.positions[at]!, ids)
    }
    return ids
  }

  /** The token whose text is the characters in [start, end), or -1. Only normal tokens match. */
  function find(start: number, end: number): number {
    const id = vocabulary.idOf(word.slice(offsets[start], offsets[end]))
    return id !== undefined && vocabulary.kind(id) === KIND.normal ? id : -1
  }

  /** Adds the bytes of a symbol without a token; such a symbol is always a single character. */
  function pushBytes(position: number, ids: number[]): void {
    for (const byte of encoder.encode(word.slice(offsets[position], offsets[position + 1]))) {
      const id = byteIds[byte]!
      if (id >= 0) ids.push(id)
      else if (unknownId !== undefined) ids.push(unknownId)
    }
  }
}

function* mergeable(vocabulary: Vocabulary): Iterable<string> {
  for (const [id, token] of vocabulary.tokens.entries()) {
    if (token !== undefined && vocabulary.kind(id) === KIND.normal) yield token
  }
}
