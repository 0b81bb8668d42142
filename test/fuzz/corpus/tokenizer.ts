// Past findings: tokenizers.
import { byteLevelSpec, jsonSpec } from '../../../src/core/text/testing/tiny.ts'
import type { CorpusEntry } from '../corpus.ts'
import { nestedLists, TRAP } from './values.ts'

const entry = (title: string, changes: object, text = 'hello world', config: object = {}): CorpusEntry => ({
  title,
  input: () => ({
    kind: 'json',
    spec: JSON.stringify({ ...jsonSpec().tokenizer, ...changes }),
    config: JSON.stringify(config),
    text,
  }),
})
const gguf = (title: string, changes: object): CorpusEntry => ({
  title,
  input: () => {
    const { tokens, merges, types } = byteLevelSpec()
    const keys = { model: 'gpt2', tokens, merges, token_type: types, bos_token_id: 3, ...changes }
    const named = Object.entries(keys).map(([key, value]) => [`tokenizer.ggml.${key}`, value])
    return { kind: 'gguf', spec: JSON.stringify(Object.fromEntries(named)), text: 'hello world' }
  },
})
const split = (Regex: string) => ({
  pre_tokenizer: { type: 'Split', pattern: { Regex }, behavior: 'Isolated', invert: false },
})
const { model } = jsonSpec().tokenizer as { model: object }
const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false }

export const CORPUS: readonly CorpusEntry[] = [
  {
    title: 'a decoder of 20,000 nested lists',
    input: () => ({
      kind: 'json',
      spec: `{"decoder":${nestedLists(20_000)},${JSON.stringify(jsonSpec().tokenizer).slice(1)}`.replace(
        '"decoder":{"type":"ByteLevel"},',
        '',
      ),
      text: 'hello',
    }),
  },
  entry('a pattern that backtracks forever', split('(a*)*b'), 'a'.repeat(60)),
  entry('an invalid pattern', split('(')),
  entry(
    'replacements that double 34 times',
    {
      normalizer: {
        type: 'Sequence',
        normalizers: Array.from({ length: 34 }, () => ({
          type: 'Replace',
          pattern: { String: 'a' },
          content: 'aa',
        })),
      },
    },
    'banana',
  ),
  entry('bytes written as characters 40 times', {
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: new Array(40).fill({ type: 'ByteLevel', use_regex: false }),
    },
  }),
  entry(
    'an added token of 16,000 characters',
    { added_tokens: [{ id: 300, content: 'a'.repeat(16_000), special: true, ...flags }] },
    `${'a'.repeat(15_999)}b`.repeat(64),
  ),
  entry('merges that are an object', { model: { ...model, merges: TRAP } }),
  entry('merges of objects', { model: { ...model, merges: [TRAP, [TRAP, TRAP]] } }),
  entry('an unknown token that is an object', { model: { ...model, unk_token: TRAP } }),
  entry('a kind of model that is an object', { model: { ...model, type: TRAP } }),
  entry('a normalizer that is an object without keys', { normalizer: { type: TRAP } }),
  entry('a pre-tokeniser that is an object without keys', { pre_tokenizer: { type: TRAP } }),
  entry('a template that is an object', {}, 'x', { chat_template: TRAP }),
  entry('templates that are objects', {}, 'x', { chat_template: [{ name: 'default', template: TRAP }] }),
  entry('a token that is an object', {}, 'x', { bos_token: TRAP, eos_token: { content: TRAP } }),
  entry('text with an invalid character', {}, '\ufdd0\ufdd1 hello \ud800'),
  gguf('an id that is a string', { bos_token_id: 'x' }),
  gguf('merges of unknown tokens', { merges: ['x y', '', ' ', 'a'] }),
]
