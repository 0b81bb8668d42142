// Drafts the tokens that followed an earlier occurrence of the text's end.
import { type Drafter, GRADES } from '../schedule/speculation.ts'

/** Minimum match length; after a single matching token, the next one is hardly predictable. */
const LEAST_MATCH = 2
/** Maximum match length that is compared; longer matches are no more certain. */
const MAX_MATCH = 16
/** Number of earlier places to compare, latest first. */
const MAX_PLACES = 32
const HEAD_BITS = 12
/** Minimum match length of each grade above the first. */
const GRADE_MATCHES = [3, 4, 6, 9, 16] as const

/** A copy may be resumed if it was at least this long when it broke off, */
const LEAST_COPY = 4
/** at most this many tokens later, */
const MAX_DETOUR = 8
/** and at most this many tokens further on in the original. */
const MAX_SKIP = 16

/**
 * Drafts from the longest suffix of the text that also occurs earlier; among equals, from the latest
 * occurrence. Works for quotes, code, names and lists. Saxena, Prompt Lookup Decoding, 2023. As in LZ77, the
 * places of each pair of tokens are chained by a hash.
 *
 * An edited copy differs from its original in places: after such a place, the copy is resumed in the original
 * without waiting for a new match.
 */
export class LookupDrafter implements Drafter {
  readonly msPerDraft = 0
  /** 1 + the last place of each hash. A place is the index of a pair's second token. */
  readonly #heads = new Int32Array(1 << HEAD_BITS)
  /** For each place: 1 + the previous place with the same hash. */
  #before = new Int32Array(256)
  /** Number of tokens whose places have been indexed. */
  #known = 0
  #tokens: readonly number[] = []
  /** Length of the text when it was last read. */
  #length = 0
  /** Index of the first token to draft; 0 if there is none. */
  #from = 0
  /** Number of tokens before `#from` that match the text's end. */
  #match = 0
  #isResumed = false
  /** Where the last copy broke off, in the text and in its original; no copy did if it is 0. */
  #brokeAt = 0
  #brokeFrom = 0

  gradeAt(index: number): number {
    const length = this.#match + index
    if (this.#isResumed && length < LEAST_COPY) return GRADES.resumed + Math.min(length, 2)
    let grade = 0
    while (grade < GRADE_MATCHES.length && length >= GRADE_MATCHES[grade]!) grade++
    return GRADES.lookup + grade
  }

  // hot
  look(tokens: readonly number[]): number {
    this.#tokens = tokens
    this.#followCopy()
    this.#from = 0
    this.#match = 0
    this.#isResumed = false
    const last = tokens.length - 1
    if (last < LEAST_MATCH) return 0
    this.#index(last)
    this.#findLongest(last)
    this.#findResumed(last)
    return this.#from > 0 ? Number.POSITIVE_INFINITY : 0
  }

  /** Continues into its own drafts, so a repeating text is drafted repeatedly. */
  draft(count: number, out: Int32Array): number {
    const { length } = this.#tokens
    for (let index = 0; index < count; index++) {
      const at = this.#from + index
      out[index] = at < length ? this.#tokens[at]! : out[at - length]!
    }
    return count
  }

  /** Compares the tokens since the last call with the copy that was drafted then. */
  #followCopy(): void {
    const tokens = this.#tokens
    const start = this.#length
    this.#length = tokens.length
    // If a text became shorter, tokens in its middle were dropped.
    if (tokens.length < start) this.#brokeAt = 0
    if (this.#from === 0 || tokens.length < start) return
    let right = 0
    while (start + right < tokens.length && tokens[start + right] === tokens[this.#from + right]) right++
    if (start + right === tokens.length) {
      if (!this.#isResumed && this.#match + right >= LEAST_COPY) this.#brokeAt = 0
    } else if (this.#match + right >= LEAST_COPY) {
      this.#brokeAt = start + right
      this.#brokeFrom = this.#from + right
    }
  }

  #findLongest(last: number): void {
    const tokens = this.#tokens
    let place = this.#heads[hash(tokens[last - 1]!, tokens[last]!)]!
    for (let looked = 0; place > 0 && looked < MAX_PLACES && this.#match < MAX_MATCH; looked++) {
      const length = this.#matchOf(place - 1, last)
      if (length > this.#match && length >= LEAST_MATCH) {
        this.#match = length
        this.#from = place
      }
      place = this.#before[place - 1]!
    }
  }

  /**
   * Resumes the last copy after the token in the original that equals the text's last one. Directly after the
   * copy broke off, the new token may simply replace one.
   */
  #findResumed(last: number): void {
    const detour = last - this.#brokeAt
    if (this.#brokeAt === 0 || detour >= MAX_DETOUR) return
    const end = Math.min(this.#brokeFrom + MAX_SKIP, this.#brokeAt)
    const expected = this.#brokeFrom + detour
    let longest = 0
    let from = detour === 0 && this.#brokeFrom + 1 < this.#brokeAt ? this.#brokeFrom + 1 : 0
    for (let place = this.#brokeFrom; place < end; place++) {
      const length = this.#matchOf(place, last)
      const isNearer = Math.abs(place - expected) < Math.abs(from - 1 - expected)
      if (length < longest || length === 0 || (length === longest && !isNearer)) continue
      longest = length
      from = place + 1
    }
    if (from === 0 || longest < this.#match) return
    this.#match = longest
    this.#from = from
    this.#isResumed = true
  }

  /** Indexes the pairs that end before `end`. */
  #index(end: number): void {
    if (end > this.#before.length) {
      const before = new Int32Array(2 * end)
      before.set(this.#before)
      this.#before = before
    }
    for (let place = Math.max(1, this.#known); place < end; place++) {
      const slot = hash(this.#tokens[place - 1]!, this.#tokens[place]!)
      this.#before[place] = this.#heads[slot]!
      this.#heads[slot] = place + 1
    }
    this.#known = end
  }

  /** Number of tokens that agree, backwards from `place` and from `last`. */
  #matchOf(place: number, last: number): number {
    const tokens = this.#tokens
    let length = 0
    while (length < MAX_MATCH && length <= place && tokens[place - length] === tokens[last - length]) length++
    return length
  }
}

const hash = (first: number, second: number): number =>
  Math.imul(Math.imul(first, 0x9e3779b1) ^ second, 0x85ebca6b) >>> (32 - HEAD_BITS)
