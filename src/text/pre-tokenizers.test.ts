// Tests of the pre-tokenisers. In: texts, and the names GGUF files use. Out: words that together are the text.
import { Tokenizer as Library } from '@huggingface/tokenizers'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cut, preTokenizer } from './pre-tokenizers.ts'

const words = (name: string | undefined, text: string) => cut(text, preTokenizer(name).patterns)

describe('words', () => {
  test('gpt-2: a space goes with the word behind it, digits stay together', () => {
    expect(words('gpt-2', "I'm  it 1234 'RE!\n\n x ")).toEqual([
      'I',
      "'m",
      ' ',
      ' it',
      ' 1234',
      " '",
      'RE',
      '!',
      '\n\n',
      ' x',
      ' ',
    ])
  })

  test('llama-bpe: contractions in any case, three digits, line ends with what is before them', () => {
    expect(words('llama-bpe', "we'RE 12345!\n\n  x\r\n ")).toEqual([
      'we',
      "'RE",
      ' ',
      '123',
      '45',
      '!\n\n',
      ' ',
      ' x',
      '\r\n',
      ' ',
    ])
  })

  test('qwen2: one digit at a time', () => {
    expect(words('qwen2', 'a 123')).toEqual(['a', ' ', '1', '2', '3'])
  })

  test('smollm: digits are cut off before words are', () => {
    expect(words('smollm', 'a 12b')).toEqual(['a', ' ', '1', '2', 'b'])
  })

  test('tekken and gpt-4o: a change of case begins a word', () => {
    expect(words('tekken', 'helloWorld HTTPServer')).toEqual(['hello', 'World', ' HTTPServer'])
    expect(words('gpt-4o', "WORLD'S fooBar 12345")).toEqual(["WORLD'S", ' foo', 'Bar', ' ', '123', '45'])
  })

  test('next line is white space and the byte order mark is not, as in Unicode', () => {
    expect(words('gpt-2', 'a\u0085b\ufeffc')).toEqual(['a', '\u0085', 'b', '\ufeff', 'c'])
  })

  test('deepseek-llm: cased letters go together, others do not', () => {
    expect(words('deepseek-llm', '\u00c0\u00c9 \u01c6\u01bbb12')).toEqual([
      '\u00c0\u00c9',
      ' \u01c6',
      '\u01bb',
      'b',
      '12',
    ])
  })
})

const NAMES = [
  undefined,
  ...'default llama-bpe qwen2 gpt-2 smollm falcon deepseek-llm deepseek-coder deepseek-v3 bloom viking tekken gpt-4o dbrx'.split(
    ' ',
  ),
]

describe('every name', () => {
  const text = fc.string({
    unit: fc.constantFrom(
      'a',
      'B',
      'é',
      ' ',
      '  ',
      '\n',
      '\r',
      '\t',
      '1',
      '9',
      '我',
      'ا',
      '🦙',
      '.',
      "'s",
      '$',
      '\u0085',
      '\ufeff',
    ),
    maxLength: 40,
  })

  test.each(NAMES)('%s: the words together are the text, and none is empty', (name) => {
    fc.assert(
      fc.property(text, (whole) => {
        const pieces = words(name, whole)
        expect(pieces.join('')).toBe(whole)
        expect(pieces).not.toContain('')
      }),
    )
  })

  test.each(NAMES)('%s: long runs of one character take time in proportion', (name) => {
    for (const run of [' ', '\n', 'a', 'A', '1', '我', '!', '\u00a0']) {
      const started = performance.now()
      words(name, `${run.repeat(200_000)}x`)
      expect(performance.now() - started, JSON.stringify(run)).toBeLessThan(5000)
    }
  })
})

const CASED = '[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]'
const LOWER = '[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]'
const CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
const REST = '\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+'

/** As the tokenizer.json of Llama 3, Qwen 2, Mistral Nemo and GPT-4o's kin spell them. */
const ORIGINALS = [
  [
    'llama-bpe',
    `${CONTRACTION}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|${REST}`,
  ],
  ['qwen2', `${CONTRACTION}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|${REST}`],
  [
    'tekken',
    `[^\\r\\n\\p{L}\\p{N}]?${CASED}*${LOWER}+|[^\\r\\n\\p{L}\\p{N}]?${CASED}+${LOWER}*|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|${REST}`,
  ],
  [
    'gpt-4o',
    `[^\\r\\n\\p{L}\\p{N}]?${CASED}*${LOWER}+${CONTRACTION}?|[^\\r\\n\\p{L}\\p{N}]?${CASED}+${LOWER}*${CONTRACTION}?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|${REST}`,
  ],
] as const

test.each(ORIGINALS)(
  '%s: the words of the model\u2019s own pattern, as the library reads it',
  (name, pattern) => {
    const library = new Library(
      {
        model: { type: 'BPE', vocab: {}, merges: [] },
        added_tokens: [],
        normalizer: null,
        pre_tokenizer: { type: 'Split', pattern: { Regex: pattern }, behavior: 'Isolated', invert: false },
        post_processor: null,
        decoder: null,
      },
      {},
    )
    const unit = fc.constantFrom(
      ...'aBcÉ我ا1239 \n\r\t.!/\'"\u0085\ufeff\u0301ǅʰ',
      'LL',
      "'RE",
      "'s",
      '  ',
      '🦙',
    )
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 40 }), (whole) => {
        expect(words(name, whole)).toEqual(library.pre_tokenizer?.(whole))
      }),
      { numRuns: 500 },
    )
  },
)

test('an unknown name is unsupported, and the sentence says it and what to do', () => {
  expect(() => preTokenizer('nonsense')).toThrow(/"nonsense".*tokenizer\.json/)
  expect(() => preTokenizer('nonsense')).toThrow(expect.objectContaining({ code: 'unsupported' }))
  expect(() => preTokenizer('__proto__')).toThrow(expect.objectContaining({ code: 'unsupported' }))
})
