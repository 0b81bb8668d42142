// Rows that replace tokens in a prompt, such as the parts of an image.

import { ABI } from '../../abi/constants.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { isInputWord, RowSource, rowMissing } from './row-source.ts'

const FIRST = 2 ** ABI.INPUT_BIT
/** Number of words available. */
const WORDS = 2 ** ABI.INPUT_BIT

/** The words of one group of rows: [first, first + count). */
export interface InputRange {
  /** Identifies the content, as a hash would: a hexadecimal number of at least eight digits. */
  readonly key: string
  readonly first: number
  readonly count: number
  /** Number of rows that lie side by side in the image. Absent: they form a line, like tokens. */
  readonly columns?: number | undefined
}

interface Entry extends InputRange {
  /** [count][width], while they are held. */
  rows: Float32Array | undefined
  holders: number
}

/**
 * Assigns unique words to groups of rows, so that a sequence of words identifies its rows. Equal content has
 * equal words: a group's words begin at a number derived from its key, so that saved sequences keep their
 * meaning. The rows themselves are kept only while a caller holds them; the state computed from them may
 * outlive them.
 */
export class InputRows extends RowSource {
  override readonly width: number
  readonly #entries = new Map<string, Entry>()
  /** The entries, sorted by their first word. */
  readonly #order: Entry[] = []

  override readonly isPlaced: boolean
  readonly #isWhole: boolean

  /** `isWhole`: the rows of an image attend to each other. Default: only to those before them. */
  constructor(width: number, isWhole = false, isPlaced = false) {
    super()
    this.width = width
    this.#isWhole = isWhole
    this.isPlaced = isPlaced
  }

  /**
   * Returns the words of `count` rows with this content; new words if the content is new. `columns`: see
   * `InputRange`.
   */
  wordsOf(key: string, count: number, columns?: number): number[] {
    const known = this.#entries.get(key)
    if (known !== undefined && known.count !== count) {
      throw new HalfbyteError('internal', `${count} rows have the same key as ${known.count} others`)
    }
    const { first } = known ?? this.#add({ key, first: this.#freeFrom(key, count), count, columns })
    return Array.from({ length: count }, (_, index) => first + index)
  }

  /** The ranges whose words occur in `words`. */
  rangesIn(words: ArrayLike<number>): InputRange[] {
    const found = new Set<Entry>()
    for (let index = 0; index < words.length; index++) {
      const word = words[index]!
      const entry = isInputWord(word) ? this.#entryAt(word) : undefined
      if (entry !== undefined) found.add(entry)
    }
    return [...found].map(({ key, first, count, columns }) => ({ key, first, count, columns }))
  }

  /**
   * Takes over a range of a saved sequence. Returns false if its words or its key already stand for something
   * else.
   */
  claim(range: InputRange): boolean {
    const { key, first, count, columns } = range
    const known = this.#entries.get(key)
    if (known !== undefined)
      return known.first === first && known.count === count && known.columns === columns
    if (this.isPlaced !== (columns !== undefined && columns > 0 && count % columns === 0)) return false
    if (!this.#isFree(first, count)) return false
    this.#add(range)
    return true
  }

  /** Whether the rows are held. */
  has(key: string): boolean {
    return this.#entries.get(key)?.rows !== undefined
  }

  /**
   * Keeps rows until `release`. `rows` [count][width] may be omitted if they are already held. Throws
   * `internal` for rows of the wrong size.
   */
  hold(key: string, rows?: Float32Array): void {
    const entry = this.#entries.get(key)
    const held = rows ?? entry?.rows
    if (entry === undefined || held?.length !== entry.count * this.width) {
      throw new HalfbyteError('internal', `got ${held?.length ?? 0} numbers for the rows of ${key}`)
    }
    entry.rows = held
    entry.holders++
  }

  release(key: string): void {
    const entry = this.#entries.get(key)
    if (entry !== undefined && --entry.holders === 0) entry.rows = undefined
  }

  /** The row [width] that a word represents; undefined if it is not held. */
  override row(word: number): Float32Array | undefined {
    const entry = this.#entryAt(word)
    const at = entry === undefined ? 0 : (word - entry.first) * this.width
    return entry?.rows?.subarray(at, at + this.width)
  }

  override takes(word: number): boolean {
    return isInputWord(word)
  }

  // hot
  override check(tokens: readonly number[], from: number, to: number): void {
    for (let at = from; at < to; at++) {
      const word = tokens[at]!
      if (isInputWord(word) && this.row(word) === undefined) throw rowMissing(word)
    }
  }

  // hot
  override togetherAt(tokens: readonly number[], at: number): number {
    const word = tokens[at]
    if (!this.#isWhole || word === undefined || !isInputWord(word)) return 0
    const { first, count } = this.#entryAt(word) ?? { first: word, count: 1 }
    return first + count - word
  }

  // hot
  override untilTogether(tokens: readonly number[], at: number, rows: number): number {
    if (!this.#isWhole) return rows
    for (let next = 0; next < rows; next++) if (isInputWord(tokens[at + next] ?? 0)) return next
    return rows
  }

  /**
   * As in Qwen2-VL: an image has a single time, and the position of the next token follows from its longer
   * side.
   */
  override locate(word: number, place: number, into: Uint32Array, at: number): number {
    const { first, count, columns = count } = this.#entryAt(word) ?? { first: word, count: 1 }
    const row = Math.floor((word - first) / columns)
    into[at] = place
    into[at + 1] = place + row
    into[at + 2] = place + ((word - first) % columns)
    return word + 1 < first + count ? place : place + Math.max(columns, count / columns)
  }

  #add(range: InputRange): Entry {
    const entry: Entry = { ...range, rows: undefined, holders: 0 }
    this.#entries.set(entry.key, entry)
    this.#order.splice(this.#indexAfter(entry.first), 0, entry)
    return entry
  }

  #entryAt(word: number): Entry | undefined {
    const entry = this.#order[this.#indexAfter(word) - 1]
    return entry !== undefined && word < entry.first + entry.count ? entry : undefined
  }

  /** How many entries begin at or before `word`. */
  #indexAfter(word: number): number {
    let low = 0
    for (let high = this.#order.length; low < high; ) {
      const middle = (low + high) >>> 1
      if (this.#order[middle]!.first <= word) low = middle + 1
      else high = middle
    }
    return low
  }

  #isFree(first: number, count: number): boolean {
    const at = this.#indexAfter(first)
    const before = this.#order[at - 1]
    const after = this.#order[at]
    return (
      first >= FIRST &&
      first + count <= FIRST + WORDS &&
      (before === undefined || before.first + before.count <= first) &&
      (after === undefined || first + count <= after.first)
    )
  }

  #freeFrom(key: string, count: number): number {
    let first = FIRST + (Number.parseInt(key.slice(0, 8), 16) % (WORDS - count))
    while (!this.#isFree(first, count)) {
      const entry = this.#order[Math.max(0, this.#indexAfter(first + count - 1) - 1)]!
      first = entry.first + entry.count
      if (first + count > FIRST + WORDS) first = FIRST
    }
    return first
  }
}
