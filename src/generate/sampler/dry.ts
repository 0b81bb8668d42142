// DRY. In: a row of logits and the tokens so far. Out: lower logits for tokens that would continue a
// repetition.
import type { Adjustment } from './adjust.ts'
import type { Breakers } from './breakers.ts'
import type { SamplerSettings } from './options.ts'

/** Most that is subtracted from a logit, so that it stays finite. */
const MOST = 1e30

/**
 * "Don't repeat yourself", Weidmann, 2024. If the text ends with n tokens that also occur earlier, the token
 * that followed them there loses multiplier * base^(n - allowedLength), if n is at least allowedLength; the
 * longest such n counts. No match crosses a breaker, and tokens that contain a breaker are not penalised.
 * Linear in the tokens that are searched. `tally` is zeros [vocab] before and after the call.
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
      const next = history[length - back] as number
      if (match >= dryAllowedLength && match > tally[next]!) tally[next] = match
    }
    for (let back = 1; back < n; back++) {
      const next = history[length - back] as number
      const match = tally[next]!
      if (match === 0) continue
      tally[next] = 0
      if (breakers.isIn(next)) continue
      logits[next] = logits[next]! - Math.min(MOST, dryMultiplier * dryBase ** (match - dryAllowedLength))
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
