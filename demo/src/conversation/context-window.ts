// Context window. In: a conversation that may be longer than the context. Out: from which message on the model should read it.

/** Share of the context that a conversation may fill after its beginning was dropped: the next drop is then far away. */
const KEPT = 0.5
/** Share of the context that is left for the answer, at most. */
const ANSWER = 0.25

/** Tokens that the messages from `first` on take, with everything the model's template adds. */
export type CountFrom = (first: number) => Promise<number>

export interface Window {
  readonly contextLength: number
  /** Longest answer, in tokens. */
  readonly maxTokens: number
}

/**
 * The first message to send, `first` or a later one of the person's own; `questions` are the indices of those. The last
 * question is sent even when it does not fit, and the engine says so.
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
