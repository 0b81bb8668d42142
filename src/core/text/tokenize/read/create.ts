// Makes a Tokenizer from the specification of any format.
import { isHalfbyteError, reasonOf } from '../../../base/errors.ts'
import { malformed, type TokenizerSpec } from '../../spec.ts'
import type { Tokenizer, TokenizerOptions } from '../tokenizer.ts'
import { checkedSpec } from './check-steps.ts'
import { ggufTokenizer } from './gguf-tokenizer.ts'
import { jsonTokenizer } from './json-tokenizer.ts'

/**
 * Throws `format` for a damaged or contradictory specification, `unsupported` for an unknown
 * kind of tokenizer. Creating one with 150,000 tokens takes a few hundred milliseconds.
 */
export function createTokenizer(spec: TokenizerSpec, options: TokenizerOptions = {}): Tokenizer {
  const checked = checkedSpec(spec)
  try {
    return checked.kind === 'gguf' ? ggufTokenizer(checked, options) : jsonTokenizer(checked, options)
  } catch (cause) {
    if (isHalfbyteError(cause)) throw cause
    // The file is the only input, so it must have caused any unexpected error, for example by nesting
    // endlessly.
    throw malformed(`cannot be read (${reasonOf(cause)})`)
  }
}
