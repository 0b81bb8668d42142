// Chooses the passages that a model reads for a question: the nearest ones that fit in its context with the
// question.
import type { DocumentSearch, FoundPassage, Question, SearchOptions } from './search.ts'

/**
 * Maximum passages for one question. More would take a phone too long to read, and distract a small model.
 */
const MAX_PASSAGES = 12
/** Share of the context that question and passages may fill; the rest is for the answer. */
export const PASSAGES_SHARE = 0.75
/** Minimum tokens of context for a question with a passage and its answer. */
const LEAST_CONTEXT = 1024

/**
 * True if a model can answer from documents. `isTrained`: false for a model that is known not to answer from
 * what it reads, whatever its context.
 */
export const readsDocuments = (contextLength: number, isTrained = true): boolean =>
  isTrained && contextLength >= LEAST_CONTEXT

/**
 * The passages for a question, in text order, which is easier to follow; at least one, if there are any.
 * `fits`: whether the model can read these. Rejects like `nearest`.
 */
export async function chosenPassages(
  search: DocumentSearch,
  question: Question,
  fits: (passages: readonly FoundPassage[]) => Promise<boolean>,
  options?: SearchOptions,
): Promise<readonly FoundPassage[]> {
  const nearest = (await search.nearest(question, options)).slice(0, MAX_PASSAGES)
  const first = (count: number) =>
    nearest
      .slice(0, count)
      .toSorted((a, b) => a - b)
      .flatMap((index) => search.passages[index] ?? [])
  // More passages never take fewer tokens.
  let low = Math.min(1, nearest.length)
  let high = nearest.length
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (await fits(first(middle))) low = middle
    else high = middle - 1
  }
  return first(low)
}
