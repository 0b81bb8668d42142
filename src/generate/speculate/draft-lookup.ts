// Lookup drafts. In: the tokens so far. Out: what followed the last time that the text went on like this.
import type { Drafter } from './speculation.ts'

/** Shortest match: what follows one token says little. */
const LEAST_MATCH = 2
/** A longer match is no surer, and needs not be compared. */
const MOST_MATCH = 16
/** Earlier places that are looked at, the latest first. */
const MOST_PLACES = 32
const HEAD_BITS = 12
/** Least match of each grade above 0. */
const GRADE_MATCHES = [3, 4, 6, 9] as const

/**
 * Drafts by the longest suffix of the text that stands in it earlier, the latest among equals: quotes, code, names, lists.
 * Saxena, Prompt Lookup Decoding, 2023. Places are chained by a hash of two tokens, as in LZ77.
 */
export class LookupDrafter implements Drafter {
  readonly msPerDraft = 0
  grade = 0
  /** 1 + the last place of each hash; a place is the index of a pair's second token. */
  readonly #heads = new Int32Array(1 << HEAD_BITS)
  /** 1 + the place before, by place. */
  #before = new Int32Array(256)
  /** Tokens whose places are known. */
  #known = 0
  #tokens: readonly number[] = []
  /** Where the draft begins in the tokens. */
  #from = 0

  // hot
  look(tokens: readonly number[]): number {
    this.#tokens = tokens
    const last = tokens.length - 1
    if (last < LEAST_MATCH) return 0
    this.#index(last)
    let longest = 0
    let place = this.#heads[hash(tokens[last - 1]!, tokens[last]!)]!
    for (let looked = 0; place > 0 && looked < MOST_PLACES && longest < MOST_MATCH; looked++) {
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

  /** Runs on into what it drafts itself: a text that repeats is drafted round and round. */
  draft(count: number, out: Int32Array): number {
    const { length } = this.#tokens
    for (let index = 0; index < count; index++) {
      const at = this.#from + index
      out[index] = at < length ? this.#tokens[at]! : out[at - length]!
    }
    return count
  }

  /** Enters the pairs that end before `end`. */
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

  /** Tokens that agree backwards from `place` and from `last`. */
  #matchOf(place: number, last: number): number {
    const tokens = this.#tokens
    let length = 0
    while (length < MOST_MATCH && length <= place && tokens[place - length] === tokens[last - length])
      length++
    return length
  }
}

const hash = (first: number, second: number): number =>
  Math.imul(Math.imul(first, 0x9e3779b1) ^ second, 0x85ebca6b) >>> (32 - HEAD_BITS)
