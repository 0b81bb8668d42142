// A reply: how it is decoded, its pieces, and how it ended.
import type { SamplerOptions } from '../../core/generate/sampler/sampler-options.ts'
import type { Priority } from '../../core/generate/schedule/work.ts'
import type { ReasoningMarks } from '../../core/text/chat/reasoning.ts'
import type { ToolCall } from './conversation.ts'

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
  /** The token's id. */
  readonly id: number
  /** The token's text; an incomplete character becomes U+FFFD. */
  readonly text: string
  /** The token's bytes in UTF-8, even if it ends inside a character. */
  readonly bytes: readonly number[]
  /** Natural logarithm of the probability; `-Infinity` for a probability of 0. */
  readonly logprob: number
}

/** A generated token, and the most likely tokens at its position, most likely first. */
export interface TokenLogprobs extends TokenLogprob {
  readonly top: readonly TokenLogprob[]
}

/** A token of a given text. Nothing precedes the first one, so it has no `logprob`, and `top` is empty. */
export interface ScoredToken extends Omit<TokenLogprobs, 'logprob'> {
  readonly logprob?: number | undefined
}

/** How much of a prompt has been read. Counts exclude tokens whose state was cached. */
export interface PrefillProgress {
  /** Tokens read so far. */
  readonly tokens: number
  /** Tokens to read. */
  readonly total: number
}

/** Token counts of a reply. */
export interface Usage {
  /** Tokens of the prompt, including cached ones. */
  readonly promptTokens: number
  /** Tokens of the prompt whose state was still cached, so they were not run again. */
  readonly cachedTokens: number
  /** Tokens of the prompt that did not fit in the context; 0 unless `overflow` is `shift`. */
  readonly droppedTokens: number
  /** Tokens generated, excluding the end-of-turn token. */
  readonly completionTokens: number
  /** Number of generated tokens that belong to the model's thought, including its marks. */
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
  /** Milliseconds spent reading the prompt (prefill). */
  readonly prefillMs: number
  /** Milliseconds from the first token to the last. */
  readonly decodeMs: number
  /** Uncached prompt tokens divided by the prefill time; 0 if there were none. */
  readonly prefillTokensPerSecond: number
  /** Tokens after the first divided by the decode time; 0 if there were none. */
  readonly decodeTokensPerSecond: number
}

/**
 * Why a reply ended. `stop`: the model or a stop text ended it. `length`: it reached a token limit.
 * `cancelled`: the caller cancelled it.
 */
export type FinishReason = 'stop' | 'length' | 'cancelled'

/** How a generation ended. */
export interface Outcome {
  /** The answer. */
  readonly text: string
  /**
   * The model's thought before its answer, without the marks; not part of `text`. Absent if it did not think.
   */
  readonly reasoning?: string | undefined
  /** Ids as generated, excluding the end-of-turn token. */
  readonly tokens: readonly number[]
  /** One entry for each of `tokens`, if `logprobs` was set. */
  readonly logprobs?: readonly TokenLogprobs[] | undefined
  /** The end-of-turn token, if it ended the reply and `logprobs` was set. */
  readonly endLogprobs?: TokenLogprobs | undefined
  /** Why the reply ended. */
  readonly finishReason: FinishReason
  /** The calls that the model requests; not part of `text`. Absent if no tools were given. */
  readonly toolCalls?: readonly ToolCall[] | undefined
  /** Token counts. */
  readonly usage: Usage
  /** Durations and speeds. */
  readonly timings: Timings
  /**
   * The seed that was used; pass it to get the same text again. Absent if the reply was cancelled before its
   * turn.
   */
  readonly seed?: number | undefined
}

/** How a reply is decoded. */
export interface DecodeOptions extends SamplerOptions {
  /**
   * Modules that change the logits, in the order in which they run: absolute addresses, imported where the
   * model runs. The default export of each is a `LogitProcessorFactory`. Default: none.
   */
  readonly processors?: readonly string[] | undefined
  /**
   * Maximum number of tokens to generate. Default: until the context is full; with `overflow: 'shift'`, the
   * context length. With `shift`, it may be larger than the context.
   */
  readonly maxTokens?: number | undefined
  /** Texts that end the reply. They never appear in it. Default: none. */
  readonly stop?: readonly string[] | undefined
  /**
   * A JSON Schema, or a validator that can provide one (Zod 4, Valibot, ArkType, other Standard Schemas): the
   * reply is one JSON value that the schema allows. Give at most one of `schema`,
   * `grammar`, `pattern` and `choices`. With one of them, `finishReason` is `stop` only if the reply is
   * complete; a reply that `maxTokens` or a stop text cut short has `length`. A constraint that cannot be
   * enforced rejects with `unsupported`. Default: none.
   */
  readonly schema?: object | boolean | undefined
  /**
   * With `schema`: whether the JSON has no whitespace between its parts, which takes fewer tokens. Default
   * false.
   */
  readonly compact?: boolean | undefined
  /** A grammar in llama.cpp's GBNF: the reply matches its rule `root`. Default: none. */
  readonly grammar?: string | undefined
  /**
   * A regular expression that matches the whole reply, as text or as a `RegExp` without the flags `i`, `m`,
   * `s` and `v`. Lookbehind, back-references and `\b` are not supported. Default: none.
   */
  readonly pattern?: string | RegExp | undefined
  /** The reply is one of these texts. Default: none. */
  readonly choices?: readonly string[] | undefined
  /**
   * Maximum number of tool calls in a reply. It ends with the last one, and nothing after that is decoded.
   * Default: no limit.
   */
  readonly maxToolCalls?: number | undefined
  /**
   * The texts that mark the model's thought, if its chat template names none or the wrong ones. `false`:
   * thoughts are not separated, and the marks are part of the text. Default: the marks that the chat template
   * names; for plain text, none.
   */
  readonly reasoning?: ReasoningMarks | false | undefined
  /**
   * Maximum number of tokens of the thought. At the limit, its end is forced and the answer begins. Has no
   * effect on a model that does not think. Default: no limit.
   */
  readonly maxReasoningTokens?: number | undefined
  /**
   * The prompt that `cfgScale` steers away from. It replaces a conversation's system text, or the whole of a
   * plain-text prompt. Guidance runs two sequences for one reply. Default '': the conversation without its
   * system text, or the last token of a plain-text prompt.
   */
  readonly negativePrompt?: string | undefined
  /**
   * How tokens are drafted; the model checks several drafts in one step, and the reply is the same. Default:
   * `draft` if a draft model is loaded, otherwise `lookup`.
   */
  readonly speculation?: SpeculationKind | undefined
  /**
   * `background` yields to `foreground`: it slows running foreground replies by at most a twentieth. Default
   * `foreground`.
   */
  readonly priority?: Priority | undefined
}

/**
 * Where drafts come from. `lookup`: repetitions in the text so far; `draft`: repetitions and the draft model;
 * `off`: nothing is drafted.
 */
export type SpeculationKind = 'off' | 'lookup' | 'draft'
