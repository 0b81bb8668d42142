// SentencePiece's BPE. In: text whose spaces are marks, a vocabulary with scores. Out: ids.
import { crossesWords, markedWords } from './marks.ts'
import { Merger } from './merge.ts'
import { byteName, KIND, type Vocabulary } from './vocabulary.ts'
import { WordCache } from './word-cache.ts'

const encoder = new TextEncoder()

/**
 * Two neighbours merge when what they spell together is a token; the best score goes first. There are no merge rules,
 * so neighbours are looked up by what they spell.
 */
export class Spm {
  readonly #vocabulary: Vocabulary
  readonly #unknownId: number | undefined
  readonly #crossesWords: boolean
  readonly #merger: Merger
  readonly #cache = new WordCache()
  readonly #byteIds: Int32Array
  #word = ''
  /** Where each character of the word begins, and its end. */
  #offsets: number[] = []

  /** `unknownId` stands for bytes the vocabulary lacks; without it they are left out. */
  constructor(vocabulary: Vocabulary, scores: readonly number[], unknownId: number | undefined) {
    this.#vocabulary = vocabulary
    this.#unknownId = unknownId
    this.#crossesWords = crossesWords(mergeable(vocabulary))
    this.#merger = new Merger({
      find: (_left, _right, start, end) => this.#find(start, end),
      priority: (id) => -(scores[id] as number),
      symbol: (id) => id,
    })
    this.#byteIds = Int32Array.from({ length: 256 }, (_, byte) => vocabulary.idOf(byteName(byte)) ?? -1)
  }

  /** Adds the ids of `text` to `out`. */
  encode(text: string, out: number[]): void {
    for (const word of this.#crossesWords ? [text] : markedWords(text)) {
      let ids = this.#cache.get(word)
      if (ids === undefined) {
        ids = this.#encode(word)
        this.#cache.keep(word, ids)
      }
      for (const id of ids) out.push(id)
    }
  }

  #encode(word: string): readonly number[] {
    this.#split(word)
    const count = this.#offsets.length - 1
    const symbols = this.#merger.begin(count)
    for (let at = 0; at < count; at++) symbols[at] = this.#find(at, at + 1)
    const left = this.#merger.merge()
    const ids: number[] = []
    for (let at = 0; at < left; at++) {
      const id = this.#merger.symbols[at] as number
      if (id >= 0) ids.push(id)
      else this.#pushBytes(this.#merger.positions[at] as number, ids)
    }
    return ids
  }

  #split(word: string): void {
    this.#word = word
    this.#offsets = [0]
    let offset = 0
    for (const character of word) {
      offset += character.length
      this.#offsets.push(offset)
    }
  }

  /** The token that the characters [start, end) spell, or -1. Only normal tokens are spelled by text. */
  #find(start: number, end: number): number {
    const id = this.#vocabulary.idOf(this.#word.slice(this.#offsets[start], this.#offsets[end]))
    return id !== undefined && this.#vocabulary.kind(id) === KIND.normal ? id : -1
  }

  /** Only single characters are left without a token. */
  #pushBytes(position: number, ids: number[]): void {
    const character = this.#word.slice(this.#offsets[position], this.#offsets[position + 1])
    for (const byte of encoder.encode(character)) {
      const id = this.#byteIds[byte] as number
      if (id >= 0) ids.push(id)
      else if (this.#unknownId !== undefined) ids.push(this.#unknownId)
    }
  }
}

function* mergeable(vocabulary: Vocabulary): Iterable<string> {
  for (const [id, token] of vocabulary.tokens.entries()) {
    if (token !== undefined && vocabulary.kind(id) === KIND.normal) yield token
  }
}
