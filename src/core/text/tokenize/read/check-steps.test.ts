// Tests the step check. In: patterns and steps of tokenizer.json files. Out: errors for those that may never
// end, and for none that has been published.
import { describe, expect, test, vi } from 'vitest'
import { isHalfbyteError } from '../../../base/errors.ts'
import { jsonSpec } from '../../testing/tiny.ts'
import { preTokenizer } from '../pre-tokenizers.ts'
import { checkPattern } from './check-steps.ts'
import { createTokenizer } from './create.ts'

const split = (Regex: string) => ({ type: 'Split', pattern: { Regex }, behavior: 'Isolated', invert: false })
const replace = (pattern: object, content: unknown) => ({ type: 'Replace', pattern, content })
const sequence = (pretokenizers: readonly object[]) => ({ type: 'Sequence', pretokenizers })
const normalizers = (list: readonly object[]) => ({ type: 'Sequence', normalizers: list })

test.each([
  ['(a*)*b', 'a'],
  ['(a+)+$', 'a'],
  ['(a|aa)+b', 'a'],
  ['(?:a?){30}a{30}', 'a'],
  [`${'a?'.repeat(30)}${'a'.repeat(30)}`, 'a'],
  ['(a|a)'.repeat(30).concat('b'), 'a'],
  ['a*a*a*b', 'a'],
  ['[a-z ]*[a-z ]*[a-z ]*[a-z ]*0', 'a'],
  ['((a{1,30}){1,30}){1,30}b', 'a'],
  ['x|(?=(a*)*b)', 'a'],
  ['(?<=(a*)*b)c', 'a'],
])('%s is rejected', (Regex) => {
  expect(() => createTokenizer(jsonSpec({ pre_tokenizer: split(Regex) }))).toThrow(/may never finish/)
  expect(() => createTokenizer(jsonSpec({ normalizer: replace({ Regex }, 'x') }))).toThrow(/may never finish/)
})

const LLAMA3 =
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
const LETTERS = '\\p{Lm}\\p{Lo}\\p{M}'

test.each([
  LLAMA3,
  `[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}${LETTERS}]*[\\p{Ll}${LETTERS}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}|\\s+(?!\\S)`,
  `[\\p{Han}]+|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}${LETTERS}&&[^\\p{Han}]]*[\\p{Ll}${LETTERS}&&[^\\p{Han}]]+(?i:'s|'t)?|\\s*[\\r\\n]+`,
  '(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\p{N}{1,3}+| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s',
  '[^\\r\\n\\p{L}\\p{N}]?(?:\\p{L}\\p{M}*(?: \\p{L}\\p{M}*)*)+|\\p{N}|\\s+(?!\\S)|\\s+',
  '\\p{N}{1,3}(?=(?:\\p{N}{3})*(?:\\P{N}|$))',
  ' ?[^(\\s|[.,!?…。，、।۔،])]+',
  "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
])('%s, a published pattern, is accepted', (Regex) => {
  const tokenizer = createTokenizer(
    jsonSpec({ pre_tokenizer: sequence([split(Regex), { type: 'ByteLevel', use_regex: false }]) }),
  )
  expect(tokenizer.decode(tokenizer.encode('hello world'))).toBe('hello world')
})

test('the patterns for GGUF names obey the same limit', () => {
  for (const name of [
    'default',
    'llama-bpe',
    'falcon',
    'deepseek-llm',
    'deepseek-coder',
    'deepseek-v3',
    'viking',
    'gpt-4o',
  ]) {
    for (const pattern of preTokenizer(name).patterns) expect(checkPattern(pattern)).toBeGreaterThan(0)
  }
})

describe('steps', () => {
  const doubling = new Array(34).fill(replace({ String: 'a' }, 'aa'))
  test.each<[string, RegExp, Record<string, unknown>]>([
    ['that double a text', /times longer/, { normalizer: normalizers(doubling) }],
    ['that double words', /times longer/, { pre_tokenizer: sequence(doubling) }],
    [
      'that repeatedly write bytes as characters',
      /times longer/,
      { pre_tokenizer: sequence(new Array(40).fill({ type: 'ByteLevel', use_regex: false })) },
    ],
    [
      'that insert between all letters',
      /times longer/,
      { normalizer: replace({ Regex: 'x*' }, 'y'.repeat(200)) },
    ],
    ['that insert the preceding text', /inserts "\$`"/, { normalizer: replace({ String: 'a' }, '$`') }],
    [
      'that write something other than text',
      /inserts {"toString":5}/,
      { normalizer: replace({ String: 'a' }, { toString: 5 }) },
    ],
    [
      'that put an object in front',
      /inserts {"toString":5}/,
      { normalizer: { type: 'Prepend', prepend: { toString: 5 } } },
    ],
    ['with an invalid marker', /inserts {}/, { pre_tokenizer: { type: 'Metaspace', replacement: {} } }],
    [
      'that split at empty matches',
      /every 0 characters/,
      { pre_tokenizer: { type: 'FixedLength', length: 0 } },
    ],
    [
      'that are too many',
      /steps to split text/,
      { normalizer: normalizers(new Array(1000).fill({ type: 'NFC' })) },
    ],
    ['that are not steps', /splits text|instead of/, { normalizer: { type: 'Sequence', normalizers: 5 } }],
    ['of a text', /splits text|instead of/, { pre_tokenizer: { type: 'Split', pattern: { Regex: {} } } }],
  ])('%s are rejected', (_name, message, changes) => {
    expect(() => createTokenizer(jsonSpec(changes))).toThrow(message)
  })

  test('that are incomplete in a damaged file cause a typed error, at the latest when they are used', () => {
    // The library warns about invalid patterns.
    vi.spyOn(console, 'warn').mockImplementation(() => {})
    const odd: readonly unknown[] = [
      undefined,
      null,
      5,
      '',
      {},
      [],
      { toString: 5 },
      { String: {} },
      { Regex: 5 },
      'NFC',
      [[]],
    ]
    for (const type of [
      'Prepend',
      'Strip',
      'Split',
      'Metaspace',
      'Digits',
      'Punctuation',
      'FixedLength',
      'BertNormalizer',
      'Precompiled',
    ]) {
      for (const value of odd) {
        for (const key of [
          'pattern',
          'prepend',
          'content',
          'replacement',
          'str_rep',
          'prepend_scheme',
          'length',
          'behavior',
          'precompiled_charsmap',
        ]) {
          for (const field of ['normalizer', 'pre_tokenizer']) {
            try {
              const tokenizer = createTokenizer(jsonSpec({ [field]: { type, [key]: value } }))
              tokenizer.encode('hello world')
              tokenizer.quote('<|im_end|>')
            } catch (error) {
              if (!isHalfbyteError(error)) throw error
            }
          }
        }
      }
    }
  })
})
