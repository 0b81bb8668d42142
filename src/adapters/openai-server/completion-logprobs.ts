// The `logprobs` of text completions: tokens with their log-probabilities and positions in the text.
import type { ScoredToken } from '../../engine/api/types.ts'
import type { CompletionLogprobs } from '../openai-types.ts'

/** Represents a probability of 0, because JSON has no infinity. */
const LEAST = -9999

/** The offsets of tokens in a text that arrives in pieces, in code points. */
export class TextOffsets {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  #offset: number
  #isAtStart = true
  /** Text that has arrived before its tokens. */
  #rest = ''
  /** Text of tokens that have arrived before it. */
  #owed = ''

  /** `start`: the offset of the first token. */
  constructor(start = 0) {
    this.#offset = start
  }

  /**
   * The offsets of further tokens. A token that is not in the text, such as BOS, has the offset of the next.
   */
  push(text: string, tokens: readonly ScoredToken[]): number[] {
    this.#rest += text
    const paid = this.#rest.startsWith(this.#owed) ? this.#owed.length : 0
    if (paid > 0) this.#owed = ''
    this.#rest = this.#rest.slice(paid)
    return tokens.map(({ bytes }) => {
      const offset = this.#offset
      this.#take(this.#decoder.decode(Uint8Array.from(bytes), { stream: true }))
      return offset
    })
  }

  #take(piece: string): void {
    if (piece === '') return
    // Some tokenizers put a space before a text.
    const isSpaced = this.#isAtStart && piece.startsWith(' ') && !this.#rest.startsWith(' ')
    const part = isSpaced ? piece.slice(1) : piece
    if (this.#rest.startsWith(part)) this.#rest = this.#rest.slice(part.length)
    else if (part.startsWith(this.#rest)) {
      this.#owed += part.slice(this.#rest.length)
      this.#rest = ''
    } else return
    this.#offset += codePoints(part)
    this.#isAtStart = false
  }
}

export const codePoints = (text: string): number => [...text].length

/** Null without tokens. */
export function completionLogprobs(
  tokens: readonly ScoredToken[] | undefined,
  text: string,
  offsets: TextOffsets,
): CompletionLogprobs | null {
  if (tokens === undefined) return null
  return {
    tokens: tokens.map(({ text }) => text),
    token_logprobs: tokens.map(({ logprob }) => (logprob === undefined ? null : Math.max(logprob, LEAST))),
    top_logprobs: tokens.map(topOf),
    text_offset: offsets.push(text, tokens),
  }
}

/**
 * Log-probabilities by text, including the token itself. Among tokens with the same text, the most likely one
 * counts.
 */
function topOf({ text, logprob, top }: ScoredToken): Record<string, number> | null {
  if (logprob === undefined) return null
  const found = new Map<string, number>()
  for (const each of [...top, { text, logprob }])
    if (!found.has(each.text)) found.set(each.text, Math.max(each.logprob, LEAST))
  return Object.fromEntries(found)
}

/** The log-probabilities of all parts of a choice; null if no part has any. */
export function joinedLogprobs(parts: readonly (CompletionLogprobs | null)[]): CompletionLogprobs | null {
  const found = parts.filter((part) => part !== null)
  if (found.length === 0) return null
  return {
    tokens: found.flatMap(({ tokens }) => tokens),
    token_logprobs: found.flatMap(({ token_logprobs }) => token_logprobs),
    top_logprobs: found.flatMap(({ top_logprobs }) => top_logprobs),
    text_offset: found.flatMap(({ text_offset }) => text_offset),
  }
}
