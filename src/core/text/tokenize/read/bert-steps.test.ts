// Tests BERT's steps before WordPiece. In: texts from all Unicode planes. Out: the same ids as from the
// Python library tokenizers 0.23.3.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { bertNormalizer, bertWords } from './bert-steps.ts'
import { encoderTokenizer } from './encoder-tokenizer.ts'

interface Golden {
  readonly vocabulary: readonly string[]
  readonly texts: readonly { text: string; uncased: readonly number[]; cased: readonly number[] }[]
}
const { vocabulary, texts } = JSON.parse(
  readFileSync(new URL('../../../../../test/conformance/golden/word-piece.json', import.meta.url), 'utf8'),
) as Golden

test.each(['uncased', 'cased'] as const)('%s texts get the same ids as in the library', (kind) => {
  const steps = { clean_text: true, handle_chinese_chars: true, lowercase: kind === 'uncased' }
  const tokenizer = {
    normalizer: { type: 'BertNormalizer', ...steps },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    added_tokens: [],
    post_processor: null,
    model: { type: 'WordPiece', vocab: Object.fromEntries(vocabulary.map((token, id) => [token, id])) },
  }
  const { encode } = encoderTokenizer({ kind: 'json', tokenizer, config: {} })
  expect(texts.length).toBeGreaterThan(40)
  for (const { text, [kind]: ids } of texts) expect(encode(text), text).toEqual(ids)
})

test('each step is skipped if the file does not request it', () => {
  const text = 'É\0\u{20000}'
  expect(bertNormalizer({})(text)).toBe(text)
  expect(bertNormalizer({ clean_text: true })(text)).toBe('É\u{20000}')
  expect(bertNormalizer({ handle_chinese_chars: true })(text)).toBe('É\0 \u{20000} ')
  expect(bertNormalizer({ strip_accents: true })(text)).toBe('E\0\u{20000}')
  expect(bertNormalizer({ lowercase: true, strip_accents: false })(text)).toBe('é\0\u{20000}')
  expect(bertWords('a\u0085b')).toEqual(['a', 'b'])
})
