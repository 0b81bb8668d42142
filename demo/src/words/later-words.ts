// The texts of parts that are loaded on demand, together with the page's. Parts needed at the first visit
// import `words.ts` instead, so that these are not loaded with it.
import { fill } from '../../../src/ui/chat/texts.ts'
import { LATER_ENGLISH, type LaterWords } from './later-english.ts'
import { allWords, laterTranslation, type Word } from './words.ts'

export type LaterWord = Word | keyof LaterWords

/** A text with its `values` filled in. */
export function t(word: LaterWord, values: Readonly<Record<string, string | number>> = {}): string {
  const later: Partial<Record<LaterWord, string>> = laterTranslation() ?? LATER_ENGLISH
  return fill(later[word] ?? allWords()[word as Word], values)
}

/** All texts of parts that load later, for code that the page shares with the widget. */
export const laterWords = (): LaterWords => laterTranslation() ?? LATER_ENGLISH
