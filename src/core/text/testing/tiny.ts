// Tiny tokenizers for tests. In: merges, pieces, special tokens. Out: valid specifications to use or to
// break.

import type { GgufTokenizerSpec, JsonTokenizerSpec } from '../spec.ts'
import { BYTE_CHARS } from '../tokenize/byte-level.ts'
import { byteName } from '../tokenize/vocabulary.ts'

const MERGES = ['h e', 'l l', 'he ll', 'hell o', 'Ġ w', 'o r', 'Ġw or', 'Ġwor l', 'Ġworl d', 'Ã ©']
const SPECIALS = ['<|bos|>', '<|im_start|>', '<|im_end|>']

/** Tokens: bytes, the results of merges, special tokens. `hello`, ` world` and `é` are one token each. */
export function byteLevelSpec(changes: Partial<GgufTokenizerSpec> = {}): GgufTokenizerSpec {
  const tokens = [...BYTE_CHARS, ...MERGES.map((merge) => merge.replace(' ', '')), ...SPECIALS]
  return {
    kind: 'gguf',
    model: 'gpt2',
    pre: 'gpt-2',
    tokens,
    merges: MERGES,
    types: tokens.map((token) => (SPECIALS.includes(token) ? 3 : 1)),
    bosId: tokens.indexOf('<|bos|>'),
    eosId: tokens.indexOf('<|im_end|>'),
    ...changes,
  }
}

/**
 * The tokenizer of `byteLevelSpec` with more tokens, which are special unless `type` is another of GGUF's
 * types.
 */
export function byteLevelSpecWith(more: readonly string[], type = 3): GgufTokenizerSpec {
  const spec = byteLevelSpec()
  return { ...spec, tokens: [...spec.tokens, ...more], types: [...spec.types!, ...more.map(() => type)] }
}

/** The tokenizer of `byteLevelSpec` as a tokenizer.json. */
export function jsonSpec(
  changes: Readonly<Record<string, unknown>> = {},
  config: Readonly<Record<string, unknown>> = {},
): JsonTokenizerSpec {
  const tokens = byteLevelSpec().tokens.slice(0, -SPECIALS.length)
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true }
  return {
    kind: 'json',
    tokenizer: {
      added_tokens: SPECIALS.map((content, index) => ({ content, id: tokens.length + index, ...flags })),
      normalizer: null,
      pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
      post_processor: null,
      decoder: { type: 'ByteLevel' },
      model: {
        type: 'BPE',
        vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
        merges: MERGES,
      },
      ...changes,
    },
    config: { bos_token: '<|bos|>', eos_token: { content: '<|im_end|>' }, ...config },
  }
}

/**
 * Tokens: `<unk> <s> </s>`, the 256 bytes, `pieces`. By default, each piece's score is one less than the
 * previous one's.
 */
export function spmSpec(
  pieces: readonly (string | readonly [string, number])[],
  changes: Partial<GgufTokenizerSpec> = {},
): GgufTokenizerSpec {
  const bytes = Array.from({ length: 256 }, (_, byte) => byteName(byte))
  const scored = pieces.map((piece, index) =>
    typeof piece === 'string' ? ([piece, -index] as const) : piece,
  )
  return {
    kind: 'gguf',
    model: 'llama',
    tokens: ['<unk>', '<s>', '</s>', ...bytes, ...scored.map(([piece]) => piece)],
    scores: [0, 0, 0, ...bytes.map(() => 0), ...scored.map(([, score]) => score)],
    types: [2, 3, 3, ...bytes.map(() => 6), ...scored.map(() => 1)],
    bosId: 1,
    eosId: 2,
    ...changes,
  }
}
