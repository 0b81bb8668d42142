// Overflow. In: a text that may be longer than the context, and what was left out of it before. Out: what of it is read now.

/** What a context reads of a text: the first `keep` tokens and those behind the dropped ones. */
export interface Fit {
  readonly ids: readonly number[]
  /** Every token left out, those behind the first `keep`, in order. */
  readonly dropped: readonly number[]
  /** How many of them were left out before too. */
  readonly before: number
}

/** Length to which a text is cut that is too long: what is left of the context is room for more before the next cut. */
export const cutLength = (keep: number, contextLength: number): number =>
  keep + Math.floor((contextLength - keep) / 2)

/**
 * Leaves out what was left out before, if it is there, and when that is not enough the oldest tokens behind the first
 * `keep`, so that about half of the context is free then. `keep` must be less than `contextLength`.
 */
export function fitTokens(
  ids: ArrayLike<number>,
  keep: number,
  contextLength: number,
  dropped: readonly number[],
): Fit {
  const before = startsWith(ids, keep, dropped) ? dropped.length : 0
  const rest = ids.length - before
  // The last token of a prompt is run, and one behind it has a place.
  const more = rest < contextLength ? 0 : rest - cutLength(keep, contextLength)
  const all = Array.from(ids)
  const gone = all.splice(keep, before + more)
  return { ids: all, dropped: gone, before }
}

function startsWith(ids: ArrayLike<number>, start: number, part: readonly number[]): boolean {
  return part.every((id, index) => ids[start + index] === id)
}
