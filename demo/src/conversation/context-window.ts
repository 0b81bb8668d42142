// Context window. In: a conversation that may exceed the context. Out: the first message for the model to
// read.

import { HalfbyteError } from '../../../src/index.ts'

/**
 * Share of the context that a conversation may fill after dropping turns. The rest postpones the next
 * drop.
 */
const KEPT = 0.5
/** Largest share of the context reserved for the answer. */
const ANSWER = 0.25
/** Number of messages whose texts are counted at the same time. */
const AT_ONCE = 16

export interface Counter {
  /** Tokens of the messages from `first` on, including everything that the model's template adds. */
  from(first: number): Promise<number>
  /** Tokens of one message's text alone; their sum never exceeds the result of `from`. */
  text(index: number): Promise<number>
}

export interface Window {
  readonly contextLength: number
  /** Longest answer, in tokens. */
  readonly maxTokens: number
}

/** Number of tokens reserved for the answer. */
export const roomForAnswer = ({ contextLength, maxTokens }: Window): number =>
  Math.min(maxTokens, Math.floor(contextLength * ANSWER))

/**
 * Returns the index of the first message to send: `first` or a later question. `questions` has the indices of
 * all questions; the last one is the last message. It is sent even if it does not fit; the engine then
 * reports that. Messages long before those that fit are not counted.
 */
export async function firstThatFits(
  first: number,
  questions: readonly number[],
  { contextLength, maxTokens }: Window,
  count: Counter,
): Promise<number> {
  const last = questions.at(-1) ?? first
  const room = contextLength - roomForAnswer({ contextLength, maxTokens })
  if ((await earliest(first, last, room, count)) === first && (await count.from(first)) <= room) return first
  const kept = contextLength * KEPT
  const later = questions.filter((index) => index > first)
  const start = await earliest(first + 1, last, kept, count)
  const possible = later.filter((index) => index >= start)
  // Token counts decrease with fewer messages.
  let low = 0
  let high = possible.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((await count.from(possible[middle] as number)) <= kept) high = middle
    else low = middle + 1
  }
  return possible[low] ?? later.at(-1) ?? first
}

/** Minimum number of tokens to assume for the next question. */
const LEAST_QUESTION = 64

/**
 * Returns the index of the first message to keep so that another question of average length, and its answer,
 * fit; 0 if they already do. `messages` end with an answer, and their order is that of `count`.
 */
export async function firstForNext(
  messages: readonly { readonly role: string }[],
  window: Window,
  count: Counter,
): Promise<number> {
  const questions = messages.flatMap(({ role }, index) => (role === 'user' ? [index] : []))
  const lengths = await Promise.all(questions.slice(-AT_ONCE).map((index) => count.text(index)))
  const mean = lengths.reduce((sum, tokens) => sum + tokens, 0) / Math.max(1, lengths.length)
  const question = Math.max(LEAST_QUESTION, Math.ceil(mean))
  const next = messages.length
  const first = await firstThatFits(0, [...questions, next], window, {
    from: async (index) => question + (index < next ? await count.from(index) : 0),
    text: async (index) => (index < next ? count.text(index) : question),
  })
  // At least the last answer stays with its question.
  return first < next ? first : (questions.at(-1) ?? 0)
}

/** Throws `context-overflow` if a prompt of this length leaves no room for an answer. */
export function checkFits(needed: number, contextLength: number): void {
  if (needed < contextLength) return
  throw new HalfbyteError(
    'context-overflow',
    `the question needs ${needed} tokens and one for the answer, but the context has room for ${contextLength}; ` +
      'raise the context length or shorten the question',
    { needed: needed + 1, contextLength },
  )
}

/**
 * Returns how many messages a stored state omits at the beginning. The state contains the texts `kept`, in
 * order, from a conversation that may have continued since. Returns 0 if it contains other texts.
 */
export function leftOut(kept: readonly string[], messages: readonly string[]): number {
  const [start] = messages.flatMap((_, index) =>
    kept.every((text, offset) => index + offset >= messages.length || messages[index + offset] === text)
      ? [index]
      : [],
  )
  return kept.length === 0 ? 0 : (start ?? 0)
}

/** The earliest message, not before `first`, from which the texts alone have at most `limit` tokens. */
async function earliest(first: number, last: number, limit: number, count: Counter): Promise<number> {
  let sum = 0
  for (let end = last + 1; end > first; ) {
    const begin = Math.max(first, end - AT_ONCE)
    const indices = Array.from({ length: end - begin }, (_, offset) => end - 1 - offset)
    const counts = await Promise.all(indices.map((index) => count.text(index)))
    for (const [offset, tokens] of counts.entries()) {
      sum += tokens
      if (sum > limit) return end - offset
    }
    end = begin
  }
  return first
}
