// Marks. In: text whose spaces are written U+2581. Out: its words, where cutting cannot change how they are encoded.

export const MARK = '\u2581'

/** A run of marks with what follows it. */
const WORD = /\u2581*[^\u2581]+|\u2581+/g
const CROSSING = /[^\u2581]\u2581/

/** True when a token goes from one word into the next, so that a text cannot be encoded word by word. */
export function crossesWords(tokens: Iterable<string>): boolean {
  for (const token of tokens) if (CROSSING.test(token)) return true
  return false
}

export function markedWords(text: string): readonly string[] {
  return text.match(WORD) ?? []
}
