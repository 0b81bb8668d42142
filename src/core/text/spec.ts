// The two kinds of tokenizer specification, their limits and errors.
import { type ErrorDetail, HalfbyteError } from '../base/errors.ts'
import type { JsonObject } from '../base/values.ts'

export { shown } from '../base/check-options.ts'

/** A tokenizer.json of the Hugging Face library, with its tokenizer_config.json. */
export interface JsonTokenizerSpec {
  readonly kind: 'json'
  readonly tokenizer: JsonObject
  /** Names the special tokens and contains `chat_template`; without it there is no BOS, EOS or template. */
  readonly config?: JsonObject | undefined
}

/** The vocabulary of a GGUF file, with GGUF's names of models (`gpt2`, `llama`) and pre-tokenisers. */
export interface GgufTokenizerSpec {
  readonly kind: 'gguf'
  readonly model: string
  /** `general.name`, from which llama.cpp recognises some families. */
  readonly name?: string | undefined
  readonly pre?: string | undefined
  /** By id. */
  readonly tokens: readonly string[]
  readonly scores?: readonly number[] | undefined
  /** GGUF token types: 1 normal, 2 unknown, 3 control, 4 user defined, 5 unused, 6 byte. */
  readonly types?: readonly number[] | undefined
  /** Each is `left right`. The highest priority comes first. */
  readonly merges?: readonly string[] | undefined
  readonly bosId?: number | undefined
  readonly eosId?: number | undefined
  readonly eotId?: number | undefined
  readonly eomId?: number | undefined
  readonly unknownId?: number | undefined
  readonly addBos?: boolean | undefined
  readonly addEos?: boolean | undefined
  readonly addSpacePrefix?: boolean | undefined
  readonly chatTemplate?: string | undefined
  /** The template for conversations with tools, if the file has a separate one (`tool_use`). */
  readonly toolTemplate?: string | undefined
  /** The template for conversations with documents, if the file has a separate one (`rag`). */
  readonly documentTemplate?: string | undefined
}

export type TokenizerSpec = JsonTokenizerSpec | GgufTokenizerSpec

/** The largest published vocabularies have about 270,000 tokens and 520,000 merges. */
export const MAX_TOKENS = 1 << 20
export const MAX_MERGES = 1 << 21
/** Maximum UTF-16 units of a token. */
export const MAX_TOKEN_LENGTH = 1 << 14

/** `what`: a clause with the numbers, e.g. `has 12 scores for 32000 tokens`. */
export function malformed(what: string, detail: ErrorDetail = {}): HalfbyteError {
  return new HalfbyteError('format', `the tokenizer ${what}; convert or download the model again`, detail)
}

export function unsupported(what: string, next: string, detail: ErrorDetail = {}): HalfbyteError {
  return new HalfbyteError('unsupported', `the tokenizer ${what}; ${next}`, detail)
}
