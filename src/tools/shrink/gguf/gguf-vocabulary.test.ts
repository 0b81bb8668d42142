import { expect, test } from 'vitest'
import { fixtureText } from '../../../../test/helpers/fixture.ts'
import type { JsonTokenizerSpec } from '../../../core/text/spec.ts'
import { jsonSpec } from '../../../core/text/testing/tiny.ts'
import { BYTE_CHARS } from '../../../core/text/tokenize/byte-level.ts'
import { createTokenizer } from '../../../core/text/tokenize/read/create.ts'
import { ggufVocabulary } from './gguf-vocabulary.ts'

const published = (name: string): JsonTokenizerSpec => ({
  kind: 'json',
  tokenizer: JSON.parse(fixtureText(`tokenizers/${name}.tokenizer.json`)),
})

const PLAIN = { bos_token: 'a', eos_token: 'b' }
const vocabularyWith = (token: string) =>
  Object.fromEntries([...BYTE_CHARS, token].map((each, id) => [each, id] as const))

function asGguf(spec: JsonTokenizerSpec, rows?: number, eosIds: number[] = []) {
  const tokenizer = createTokenizer(spec)
  const generation = { eos_token_id: eosIds }
  const found = ggufVocabulary('model', { spec, tokenizer, generation, rows: rows ?? tokenizer.vocabSize })
  return { tokenizer, found }
}

test.each([
  ['smollm', 'gpt2', 'smollm'],
  ['phi3-v', 'llama', undefined],
] as const)('%s has the same ids on an English text', (name, model, pre) => {
  const { tokenizer, found } = asGguf(published(name))
  expect(found).toMatchObject({ model, ...(pre && { pre }) })
  const text = fixtureText('texts/wikitext-2.txt')
  expect(createTokenizer(found).encode(text, { addSpecial: true })).toEqual(
    tokenizer.encode(text, { addSpecial: true }),
  )
})

test('rows without a token become unused tokens, and end-of-turn tokens are kept', () => {
  const { tokenizer, found } = asGguf(jsonSpec(), 300, [1, 268])
  const { vocabSize, bosId, eosId } = tokenizer
  expect(found.tokens).toHaveLength(300)
  expect(found.tokens.at(-1)).toBe('[PAD299]')
  expect(found.types?.slice(vocabSize)).toEqual(Array(300 - vocabSize).fill(5))
  expect(found.types?.slice(vocabSize - 3, vocabSize)).toEqual([3, 3, 3])
  expect(found).toMatchObject({ pre: 'gpt-2', bosId, eosId, eotId: 1 })
})

test("added tokens beyond the table's rows are dropped", () => {
  const { found } = asGguf(jsonSpec({}, { eos_token: '<|bos|>' }), 268)
  expect(found.tokens).toHaveLength(268)
})

test('a pre-tokenizer without a name in GGUF is rejected', () => {
  const pre_tokenizer = {
    type: 'Sequence',
    pretokenizers: [
      { type: 'Split', pattern: { Regex: '[^e]' }, behavior: 'Isolated', invert: false },
      { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
    ],
  }
  const merges = { type: 'BPE', vocab: vocabularyWith('er'), merges: ['e r'] }
  expect(() => asGguf(jsonSpec({ pre_tokenizer, model: merges, added_tokens: [] }, PLAIN))).toThrow(
    /^model: with the best of GGUF's pre-tokenizers, only \d\d of 53 texts get the same tokens; write a \.hbm$/,
  )
})
