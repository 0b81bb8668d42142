// Byte pair encoding. In: a word, a vocabulary and merges by rank. Out: ids.
import { BYTE_CHARS, charsOfBytes } from './byte-level.ts'
import { crossesWords } from './marks.ts'
import { Merger } from './merge.ts'
import { PairTable } from './pair-table.ts'
import { MAX_MERGES, malformed, shown } from './spec.ts'
import { byteName, type Vocabulary } from './vocabulary.ts'
import { WordCache } from './word-cache.ts'

export interface BpeOptions {
  /** Words are cut into bytes, not into characters. */
  readonly byteLevel: boolean
  /** A character without a token becomes its bytes `<0x..>`. */
  readonly byteFallback?: boolean
  /** A word that is a token is that token, whatever the merges say. */
  readonly ignoreMerges?: boolean
  /** Stands for what has no token; without it that is left out. */
  readonly unknownId?: number | undefined
  /** Several unknown characters in a row become one. */
  readonly fuseUnknown?: boolean
}

const encoder = new TextEncoder()
/** Bytes per UTF-16 unit, at most. */
const UTF8_GROWTH = 3

export class Bpe {
  /** True when a merge makes a token that goes from one marked word into the next. */
  readonly crossesWords: boolean
  readonly #vocabulary: Vocabulary
  readonly #options: BpeOptions
  readonly #merger: Merger
  readonly #cache = new WordCache()
  /** Id of each byte, -1 without one. */
  readonly #byteIds: Int32Array
  #bytes = new Uint8Array(1024)

  /**
   * `merges` are `left right` or pairs, the first the most important. Throws `format` for a merge that is no pair or
   * whose tokens are not in the vocabulary.
   */
  constructor(vocabulary: Vocabulary, merges: readonly unknown[], options: BpeOptions) {
    if (merges.length > MAX_MERGES)
      throw malformed(`has ${merges.length} merges; at most ${MAX_MERGES} are possible`)
    this.#vocabulary = vocabulary
    this.#options = options
    const { pairs, made } = readMerges(vocabulary, merges)
    this.crossesWords =
      !options.byteLevel && crossesWords(Array.from(made, (id) => vocabulary.tokens[id] ?? ''))
    this.#merger = new Merger({
      find: (left, right) => pairs.get(left, right),
      priority: (merge) => merge,
      symbol: (merge) => made[merge] as number,
    })
    const nameOf = options.byteLevel ? (byte: number) => BYTE_CHARS[byte] as string : byteName
    this.#byteIds = Int32Array.from({ length: 256 }, (_, byte) => vocabulary.idOf(nameOf(byte)) ?? -1)
  }

  /** Adds the ids of `word` to `out`. */
  encode(word: string, out: number[]): void {
    let ids = this.#cache.get(word)
    if (ids === undefined) {
      ids = this.#encode(word)
      this.#cache.keep(word, ids)
    }
    for (const id of ids) out.push(id)
  }

  #encode(word: string): readonly number[] {
    const whole = this.#options.ignoreMerges ? this.#vocabulary.idOf(this.#spell(word)) : undefined
    if (whole !== undefined) return [whole]
    const { byteLevel, unknownId, fuseUnknown } = this.#options
    if (byteLevel) this.#beginBytes(word)
    else this.#beginCharacters(word)
    const left = this.#merger.merge()
    const ids: number[] = []
    let wasUnknown = false
    for (let at = 0; at < left; at++) {
      const id = this.#merger.symbols[at] as number
      if (id >= 0) ids.push(id)
      else if (unknownId !== undefined && !(fuseUnknown && wasUnknown)) ids.push(unknownId)
      wasUnknown = id < 0
    }
    return ids
  }

  #beginBytes(word: string): void {
    const count = this.#writeBytes(word)
    const symbols = this.#merger.begin(count)
    for (let at = 0; at < count; at++) symbols[at] = this.#byteIds[this.#bytes[at] as number] as number
  }

  #beginCharacters(word: string): void {
    const ids: number[] = []
    for (const character of word) {
      const id = this.#vocabulary.idOf(character)
      if (id === undefined) this.#pushUnknown(character, ids)
      else ids.push(id)
    }
    this.#merger.begin(ids.length).set(ids)
  }

  #pushUnknown(character: string, ids: number[]): void {
    const count = this.#options.byteFallback ? this.#writeBytes(character) : 0
    const bytes = Array.from(this.#bytes.subarray(0, count), (byte) => this.#byteIds[byte] as number)
    if (count === 0 || bytes.includes(-1)) ids.push(-1)
    else ids.push(...bytes)
  }

  /** The word as the vocabulary would spell it. */
  #spell(word: string): string {
    return this.#options.byteLevel ? charsOfBytes(this.#bytes, this.#writeBytes(word)) : word
  }

  #writeBytes(text: string): number {
    if (this.#bytes.length < text.length * UTF8_GROWTH)
      this.#bytes = new Uint8Array(text.length * UTF8_GROWTH)
    return encoder.encodeInto(text, this.#bytes).written
  }
}

interface Merges {
  /** The rank of a pair of ids. */
  readonly pairs: PairTable
  /** The id each merge makes, by rank. */
  readonly made: Int32Array
}

function readMerges(vocabulary: Vocabulary, merges: readonly unknown[]): Merges {
  const pairs = new PairTable(merges.length)
  const made = new Int32Array(merges.length)
  for (let rank = 0; rank < merges.length; rank++) {
    const [left, right] = readPair(merges[rank], rank)
    const leftId = vocabulary.idOf(left)
    const rightId = vocabulary.idOf(right)
    const id = vocabulary.idOf(left + right)
    if (leftId === undefined || rightId === undefined || id === undefined) {
      const missing = leftId === undefined ? left : rightId === undefined ? right : left + right
      throw malformed(
        `has a merge ${rank} of ${shown(left)} and ${shown(right)} but no token ${shown(missing)}`,
      )
    }
    pairs.add(leftId, rightId, rank)
    made[rank] = id
  }
  return { pairs, made }
}

function readPair(merge: unknown, rank: number): readonly [string, string] {
  if (typeof merge === 'string') {
    // A token may begin with a space but, as a merge's left side, is never empty.
    const at = merge.indexOf(' ', 1)
    if (at > 0 && at + 1 < merge.length) return [merge.slice(0, at), merge.slice(at + 1)]
  } else if (Array.isArray(merge) && merge.length === 2) {
    const [left, right] = merge
    if (typeof left === 'string' && typeof right === 'string') return [left, right]
  }
  throw malformed(`has a merge ${rank} that is not two tokens: ${shown(merge)}`)
}
