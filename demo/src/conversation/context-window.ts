// Context window. In: a conversation that may exceed the context. Out: the first message that the model
// should read.

/** Share of the context that a conversation may fill after a cut. The rest postpones the next cut. */
const KEPT = 0.5
/** Largest share of the context reserved for the answer. */
const ANSWER = 0.25

/** Tokens of the messages from `first` on, including everything that the model's template adds. */
export type CountFrom = (first: number) => Promise<number>

export interface Window {
  readonly contextLength: number
  /** Longest answer, in tokens. */
  readonly maxTokens: number
}

/**
 * Returns the index of the first message to send: `first` or a later question. `questions` has the indices of
 * all questions. The last question is sent even when it does not fit; the engine then reports that.
 */
export async function firstThatFits(
  first: number,
  questions: readonly number[],
  { contextLength, maxTokens }: Window,
  countFrom: CountFrom,
): Promise<number> {
  const room = contextLength - Math.min(maxTokens, Math.floor(contextLength * ANSWER))
  if ((await countFrom(first)) <= room) return first
  const later = questions.filter((index) => index > first)
  for (const index of later) {
    if ((await countFrom(index)) <= contextLength * KEPT) return index
  }
  return later.at(-1) ?? first
}
