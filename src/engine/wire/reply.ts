// Replies. In: nothing. Out: the types of what a generation sends to its page: chunks, and how it ended.

/**
 * A call that the model asks for. The arguments are an object, but they are not checked against the tool's
 * schema.
 */
export interface ToolCall {
  /** Nine letters and digits, unique in the conversation. */
  readonly id: string
  readonly name: string
  readonly arguments: { readonly [name: string]: unknown }
}

/** A piece of a reply: complete code points, never empty. */
export interface TextChunk {
  /** A piece of the answer; empty in a piece of the thought. */
  readonly text: string
  /** A piece of the thought before the answer. Absent in a piece of the answer. */
  readonly reasoning?: string | undefined
  /** Number of tokens decoded since the previous chunk. */
  readonly tokens: number
  /** One entry for each of these tokens, if `logprobs` was set. */
  readonly logprobs?: readonly TokenLogprobs[] | undefined
}

/** A token and the natural logarithm of its probability in the model's own distribution. */
export interface TokenLogprob {
  readonly id: number
  /** The token's text; an incomplete character becomes U+FFFD. */
  readonly text: string
  /** The token's bytes in UTF-8, also where it ends inside a character. */
  readonly bytes: readonly number[]
  readonly logprob: number
}

/** A generated token, and the most likely tokens at its place, most likely first. */
export interface TokenLogprobs extends TokenLogprob {
  readonly top: readonly TokenLogprob[]
}

/** Tokens that a reply took. */
export interface Usage {
  /** Tokens of the prompt, including cached ones. */
  readonly promptTokens: number
  /** Tokens of the prompt whose state was still cached, so they were not run again. */
  readonly cachedTokens: number
  /** Tokens of the prompt that did not fit in the context; 0 unless `overflow` is `shift`. */
  readonly droppedTokens: number
  /** Tokens generated, excluding the end-of-turn token. */
  readonly completionTokens: number
  /** Those of them that the model thought with, including the marks of the thought. */
  readonly reasoningTokens: number
  /** Drafted tokens that were checked; 0 if the reply was cancelled. */
  readonly draftedTokens: number
  /** Drafted tokens that were accepted; 0 if the reply was cancelled. */
  readonly acceptedTokens: number
}

/** How long a reply took. */
export interface Timings {
  /**
   * Milliseconds from the start of this generation's turn to its first token, including waits for other
   * sequences.
   */
  readonly firstTokenMs: number
  /** Milliseconds in prefill. */
  readonly prefillMs: number
  /** Milliseconds from the first token to the last. */
  readonly decodeMs: number
  /** Uncached prompt tokens divided by the prefill time; 0 if there were none. */
  readonly prefillTokensPerSecond: number
  /** Tokens after the first divided by the decode time; 0 if there were none. */
  readonly decodeTokensPerSecond: number
}

/**
 * Why a reply ended. `stop`: the model ended it, or a stop text. `length`: a limit on tokens. `cancelled`:
 * the caller.
 */
export type FinishReason = 'stop' | 'length' | 'cancelled'

/** How a generation ended. */
export interface Outcome {
  readonly text: string
  /**
   * What the model thought before it answered, without the marks; it is not part of `text`. Absent if it did
   * not think.
   */
  readonly reasoning?: string | undefined
  /** Ids as generated, excluding the end-of-turn token. */
  readonly tokens: readonly number[]
  /** One entry for each of `tokens`, if `logprobs` was set. */
  readonly logprobs?: readonly TokenLogprobs[] | undefined
  readonly finishReason: FinishReason
  /** The calls that the model asks for; they are not part of `text`. Absent if no tools were given. */
  readonly toolCalls?: readonly ToolCall[] | undefined
  readonly usage: Usage
  readonly timings: Timings
  /**
   * The seed that was used; pass it to get the same text again. Absent if the reply was cancelled before its
   * turn.
   */
  readonly seed?: number | undefined
}
