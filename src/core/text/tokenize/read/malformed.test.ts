// Tests damaged specifications. In: valid ones with one thing wrong. Out: a typed error that names it.
import { describe, expect, test } from 'vitest'
import { isHalfbyteError } from '../../../base/errors.ts'
import { type GgufTokenizerSpec, MAX_TOKENS, type TokenizerSpec } from '../../spec.ts'
import { byteLevelSpec, jsonSpec, spmSpec } from '../../testing/tiny.ts'
import { checkedSpec } from './check-steps.ts'
import { createTokenizer } from './create.ts'

function failure(make: () => unknown): { code: string; message: string } {
  try {
    make()
  } catch (error) {
    if (isHalfbyteError(error)) return { code: error.code, message: error.message }
    throw error
  }
  throw new Error('nothing was thrown')
}

const bytes = byteLevelSpec()
const count = bytes.tokens.length
const spm = spmSpec(['a', 'b'])

const GGUF: readonly (readonly [string, string, RegExp, GgufTokenizerSpec])[] = [
  ['no merges', 'format', /no merges for its 269 tokens/, { ...bytes, merges: undefined }],
  ['a merge with one token', 'format', /merge 0, .*"hello"/, { ...bytes, merges: ['hello'] }],
  ['a merge without a right side', 'format', /merge 0, .*"h "/, { ...bytes, merges: ['h '] }],
  [
    'a merge without tokens',
    'format',
    /merge 1 of "q" and "zz" but no token "zz"/,
    { ...bytes, merges: ['h e', 'q zz'] },
  ],
  [
    'a merge that does not produce a token',
    'format',
    /merge 0 of "q" and "q" but no token "qq"/,
    { ...bytes, merges: ['q q'] },
  ],
  [
    'no tokens',
    'format',
    /0 tokens/,
    { ...bytes, tokens: [], types: [], merges: [], bosId: undefined, eosId: undefined },
  ],
  [
    'types for a different number of tokens',
    'format',
    /3 token types for 269 tokens/,
    { ...bytes, types: [1, 1, 1] },
  ],
  ['an unknown type', 'format', /type 7 for token 0/, { ...bytes, types: bytes.tokens.map(() => 7) }],
  [
    'BOS out of range',
    'format',
    new RegExp(`id ${count} for BOS and ${count} tokens`),
    { ...bytes, bosId: count },
  ],
  ['EOS that is not a whole number', 'format', /id 1.5 for EOS/, { ...bytes, eosId: 1.5 }],
  ['BOS to add, but without a name', 'format', /adds BOS/, { ...bytes, addBos: true, bosId: undefined }],
  ['an unknown pre-tokeniser', 'unsupported', /"brand-new"/, { ...bytes, pre: 'brand-new' }],
  [
    'an unknown model',
    'unsupported',
    /"rwkv"; only gpt2, llama and gemma4 are supported/,
    { ...bytes, model: 'rwkv' },
  ],
  ['no scores', 'format', /no scores for 261 tokens/, { ...spm, scores: undefined }],
  ['too few scores', 'format', /1 scores for 261 tokens/, { ...spm, scores: [0] }],
  [
    'a score that is not a number',
    'format',
    /score 5/,
    { ...spm, scores: spm.tokens.map((_, id) => (id === 5 ? Number.NaN : 0)) },
  ],
  [
    'a token that is not text',
    'format',
    /7 at 1 for tokens instead of an array of strings/,
    { ...spm, tokens: spm.tokens.map((token, id) => (id === 1 ? 7 : token)) as string[] },
  ],
  [
    'a name that is an empty list',
    'format',
    /has \[\] for name instead of a text/,
    { ...spm, name: [] as unknown as string },
  ],
  [
    'a token of a megabyte',
    'format',
    /1048576 characters \(id 260\)/,
    { ...spm, tokens: spm.tokens.with(260, 'x'.repeat(1 << 20)) },
  ],
]

const DOUBLING = { type: 'Replace', pattern: { String: 'a' }, content: 'aa' }
const model = jsonSpec().tokenizer['model'] as Record<string, unknown>
const vocab = model['vocab'] as Record<string, number>
const withModel = (changes: Record<string, unknown>) => jsonSpec({ model: { ...model, ...changes } })

const JSON_SPECS: readonly (readonly [string, string, RegExp, TokenizerSpec])[] = [
  ['no model', 'format', /undefined for model/, jsonSpec({ model: undefined })],
  ['no vocabulary', 'format', /null for vocab/, withModel({ vocab: null })],
  ['no merges', 'unsupported', /"none"; only BPE/, withModel({ merges: undefined, type: undefined })],
  ['merges that are not a list', 'format', /"h e" for merges/, withModel({ merges: 'h e' })],
  ['a merge of three', 'format', /merge 0/, withModel({ merges: [['h', 'e', 'l']] })],
  ['another kind', 'unsupported', /"Unigram"; only BPE is supported/, withModel({ type: 'Unigram' })],
  [
    'marked parts of words',
    'unsupported',
    /end_of_word_suffix "<\/w>"/,
    withModel({ end_of_word_suffix: '</w>' }),
  ],
  [
    'an id out of range',
    'format',
    new RegExp(`id ${MAX_TOKENS} for "new"`),
    withModel({ vocab: { ...vocab, new: MAX_TOKENS } }),
  ],
  ['an id that is not a number', 'format', /"3" for "new"/, withModel({ vocab: { ...vocab, new: '3' } })],
  [
    'two tokens with one id',
    'format',
    /two tokens with the id 0/,
    withModel({ vocab: { ...vocab, new: 0 } }),
  ],
  ['an added token without text', 'format', /added token 0/, jsonSpec({ added_tokens: [{ id: 3 }] })],
  ['added tokens that are not a list', 'format', /added_tokens/, jsonSpec({ added_tokens: {} })],
  ['an unknown decoder', 'unsupported', /unknown decoder .*CTC/, jsonSpec({ decoder: { type: 'CTC' } })],
  [
    'an unknown pre-tokeniser',
    'unsupported',
    /Unknown PreTokenizer type: Magic/,
    jsonSpec({ pre_tokenizer: { type: 'Magic' } }),
  ],
  [
    'a pattern that cannot be read',
    'unsupported',
    /splits text/,
    jsonSpec({ pre_tokenizer: { type: 'Split', pattern: { Regex: '(' }, behavior: 'Isolated' } }),
  ],
  ['an unknown normaliser', 'unsupported', /splits text/, jsonSpec({ normalizer: { type: 'Magic' } })],
  [
    'a decoder that doubles the text again and again',
    'unsupported',
    /times longer; the limit is 64/,
    jsonSpec({ decoder: { type: 'Sequence', decoders: new Array(34).fill(DOUBLING) } }),
  ],
  [
    'endless steps',
    'format',
    /100000 steps for decoders/,
    jsonSpec({ decoder: { type: 'Sequence', decoders: new Array(100_000).fill({ type: 'Fuse' }) } }),
  ],
  [
    'a post-processor that adds token after token',
    'format',
    /adds 100000 ids/,
    jsonSpec({
      post_processor: {
        type: 'TemplateProcessing',
        single: [{ SpecialToken: { id: 'x' } }],
        special_tokens: { x: { ids: new Array(100_000).fill(0) } },
      },
    }),
  ],
  ['an unknown post-processor', 'unsupported', /"Magic"/, jsonSpec({ post_processor: { type: 'Magic' } })],
  [
    'a template with unknown tokens',
    'format',
    /adds "<x>"/,
    jsonSpec({
      post_processor: {
        type: 'TemplateProcessing',
        single: [{ SpecialToken: { id: '<x>' } }],
        special_tokens: {},
      },
    }),
  ],
  [
    'an added id beyond the vocabulary',
    'format',
    /adds the id 9999/,
    jsonSpec({ post_processor: { type: 'BertProcessing', cls: ['a', 9999], sep: ['b', 1] } }),
  ],
  [
    'a BOS that is not a token',
    'format',
    /"<none>" as bos_token, which is not among its 269 tokens/,
    jsonSpec({}, { bos_token: '<none>' }),
  ],
  ['a BOS that is not text', 'format', /7 for bos_token/, jsonSpec({}, { bos_token: 7 })],
]

describe.each([
  ['GGUF', GGUF],
  ['tokenizer.json', JSON_SPECS],
] as const)('%s', (_name, cases) => {
  test.each(cases)('%s', (_title, code, message, spec) => {
    const found = failure(() => createTokenizer(spec))
    expect(found.message).toMatch(message)
    expect(found.code).toBe(code)
  })
})

describe('a field of a different type', () => {
  const wrong = {
    texts: [{}, 5, [1], ['a', null]],
    numbers: [{}, 5, ['1'], [{}]],
    text: [5, {}],
    number: ['1', {}, []],
  }
  const fields = {
    tokens: wrong.texts,
    merges: wrong.texts,
    scores: wrong.numbers,
    types: wrong.numbers,
    model: wrong.text,
    name: wrong.text,
    pre: wrong.text,
    chatTemplate: wrong.text,
    bosId: wrong.number,
    eosId: wrong.number,
    addBos: wrong.number,
    addSpacePrefix: wrong.number,
  }
  test.each(Object.entries(fields).flatMap(([key, values]) => values.map((value) => [key, value] as const)))(
    '%s: %j',
    (key, value) => {
      const spec = JSON.parse(JSON.stringify({ ...bytes, [key]: value }))
      for (const make of [() => createTokenizer(spec), () => checkedSpec(spec)]) {
        expect(failure(make)).toMatchObject({
          code: 'format',
          message: expect.stringContaining(`for ${key} instead of`),
        })
      }
    },
  )

  test('null means that there is no tokenizer; anything other than a specification is rejected', () => {
    expect(checkedSpec({ ...bytes, types: null })).toMatchObject({ types: undefined })
    for (const none of [
      undefined,
      null,
      5,
      'gguf',
      [],
      {},
      { kind: 'json' },
      { kind: 'json', tokenizer: 5 },
    ]) {
      expect(failure(() => checkedSpec(none)).code).toBe('format')
    }
  })
})

test('an endlessly nested field is rejected rather than printed', () => {
  let deep: unknown = []
  for (let at = 0; at < 100_000; at++) deep = [deep]
  expect(failure(() => createTokenizer({ ...bytes, types: deep as number[] })).message).toMatch(
    /list at 0 for types/,
  )
})

test('an unexpected error is blamed on the file', () => {
  let decoder: unknown = { type: 'Fuse' }
  for (let at = 0; at < 100_000; at++) decoder = { type: 'Sequence', decoders: [decoder] }
  expect(failure(() => createTokenizer(jsonSpec({ decoder })))).toMatchObject({
    code: 'format',
    message: expect.stringContaining('cannot be read'),
  })
})

test('a vocabulary of millions of tokens is rejected before anything is built', () => {
  const tokens = new Array<string>(MAX_TOKENS + 1).fill('a')
  const found = failure(() => createTokenizer({ ...bytes, tokens, types: undefined }))
  expect(found).toMatchObject({
    code: 'format',
    message: expect.stringContaining(`${MAX_TOKENS + 1} tokens`),
  })
})

test('names from Object.prototype are ordinary tokens', () => {
  const names = ['__proto__', 'constructor', 'hasOwnProperty']
  const text = JSON.stringify({ ...vocab }).replace(
    /}$/,
    `,${names.map((name, i) => `"${name}":${300 + i}`).join(',')}}`,
  )
  const tokenizer = createTokenizer(withModel({ vocab: JSON.parse(text) }))
  expect(names.map((name) => tokenizer.idOf(name))).toEqual([300, 301, 302])
  expect(createTokenizer(jsonSpec()).idOf('constructor')).toBeUndefined()
})
