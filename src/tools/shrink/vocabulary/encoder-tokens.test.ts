// Trimmed vocabularies of encoders. In: a small WordPiece vocabulary and a unigram vocabulary trained by
// SentencePiece. Out: the same texts, the same pieces if all are kept, and the tokens that a choice of
// languages drops.
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bertFolder, randomBert } from '../../../../test/conformance/testing/random-bert.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import type { JsonTokenizerSpec } from '../../../core/text/spec.ts'
import { encoderTokenizer } from '../../../core/text/tokenize/read/encoder-tokenizer.ts'
import { scriptsOf } from './languages.ts'
import { hasMerges } from './merges.ts'
import { trimEncoder } from './trim-encoder.ts'
import { tokensOf } from './trim-spec.ts'

const folder = bertFolder(randomBert(1))
const words: JsonTokenizerSpec = {
  kind: 'json',
  tokenizer: JSON.parse((await folder.find(({ name }) => name === 'tokenizer.json')?.text()) ?? ''),
}
const golden = JSON.parse(
  readFileSync(new URL('../../../../test/conformance/golden/unigram.json', import.meta.url), 'utf8'),
)
const pieces: JsonTokenizerSpec = { kind: 'json', tokenizer: golden.tokenizer }

function trimmedTo(spec: JsonTokenizerSpec, text: string | undefined, languages?: readonly string[]) {
  const tokens = tokensOf(spec)
  const encoder = encoderTokenizer(spec)
  const counts = text === undefined ? undefined : new Map(encoder.encode(text).map((id) => [id, 1]))
  const open = {
    ...{ file: {} as never, spec, tokens, encoder, rows: tokens.length, table: '', fixedIds: 0 },
  }
  return { ...trimEncoder(open, { counts }, languages && scriptsOf(languages)), before: encoder, tokens }
}

const TEXT = 'a new test of the tokenizer, and other words'
const SPECS: readonly (readonly [string, JsonTokenizerSpec, string])[] = [
  ['WordPiece', words, 'the cat'],
  ['unigram', pieces, TEXT],
]

describe.each(SPECS)('%s', (_, spec, text) => {
  const { before, tokenizer, kept, proof, tokens } = trimmedTo(spec, text)

  test('is smaller, and its special tokens have their new ids', () => {
    expect(tokenizer.vocabSize).toBe(kept.ids.length)
    expect(kept.ids.length).toBeLessThan(tokens.length)
    expect(tokenizer.prefix.map((id) => kept.ids[id])).toEqual(before.prefix)
    expect(tokenizer.suffix.map((id) => kept.ids[id])).toEqual(before.suffix)
    expect(tokenizer.pair).toHaveLength(before.pair?.length ?? -1)
    expect(kept.merged).toBe(0)
  })

  test('every text is spelled as before, and a text of kept tokens keeps its pieces', () => {
    const unit = fc.oneof(
      fc.constantFrom('the cat', 'running', ' runner', 'tokenizer', '中', '<s>', '[MASK]'),
      fc.string(),
    )
    const same = proof.samePieces
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 8 }), (parts) => {
        const own = parts.join('')
        proof.check(before.encode(own), tokenizer.encode(own))
      }),
    )
    expect(proof.samePieces).toBeGreaterThan(same)
    expect(tokenizer.encode(text).map((id) => kept.ids[id])).toEqual(before.encode(text))
  })
})

test('a text that a trimmed vocabulary spells differently is rejected', () => {
  const { before, tokenizer, proof } = trimmedTo(words, 'the cat')
  expect(() => proof.check(before.encode('cat'), tokenizer.encode('cab'))).toThrow(
    /changes a text by encoding/,
  )
  expect(() => proof.check(before.encode('cat'), tokenizer.encode('c a t'))).toThrow(/tokenized differently/)
})

test('a piece is kept if one of its characters has no token', () => {
  const { kept, tokens } = trimmedTo(words, 'a')
  // The vocabulary has ##2 but not 2, and 1 but not ##1.
  const names = kept.ids.map((id) => tokens[id])
  expect(names).toEqual(expect.arrayContaining(['1', '##2', '##z', '[MASK]']))
  expect(names).not.toEqual(expect.arrayContaining(['##ing']))
  const { model } = words.tokenizer as { model: { vocab: Record<string, number> } }
  const vocab = { ...model.vocab, x9: tokens.length }
  const odd = { ...words, tokenizer: { ...words.tokenizer, model: { ...model, vocab } } }
  const trimmed = trimmedTo(odd, 'a')
  expect(trimmed.tokenizer.encode('x9').map((id) => trimmed.tokens[trimmed.kept.ids[id] ?? -1])).toEqual([
    'x9',
  ])
})

test('the piece with the lowest score is kept, because the score of unknown text depends on it', () => {
  const { model } = golden.tokenizer
  const vocab: [string, number][] = [
    ...model.vocab.slice(0, -1),
    ['abracadabra', -99],
    ...model.vocab.slice(-1),
  ]
  const added = golden.tokenizer.added_tokens.map((token: { id: number }) => ({
    ...token,
    id: token.id === vocab.length - 2 ? vocab.length - 1 : token.id,
  }))
  const tokenizer = { ...golden.tokenizer, added_tokens: added, model: { ...model, vocab } }
  const { kept, tokens } = trimmedTo({ ...pieces, tokenizer }, TEXT)
  expect(kept.ids.map((id) => tokens[id])).toContain('abracadabra')
})

describe('languages', () => {
  test('keep the tokens of their scripts and those of no script, and drop the others', () => {
    const { kept, tokens, before, tokenizer, proof } = trimmedTo(words, undefined, ['en'])
    const names = kept.ids.map((id) => tokens[id])
    expect(names).toContain('##ing')
    expect(names).toContain(',')
    expect(names).not.toContain('中')
    proof.check(before.encode('the 中'), tokenizer.encode('the 中'))
    expect([proof.foreign, proof.texts]).toEqual([1, 0])
    expect(trimmedTo(words, undefined, ['en', 'zh']).kept.ids).toHaveLength(tokens.length)
  })

  test("drop the text's tokens in other scripts, and report how many", () => {
    const { kept, tokens } = trimmedTo(words, 'the cat 中', ['en'])
    expect(kept.foreign).toBe(1)
    expect(kept.ids.map((id) => tokens[id])).not.toContain('中')
  })

  test.each([
    [['en'], ['Latn'], 'Ünïcode 12.5 😀', 'Ünïcode Ω'],
    [['sr'], ['Cyrl'], 'Београд 1', 'Beograd'],
    [['sr-Latn', 'el'], ['Latn', 'Grek'], 'Beograd Ω', 'Б'],
    [['ja'], ['Hira', 'Kana', 'Hani'], '漢字とカタカナー', '한'],
    [['ko-Hang'], ['Hang'], '한국어', '漢'],
    [['zh-Hant'], ['Hani', 'Bopo'], '漢字，ㄅ', 'a'],
  ])('%j are written in %j', (languages, names, within, beyond) => {
    const scripts = scriptsOf(languages)
    expect(scripts.names).toEqual(names)
    expect([scripts.has(within), scripts.has(beyond)]).toEqual([true, false])
  })

  test.each(['xx', 'english', 'en_US', ''])('reject %j, naming it', (code) => {
    expect(() => scriptsOf(['de', code])).toThrow(HalfbyteError)
    expect(() => scriptsOf(['de', code])).toThrow(`"${code}" is not a language`)
  })
})

test('another kind of vocabulary is rejected, and the error names it', () => {
  const spec: JsonTokenizerSpec = { kind: 'json', tokenizer: { model: { type: 'WordLevel', vocab: {} } } }
  expect(() => hasMerges(spec)).toThrow(/of type "WordLevel",.*whose vocabulary cannot be trimmed/)
})
