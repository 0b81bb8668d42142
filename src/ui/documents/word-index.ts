// Finds passages by words: Okapi BM25 over the terms of each passage and of its headings.
import { isStem, termsOf } from './terms.ts'

/** How soon repetitions stop counting, and how much a passage's length matters. */
const SATURATION = 1.2
const LENGTH_WEIGHT = 0.5
/** Weight of the beginning of a word, relative to that of the whole word. */
const STEM_WEIGHT = 0.5
/** Weight of the terms of the previous question, which a short one may refer to. */
const EARLIER_WEIGHT = 0.25

export class WordIndex {
  /** The passages that contain each term, with its count in each. */
  readonly #postings = new Map<string, Map<number, number>>()
  readonly #lengths: readonly number[]
  readonly #meanLength: number

  constructor(texts: readonly string[]) {
    this.#lengths = texts.map((text, index) => {
      const terms = termsOf(text)
      for (const term of terms) {
        const counts = this.#postings.get(term) ?? new Map<number, number>()
        counts.set(index, (counts.get(index) ?? 0) + 1)
        this.#postings.set(term, counts)
      }
      return terms.length
    })
    this.#meanLength = Math.max(1, this.#lengths.reduce((sum, length) => sum + length, 0) / texts.length)
  }

  /** The score of each passage, at least 0. `earlier`: the previous question. */
  scores(question: string, earlier = ''): number[] {
    const scores = this.#lengths.map(() => 0)
    const asked = new Set(termsOf(question))
    for (const term of asked) this.#addTo(scores, term, 1)
    for (const term of new Set(termsOf(earlier)))
      if (!asked.has(term)) this.#addTo(scores, term, EARLIER_WEIGHT)
    return scores
  }

  #addTo(scores: number[], term: string, weight: number): void {
    const counts = this.#postings.get(term)
    if (counts === undefined) return
    const count = this.#lengths.length
    const rarity = Math.log(1 + (count - counts.size + 0.5) / (counts.size + 0.5))
    for (const [index, times] of counts) {
      const length = (this.#lengths[index] ?? 0) / this.#meanLength
      const damped = times + SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * length)
      scores[index]! +=
        (weight * (isStem(term) ? STEM_WEIGHT : 1) * rarity * times * (SATURATION + 1)) / damped
    }
  }
}
