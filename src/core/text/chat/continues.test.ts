// Tests continuation. In: text in two parts. Out: the ids of the whole text, without an extra space in
// between.
import { expect, test } from 'vitest'
import { createTokenizer } from '../tokenize/read/create.ts'

const tokens = ['<unk>', '<s>', '</s>', '\u2581', 'a', 'b']
const tokenizer = createTokenizer({
  kind: 'gguf',
  model: 'llama',
  tokens,
  scores: tokens.map((_, id) => -id),
  types: [2, 3, 3, 1, 1, 1],
  bosId: 1,
  eosId: 2,
  addBos: true,
  addSpacePrefix: true,
})

test('a continued text gets no leading space', () => {
  expect(tokenizer.encode('ab')).toEqual([3, 4, 5])
  expect(tokenizer.encode('b', { continues: true })).toEqual([5])
  expect([...tokenizer.encode('a'), ...tokenizer.encode('b', { continues: true })]).toEqual(
    tokenizer.encode('ab'),
  )
})

test('after a special token, even a continued text counts as new', () => {
  const options = { parseSpecial: true, continues: true }
  expect(tokenizer.encode('b</s>a', options)).toEqual([5, 2, 3, 4])
})
