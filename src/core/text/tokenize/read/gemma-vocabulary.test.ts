// Tests vocabularies of Gemma 4 in GGUF. In: SentencePiece's pieces with merges. Out: llama.cpp's ids, and
// the text that they decode to.
import { expect, test } from 'vitest'
import { byteName } from '../vocabulary.ts'
import { createTokenizer } from './create.ts'

const BYTES = Array.from({ length: 256 }, (_, byte) => byteName(byte))
const PIECES = ['a', 'b', '▁', '▁a', 'ab', '▁ab', '\n', '\n\n']
const TOKENS = ['<pad>', '<eos>', '<bos>', '<unk>', '<turn|>', ...BYTES, ...PIECES]
const SPEC = {
  kind: 'gguf',
  model: 'gemma4',
  tokens: TOKENS,
  types: TOKENS.map((token, id) => (id < 5 ? 3 : BYTES.includes(token) ? 6 : 1)),
  merges: ['a b', '▁ ab', '▁ a'],
  bosId: 2,
  eosId: 1,
  addSpacePrefix: false,
} as const
const idOf = (token: string) => TOKENS.indexOf(token)

test.each([
  ['ab ab', ['ab', '▁ab']],
  ['  a', ['▁', '▁a']],
  ['a\nb', ['a', '\n', 'b']],
  ['a\n\nb', ['a', '\n\n', 'b']],
  // A run of line ends is merged only if it is a token.
  ['\n\n\n', ['\n', '\n', '\n']],
  ['é', ['<0xC3>', '<0xA9>']],
])('%j is split into lines, which are then merged', (text, pieces) => {
  const tokenizer = createTokenizer(SPEC)
  const ids = tokenizer.encode(text)
  expect(ids.filter((id) => id !== SPEC.bosId)).toEqual(pieces.map(idOf))
  expect(tokenizer.decode(ids.filter((id) => id !== SPEC.bosId))).toBe(text)
})

test('a text begins with BOS, and the end-of-turn token ends a reply', () => {
  const tokenizer = createTokenizer(SPEC)
  expect(tokenizer.encode('a', { addSpecial: true })).toEqual([2, idOf('a')])
  expect([...tokenizer.endIds].sort()).toEqual([1, 4])
})

test('a vocabulary without merges is rejected', () => {
  expect(() => createTokenizer({ ...SPEC, merges: undefined })).toThrow('no merges')
})
