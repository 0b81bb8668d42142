// createTokenizer. In: a tokenizer's specification from any format. Out: the Tokenizer.
import { ggufTokenizer } from './gguf-tokenizer.ts'
import { jsonTokenizer } from './json-tokenizer.ts'
import { malformed, type TokenizerSpec } from './spec.ts'
import type { Tokenizer } from './tokenizer.ts'

export interface TokenizerOptions {
  /** Further ids that end an answer, such as the `eos_token_id` list of generation_config.json. */
  readonly endIds?: readonly number[]
}

/**
 * Throws `format` for a specification that is damaged or contradicts itself, `unsupported` for a kind of tokenizer that
 * is not known. A vocabulary of 150,000 tokens takes some hundred milliseconds.
 */
export function createTokenizer(spec: TokenizerSpec, { endIds = [] }: TokenizerOptions = {}): Tokenizer {
  switch (spec.kind) {
    case 'gguf':
      return ggufTokenizer(spec, endIds)
    case 'json':
      return jsonTokenizer(spec, endIds)
    default:
      throw malformed(`is of no known kind: ${String((spec satisfies never as TokenizerSpec).kind)}`)
  }
}
