// Splits texts into passages, and finds those that share the most words with a question.

/** Maximum characters of a passage, about 150 tokens. */
const PASSAGE_LENGTH = 600

/** Splits at the ends of paragraphs, or of sentences if a paragraph is long. */
export function cutText(text: string): string[] {
  const pieces = text
    .split(/\n\s*\n/)
    .flatMap((paragraph) => (paragraph.length <= PASSAGE_LENGTH ? [paragraph] : sentences(paragraph)))
  const texts: string[] = []
  for (const piece of pieces.map((each) => each.trim()).filter((each) => each !== '')) {
    const last = texts.at(-1)
    if (last === undefined || last.length + piece.length > PASSAGE_LENGTH) texts.push(piece)
    else texts[texts.length - 1] = `${last}\n\n${piece}`
  }
  return texts
}

/** A sentence that is too long is split anywhere. */
const sentences = (paragraph: string): string[] =>
  paragraph
    .split(/(?<=[.!?。！？])\s*/u)
    .flatMap((sentence) => sentence.match(new RegExp(`[^]{1,${PASSAGE_LENGTH}}`, 'gu')) ?? [])

export const wordsOf = (text: string): ReadonlySet<string> =>
  new Set(text.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) ?? [])

/**
 * For each passage, the summed weights of the question's words in it; a weight is the log of the word's
 * rarity.
 */
export function commonWords(asked: ReadonlySet<string>, passages: readonly ReadonlySet<string>[]): number[] {
  const weights = new Map(
    [...asked].map((word) => {
      const count = passages.filter((words) => words.has(word)).length
      return [word, Math.log(1 + passages.length / Math.max(1, count))]
    }),
  )
  return passages.map((words) =>
    [...weights].reduce((sum, [word, weight]) => sum + (words.has(word) ? weight : 0), 0),
  )
}

/** The same values between 0 and 1. */
export function spread(values: readonly number[]): number[] {
  const least = Math.min(...values)
  const most = Math.max(...values)
  return values.map((value) => (most > least ? (value - least) / (most - least) : 0))
}

/** The indices of the best scores, best first; earlier ones first among ties. */
export const bestOf = (scores: readonly number[], count: number): number[] =>
  [...scores.keys()].sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0)).slice(0, count)
