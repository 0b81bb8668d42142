// Byte pair encoding of words, with a vocabulary and ranked merges.

import { MAX_MERGES, malformed, shown } from '../spec.ts'
import { BYTE_CHARS, charsOfBytes, crossesWords } from './byte-level.ts'
import { cachedWords, Merger } from './merge.ts'
import { byteName, type Vocabulary } from './vocabulary.ts'

/**
 * A hash table with open addressing in one typed array. It takes a quarter of a Map's memory and creates no
 * keys.
 */
export class PairTable {
  readonly #slots: Int32Array // [slot][left + 1, right, rank]; 0 is free
  readonly #mask: number
  // Random for each table, so that nobody can construct merges whose pairs all collide.
  readonly #left = randomOdd()
  readonly #right = randomOdd()

  constructor(pairs: number) {
    const slots = 2 ** Math.ceil(Math.log2(pairs * 2 + 2))
    this.#slots = new Int32Array(slots * 3)
    this.#mask = slots - 1
  }

  /** Adds a pair; an existing pair keeps its rank. Do not add more pairs than the table was sized for. */
  add(left: number, right: number, rank: number): void {
    const at = this.#slot(left, right) * 3
    if (this.#slots[at] !== 0) return
    this.#slots[at] = left + 1
    this.#slots[at + 1] = right
    this.#slots[at + 2] = rank
  }

  get(left: number, right: number): number {
    // An unknown symbol would look like a free slot.
    if (left < 0) return -1
    const at = this.#slot(left, right) * 3
    return this.#slots[at] === 0 ? -1 : this.#slots[at + 2]!
  }

  /** The slot of the pair, or the free slot where it belongs. */
  #slot(left: number, right: number): number {
    const mixed = Math.imul(left, this.#left) ^ Math.imul(right, this.#right)
    let slot = (Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d) >>> 7) & this.#mask
    for (;;) {
      const found = this.#slots[slot * 3]
      if (found === 0 || (found === left + 1 && this.#slots[slot * 3 + 1] === right)) return slot
      slot = (slot + 1) & this.#mask
    }
  }
}

function randomOdd(): number {
  return (Math.random() * 2 ** 32) | 1
}

interface BpeOptions {
  /** Words are split into bytes, not into characters. */
  readonly byteLevel: boolean
  /** A character without a token becomes its bytes `<0x..>`. */
  readonly byteFallback?: boolean
  /** A word that is a token becomes that token, regardless of the merges. */
  readonly ignoreMerges?: boolean
  /** Replaces symbols without a token. If absent, they are dropped. */
  readonly unknownId?: number | undefined
  /** Several unknown characters in a row become one unknown token. */
  readonly fuseUnknown?: boolean
}

const encoder = new TextEncoder()
/** Maximum number of UTF-8 bytes per UTF-16 unit. */
const UTF8_GROWTH = 3

interface Bpe {
  /** True if some merge produces a token that spans two marked words. */
  readonly crossesWords: boolean
  /** Adds the ids of `word` to `out`. */
  encode(word: string, out: number[]): void
}

/**
 * `merges` are `left right` strings or pairs, the highest priority first. Throws `format` for a merge that
 * is not a pair or whose tokens are not in the vocabulary.
 */
export function createBpe(vocabulary: Vocabulary, merges: readonly unknown[], options: BpeOptions): Bpe {
  if (merges.length > MAX_MERGES) throw malformed(`has ${merges.length} merges; the limit is ${MAX_MERGES}`)
  const { byteLevel, byteFallback, ignoreMerges, unknownId, fuseUnknown } = options
  const { pairs, made } = readMerges(vocabulary, merges)
  const merger = new Merger({
    find: (left, right) => pairs.get(left, right),
    priority: (merge) => merge,
    symbol: (merge) => made[merge]!,
  })
  const nameOf = byteLevel ? (byte: number) => BYTE_CHARS[byte]! : byteName
  // The id of each byte; -1 if it has none.
  const byteIds = Int32Array.from({ length: 256 }, (_, byte) => vocabulary.idOf(nameOf(byte)) ?? -1)
  let bytes = new Uint8Array(1024)
  return {
    crossesWords: !byteLevel && crossesWords(Array.from(made, (id) => vocabulary.tokens[id] ?? '')),
    encode: cachedWords(encode),
  }

  function encode(word: string): readonly number[] {
    const whole = ignoreMerges ? vocabulary.idOf(spell(word)) : undefined
    if (whole !== undefined) return [whole]
    if (byteLevel) beginBytes(word)
    else beginCharacters(word)
    const left = merger.merge()
    const ids: number[] = []
    let wasUnknown = false
    for (let at = 0; at < left; at++) {
      const id = merger.symbols[at]!
      if (id >= 0) ids.push(id)
      else if (unknownId !== undefined && !(fuseUnknown && wasUnknown)) ids.push(unknownId)
      wasUnknown = id < 0
    }
    return ids
  }

  function beginBytes(word: string): void {
    const count = writeBytes(word)
    const symbols = merger.begin(count)
    for (let at = 0; at < count; at++) symbols[at] = byteIds[bytes[at]!]!
  }

  function beginCharacters(word: string): void {
    const ids: number[] = []
    for (const character of word) {
      const id = vocabulary.idOf(character)
      if (id === undefined) pushUnknown(character, ids)
      else ids.push(id)
    }
    merger.begin(ids.length).set(ids)
  }

  function pushUnknown(character: string, ids: number[]): void {
    const count = byteFallback ? writeBytes(character) : 0
    const own = Array.from(bytes.subarray(0, count), (byte) => byteIds[byte]!)
    if (count === 0 || own.includes(-1)) ids.push(-1)
    else ids.push(...own)
  }

  /** The word in the spelling of the vocabulary. */
  function spell(word: string): string {
    return byteLevel ? charsOfBytes(bytes, writeBytes(word)) : word
  }

  function writeBytes(text: string): number {
    if (bytes.length < text.length * UTF8_GROWTH) bytes = new Uint8Array(text.length * UTF8_GROWTH)
    return encoder.encodeInto(text, bytes).written
  }
}

interface Merges {
  /** Rank of each pair of ids. */
  readonly pairs: PairTable
  /** The id that each merge produces, by rank. */
  readonly made: Int32Array
}

function readMerges(vocabulary: Vocabulary, merges: readonly unknown[]): Merges {
  const pairs = new PairTable(merges.length)
  const made = new Int32Array(merges.length)
  for (let rank = 0; rank < merges.length; rank++) {
    const merge = merges[rank]
    const gap = typeof merge === 'string' ? merge.indexOf(' ', 1) : -1
    const [leftId, rightId, id] =
      typeof merge === 'string' && gap > 0 && gap + 1 < merge.length
        ? idsIn(vocabulary, merge, gap)
        : idsOf(vocabulary, readPair(merge, rank))
    if (leftId === undefined || rightId === undefined || id === undefined) {
      const [left, right] = readPair(merge, rank)
      const missing = leftId === undefined ? left : rightId === undefined ? right : left + right
      throw malformed(
        `has merge ${rank} of ${shown(left)} and ${shown(right)} but no token ${shown(missing)}`,
      )
    }
    pairs.add(leftId, rightId, rank)
    made[rank] = id
  }
  return { pairs, made }
}

type MergeIds = readonly [left: number | undefined, right: number | undefined, both: number | undefined]

/**
 * The ids of the two tokens around `gap`, and of both as one. Makes no strings, of which there would be 10^5.
 */
const idsIn = (vocabulary: Vocabulary, merge: string, gap: number): MergeIds => [
  vocabulary.idWithin(merge, 0, gap),
  vocabulary.idWithin(merge, gap + 1, merge.length),
  vocabulary.idWithin(merge, 0, merge.length, gap),
]

const idsOf = (vocabulary: Vocabulary, [left, right]: readonly [string, string]): MergeIds => [
  vocabulary.idOf(left),
  vocabulary.idOf(right),
  vocabulary.idOf(left + right),
]

function readPair(merge: unknown, rank: number): readonly [string, string] {
  if (typeof merge === 'string') {
    // The left token may begin with a space but is never empty.
    const at = merge.indexOf(' ', 1)
    if (at > 0 && at + 1 < merge.length) return [merge.slice(0, at), merge.slice(at + 1)]
  } else if (Array.isArray(merge) && merge.length === 2) {
    const [left, right] = merge
    if (typeof left === 'string' && typeof right === 'string') return [left, right]
  }
  throw malformed(`has merge ${rank}, which is not two tokens: ${shown(merge)}`)
}
