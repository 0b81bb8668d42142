// Overflow. In: a text that may be longer than the context, and the tokens left out before. Out: the part to
// read now.

/**
 * The part of a text that a context reads: the first `keep` tokens, and the tokens after the dropped ones.
 */
export interface Fit {
  readonly ids: readonly number[]
  /** All tokens that were left out after the first `keep`, in order. */
  readonly dropped: readonly number[]
  /** How many of them had been left out before. */
  readonly before: number
}

/**
 * Length to which a text that is too long is cut. The rest of the context is room for more before the next
 * cut.
 */
export const cutLength = (keep: number, contextLength: number): number =>
  keep + Math.floor((contextLength - keep) / 2)

/**
 * Leaves out the tokens that were left out before, if they are still there. If that is not enough, it drops
 * the oldest tokens after the first `keep` until about half of the context is free. `keep` must be less than
 * `contextLength`.
 */
export function fitTokens(
  ids: ArrayLike<number>,
  keep: number,
  contextLength: number,
  dropped: readonly number[],
): Fit {
  const before = startsWith(ids, keep, dropped) ? dropped.length : 0
  const rest = ids.length - before
  // The last token of a prompt is run, and the token after it needs a position.
  const more = rest < contextLength ? 0 : rest - cutLength(keep, contextLength)
  const all = Array.from(ids)
  const gone = all.splice(keep, before + more)
  return { ids: all, dropped: gone, before }
}

function startsWith(ids: ArrayLike<number>, start: number, part: readonly number[]): boolean {
  return part.every((id, index) => ids[start + index] === id)
}
