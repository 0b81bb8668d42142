// The texts of parts that are loaded on demand, together with the page's. Parts needed at the first visit
// import `words.ts` instead, so that these are not loaded with it.
import { type Message, say, type Values } from '../../../src/ui/words/message.ts'
import { LATER_ENGLISH, type LaterWords } from './later-english.ts'
import { allWords, language, laterTranslation, type Word } from './words.ts'

export type LaterWord = Word | keyof LaterWords

/** A text with its `values` filled in. */
export function t(word: LaterWord, values: Values = {}): string {
  const later: Partial<Record<LaterWord, Message>> = laterTranslation() ?? LATER_ENGLISH
  return say(later[word] ?? allWords()[word as Word], values, language())
}

/** All texts of parts that load later, for code that the page shares with the widget. */
export const laterWords = (): LaterWords => laterTranslation() ?? LATER_ENGLISH
