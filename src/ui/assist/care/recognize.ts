// People in need. In: a user's message. Out: what they may need help with, and their language. The interface
// then answers by itself instead of the model.
import { oddsOfNeed } from './classifier/odds-of-need.ts'
import { withoutFiction } from './fiction.ts'
import { folded } from './fold.ts'
import { needByPatterns } from './patterns/need-by-patterns.ts'
import type { Need, RecognizedNeed } from './patterns/pattern-set.ts'

export type { Need, RecognizedNeed }

/** Log odds from which the classifier decides alone; `lab/train/need` measures others. */
const MIN_ODDS = 2.5
/**
 * Log odds below which no pattern is tried: it would match by chance, and compiling the patterns takes 0.1 s.
 */
export const MIN_PATTERN_ODDS = -3.5

/**
 * What the writer, or someone they know, may need help with: suicide and self-harm, a medical emergency, or
 * violence. Understands 19 languages. Undefined for other messages, and for events in stories and games.
 * Patterns find what is said plainly, a classifier what is only implied.
 */
export function recognizeNeed(text: string): RecognizedNeed | undefined {
  const said = withoutFiction(folded(text))
  const odds = oddsOfNeed(said)
  if (odds === undefined || odds.odds < MIN_PATTERN_ODDS) return undefined
  const found = needByPatterns(said)
  if (found !== undefined) return found
  if (odds.odds < MIN_ODDS || isOneWord(said)) return undefined
  return { need: odds.need, language: odds.language }
}

/**
 * A word alone, such as "and?", says too little for a classifier. Scripts without spaces have words of two
 * letters.
 */
const isOneWord = (said: string): boolean =>
  !/\p{L}\P{L}+\p{L}|[\p{sc=Han}\p{sc=Kana}\p{sc=Hira}]{3}/u.test(said)
