// The DRY stage: lowers the logits of tokens that would continue a repetition.

import { Matcher } from '../../text/detokenizer.ts'
import type { Adjustment } from './processors.ts'
import type { SamplerSettings } from './sampler-options.ts'

/** The UTF-8 bytes of a token; empty for an id without a token. */
export type TokenBytes = (id: number) => Uint8Array

export class Breakers {
  readonly #tokenBytes: TokenBytes
  /** Matchers for the text so far, and for a single token. */
  readonly #ofText: readonly Matcher[]
  readonly #ofToken: readonly Matcher[]
  /** Number of tokens read, and number of tokens up to the end of the last breaker. */
  #seen = 0
  #end = 0

  /** `texts`: none may be empty. */
  constructor(texts: readonly string[], tokenBytes: TokenBytes) {
    this.#tokenBytes = tokenBytes
    const encoder = new TextEncoder()
    const matchers = () => texts.map((text) => new Matcher(encoder.encode(text)))
    this.#ofText = matchers()
    this.#ofToken = matchers()
  }

  /**
   * Number of tokens of `history`, which ends at `length`, up to the end of the last breaker; 0 without one.
   * Tokens are never read twice, so a history may only grow.
   */
  lastEnd(history: ArrayLike<number>, length: number): number {
    for (; this.#seen < length; this.#seen++) {
      const bytes = this.#tokenBytes(history[this.#seen]!)
      for (let at = 0; at < bytes.length; at++) {
        if (ends(this.#ofText, bytes[at]!)) this.#end = this.#seen + 1
      }
    }
    return this.#end
  }

  /** True if a token contains a complete breaker. */
  isIn(id: number): boolean {
    for (const matcher of this.#ofToken) matcher.length = 0
    const bytes = this.#tokenBytes(id)
    for (let at = 0; at < bytes.length; at++) if (ends(this.#ofToken, bytes[at]!)) return true
    return false
  }
}

/** True if a text ends with this byte, regardless of how tokens divide it. */
function ends(matchers: readonly Matcher[], byte: number): boolean {
  let found = false
  for (let index = 0; index < matchers.length; index++) if (matchers[index]!.push(byte)) found = true
  return found
}

/** Maximum that is subtracted from a logit, so that it stays finite. */
const MAX = 1e30

/**
 * "Don't repeat yourself", Weidmann, 2024. If the text ends with n tokens that also occur earlier, the token
 * that followed them there is penalised by multiplier * base^(n - allowedLength), if n is at least
 * allowedLength; the longest such n counts. No match crosses a breaker, and tokens that contain a breaker are
 * not penalised. The time is linear in the number of searched tokens. `tally` is zeros [vocab] before and
 * after the call.
 */
export function dry(
  settings: Pick<SamplerSettings, 'dryMultiplier' | 'dryBase' | 'dryAllowedLength' | 'dryLastN'>,
  breakers: Breakers,
  tally: Uint32Array,
): Adjustment {
  const { dryMultiplier, dryBase, dryAllowedLength, dryLastN } = settings
  let matches = new Uint32Array(1024)
  return (logits, history, length) => {
    const n = Math.min(length, dryLastN)
    const limit = Math.min(n, length - breakers.lastEnd(history, length))
    if (limit < dryAllowedLength) return
    if (matches.length < n) matches = new Uint32Array(2 * n)
    matchEnds(history, length, n, matches)
    for (let back = 1; back < n; back++) {
      const match = Math.min(matches[back]!, limit)
      const next = history[length - back]!
      if (match >= dryAllowedLength && match > tally[next]!) tally[next] = match
    }
    for (let back = 1; back < n; back++) {
      const next = history[length - back]!
      const match = tally[next]!
      if (match === 0) continue
      tally[next] = 0
      if (breakers.isIn(next)) continue
      logits[next] = logits[next]! - Math.min(MAX, dryMultiplier * dryBase ** (match - dryAllowedLength))
    }
  }
}

/**
 * matches[back] = number of tokens that agree, counted backwards, from the end and from `back` tokens before
 * the end, within the last `n`. This is the Z algorithm on the reversed text: [left, right) is the match that
 * reaches furthest back so far.
 */
function matchEnds(history: ArrayLike<number>, length: number, n: number, matches: Uint32Array): void {
  const last = length - 1
  let left = 0
  let right = 0
  for (let back = 1; back < n; back++) {
    let match = back < right ? Math.min(right - back, matches[back - left]!) : 0
    while (back + match < n && history[last - match] === history[last - back - match]) match++
    matches[back] = match
    if (back + match <= right) continue
    left = back
    right = back + match
  }
}
