// Decides which tokens of a text that is longer than the context are dropped, and which stored tokens a
// shortened text still contains.

/**
 * The part of a text that fits into a context: the first `keep` tokens, and the tokens after the dropped
 * ones.
 */
export interface Fit {
  readonly ids: readonly number[]
  /** All tokens dropped after the first `keep`, in order. */
  readonly dropped: readonly number[]
  /** How many of the dropped tokens had been dropped before. */
  readonly before: number
}

/** How a text is shortened. */
interface FitRules {
  /** Number of first tokens that are never dropped; less than `contextLength`. */
  readonly keep: number
  readonly contextLength: number
  /** Number of tokens that must still fit after the text, at least 1. */
  readonly room: number
  /** The ids that end a message. */
  readonly ends: ReadonlySet<number>
}

/** Number of tokens after a message's end by which a speaker is recognised. */
const HEADER = 3
/** Shortest run that counts as the same text. Shorter ones may be equal by chance. */
const LEAST_RUN = 16

/**
 * Drops the tokens that were dropped before, if they are still present. If that is not enough, it drops the
 * oldest messages after the first `keep` tokens until about half of the context is free. `known`: what was
 * dropped before.
 */
export function fitTokens(ids: ArrayLike<number>, rules: FitRules, known: readonly number[]): Fit {
  const { keep, contextLength, room } = rules
  const before = startsWith(ids, keep, known) ? known.length : 0
  const all = Array.from(ids)
  const rest = all.length - before
  const isTooLong = rest + room > contextLength
  const least = isTooLong ? before + rest - cutLength(rules) : before
  const dropped = all.splice(keep, isTooLong ? dropOf(all, least, all.length, rules) : before)
  return { ids: all, dropped, before }
}

/**
 * How many of the `length` stored tokens to drop after the first `keep`, so that about half of the context is
 * free: whole messages if possible.
 */
export function excessOf(
  tokens: readonly number[],
  length: number,
  end: number,
  rules: Omit<FitRules, 'room'>,
): number {
  const { keep } = rules
  const most = length - keep
  return Math.min(dropOf(tokens, end - cutLength({ ...rules, room: 1 }), length, rules), most)
}

/** Length to which an overlong text is shortened. The rest of the context is free until the next shift. */
const cutLength = ({ keep, contextLength, room }: Omit<FitRules, 'ends'>): number =>
  keep + Math.max(0, Math.min(Math.floor((contextLength - keep) / 2), contextLength - keep - room))

/**
 * Extends a drop of `least` tokens to the end of a message, so that the rest begins with a message of the
 * last question's speaker, or at least with a message. The last message is never dropped for that.
 */
function dropOf(
  tokens: readonly number[],
  least: number,
  length: number,
  { keep, ends }: Omit<FitRules, 'room' | 'contextLength'>,
): number {
  const starts: number[] = []
  for (let index = keep; index < length; index++) if (ends.has(tokens[index]!)) starts.push(index + 1)
  const last = starts.at(-2)
  if (last === undefined) return least
  const possible = starts.slice(0, -1).filter((start) => start >= keep + least)
  const isQuestion = (start: number) => startsWith(tokens, start, tokens.slice(last, last + HEADER))
  const start = possible.find(isQuestion) ?? possible[0]
  return start === undefined ? least : start - keep
}

/** A run of stored tokens that a shorter text also has, `drop` positions earlier. */
export interface Run {
  readonly drop: number
  /** Number of equal tokens. */
  readonly length: number
}

/**
 * The longest run that `ids` has at `start` and the first `stored` tokens have later. Undefined if there is
 * none of a message's length.
 */
export function runAfterGap(
  tokens: ArrayLike<number>,
  stored: number,
  ids: ArrayLike<number>,
  start: number,
): Run | undefined {
  let best: Run = { drop: 0, length: LEAST_RUN - 1 }
  // Once too few tokens remain, no run can be longer than the best one.
  for (let drop = 1; stored - start - drop > best.length; drop++) {
    if (tokens[start + drop + best.length] !== ids[start + best.length]) continue
    const most = Math.min(stored - drop, ids.length)
    let end = start
    while (end < most && tokens[end + drop] === ids[end]) end++
    if (end - start > best.length) best = { drop, length: end - start }
  }
  return best.drop === 0 ? undefined : best
}

export function startsWith(ids: ArrayLike<number>, start: number, part: readonly number[]): boolean {
  return part.every((id, index) => ids[start + index] === id)
}
