// Marks. In: text whose spaces are written as U+2581. Out: its words, split where this cannot change the
// encoding.

export const MARK = '\u2581'

/** A run of marks and the text up to the next mark. */
const WORD = /\u2581*[^\u2581]+|\u2581+/g
const CROSSING = /[^\u2581]\u2581/

/** True when a token spans two words. A text can then not be encoded word by word. */
export function crossesWords(tokens: Iterable<string>): boolean {
  for (const token of tokens) if (CROSSING.test(token)) return true
  return false
}

export function markedWords(text: string): readonly string[] {
  return text.match(WORD) ?? []
}
