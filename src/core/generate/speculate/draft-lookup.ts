// Drafts the tokens that followed an earlier occurrence of the text's end.
import type { Drafter } from '../schedule/speculation.ts'

/** Minimum match length; after a single matching token, the next one is hardly predictable. */
const LEAST_MATCH = 2
/** Maximum match length that is compared; longer matches are no more certain. */
const MAX_MATCH = 16
/** Number of earlier places to compare, latest first. */
const MAX_PLACES = 32
const HEAD_BITS = 12
/** Minimum match length of each grade above 0. */
const GRADE_MATCHES = [3, 4, 6, 9] as const

/**
 * Drafts from the longest suffix of the text that also occurs earlier; among equals, from the latest
 * occurrence. Works for quotes, code, names and lists. Saxena, Prompt Lookup Decoding, 2023. As in LZ77, the
 * places of each pair of tokens are chained by a hash.
 */
export class LookupDrafter implements Drafter {
  readonly msPerDraft = 0
  grade = 0
  /** 1 + the last place of each hash. A place is the index of a pair's second token. */
  readonly #heads = new Int32Array(1 << HEAD_BITS)
  /** For each place: 1 + the previous place with the same hash. */
  #before = new Int32Array(256)
  /** Number of tokens whose places have been indexed. */
  #known = 0
  #tokens: readonly number[] = []
  /** Index of the first token to draft. */
  #from = 0

  // hot
  look(tokens: readonly number[]): number {
    this.#tokens = tokens
    const last = tokens.length - 1
    if (last < LEAST_MATCH) return 0
    this.#index(last)
    let longest = 0
    let place = this.#heads[hash(tokens[last - 1]!, tokens[last]!)]!
    for (let looked = 0; place > 0 && looked < MAX_PLACES && longest < MAX_MATCH; looked++) {
      const length = this.#matchOf(place - 1, last)
      if (length > longest) {
        longest = length
        this.#from = place
      }
      place = this.#before[place - 1]!
    }
    if (longest < LEAST_MATCH) return 0
    this.grade = 0
    while (this.grade < GRADE_MATCHES.length && longest >= GRADE_MATCHES[this.grade]!) this.grade++
    return Number.POSITIVE_INFINITY
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
