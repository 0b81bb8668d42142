// Need by classifier. In: a folded message. Out: what its writer, or someone they know, may need help with, if a
// passage speaks for it strongly enough.
import { languageOf, passages } from './features.ts'
import { unpack } from './packed.ts'
import { NEEDS, scorePassage } from './scores.ts'
import { TRAINED } from './trained.ts'

/** The logarithm of the odds from which a message is one of need; `lab/train/need` measures others. */
export const THRESHOLD = 1.5

let unpacked: ReturnType<typeof unpack> | undefined

/** How strongly a folded message speaks for need, and for which; undefined in unknown scripts. */
export function oddsOfNeed(said: string) {
  unpacked ??= unpack(TRAINED)
  const { lexicon, weights } = unpacked
  const language = languageOf(said, lexicon)
  if (language === undefined) return undefined
  const scores = new Float64Array(NEEDS.length)
  let odds = -Infinity
  let need: (typeof NEEDS)[number] = NEEDS[0]
  for (const passage of passages(said, language, lexicon)) {
    const these = scorePassage(weights, passage, scores)
    if (these <= odds) continue
    odds = these
    need = NEEDS[scores.indexOf(Math.max(...scores))]!
  }
  return { odds, need, language: language.code }
}

/** The need that the classifier finds in a folded text. */
export function needByClassifier(said: string) {
  const found = oddsOfNeed(said)
  return found === undefined || found.odds < THRESHOLD
    ? undefined
    : { need: found.need, language: found.language }
}
