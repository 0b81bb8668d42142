// Odds of need. In: a folded message. Out: how strongly its strongest passage indicates need, and of which
// kind.
import type { Need } from '../patterns/pattern-set.ts'
import { languageOf, passages } from './features.ts'
import { unpack } from './packed.ts'
import { NEEDS, scorePassage } from './scores.ts'
import { TRAINED } from './trained.ts'

interface Odds {
  /** The logarithm of the odds that the message is one of need. */
  readonly odds: number
  /** The likeliest kind. */
  readonly need: Need
  /** The language of the message, as a BCP 47 code. */
  readonly language: string
}

let unpacked: ReturnType<typeof unpack> | undefined

/** Undefined if the message is in an unknown script or has no letters. */
export function oddsOfNeed(said: string): Odds | undefined {
  unpacked ??= unpack(TRAINED)
  const { lexicon, weights } = unpacked
  const language = languageOf(said, lexicon)
  if (language === undefined) return undefined
  const scores = new Float64Array(NEEDS.length)
  let odds = -Infinity
  let need: Need = NEEDS[0]
  for (const passage of passages(said, language, lexicon)) {
    const these = scorePassage(weights, passage, scores)
    if (these <= odds) continue
    odds = these
    need = NEEDS[scores.indexOf(Math.max(...scores))]!
  }
  return { odds, need, language: language.code }
}
