// Tests the pre-tokenisers. In: texts, and the names that GGUF files use. Out: words that add up to the text.
import { Tokenizer as Library } from '@huggingface/tokenizers'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cut, preTokenizer } from './pre-tokenizers.ts'

const words = (name: string | undefined, text: string) => cut(text, preTokenizer(name).patterns)

describe('words', () => {
  test('gpt-2: a space belongs to the word after it, digits stay together', () => {
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

  test('qwen35: combining marks belong to the letters around them, and digits are single', () => {
    expect(words('qwen35', 'नमस्ते 12 é!')).toEqual(['नमस्ते', ' ', '1', '2', ' é', '!'])
    expect(words('qwen2', 'नमस्ते')).not.toEqual(['नमस्ते'])
  })

  test('llama-bpe: contractions in any case, three digits, line ends attached to what precedes them', () => {
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

  test('smollm: digits are split off before words are', () => {
    expect(words('smollm', 'a 12b')).toEqual(['a', ' ', '1', '2', 'b'])
  })

  test('tekken and gpt-4o: a change of case starts a new word', () => {
    expect(words('tekken', 'helloWorld HTTPServer')).toEqual(['hello', 'World', ' HTTPServer'])
    expect(words('gpt-4o', "WORLD'S fooBar 12345")).toEqual(["WORLD'S", ' foo', 'Bar', ' ', '123', '45'])
  })

  test('seed-coder: a line end is its own word', () => {
    expect(words('seed-coder', 'a 12!\n\nb')).toEqual(['a', ' ', '1', '2', '!', '\n\n', 'b'])
  })

  test('jais-2: runs of spaces are split at powers of two', () => {
    expect(words('jais-2', `a${' '.repeat(14)}b`).map(({ length }) => length)).toEqual([1, 8, 4, 1, 2])
    expect(words('jais-2', `a${' '.repeat(5)}`).map(({ length }) => length)).toEqual([1, 4, 1])
  })

  test('U+0085 is white space and the byte order mark is not, as in Unicode', () => {
    expect(words('gpt-2', 'a\u0085b\ufeffc')).toEqual(['a', '\u0085', 'b', '\ufeff', 'c'])
  })

  test('deepseek-llm: cased letters stay together, other letters do not', () => {
    expect(words('deepseek-llm', '\u00c0\u00c9 \u01c6\u01bbb12')).toEqual([
      '\u00c0\u00c9',
      ' \u01c6',
      '\u01bb',
      'b',
      '12',
    ])
  })
})

/** Code points of the letters of deepseek-llm, as its tokenizer.json lists them. */
const DEEPSEEK_LETTERS =
  '41-5A 61-7A B5 C0-D6 D8-F6 F8-1BA 1BC-1BF 1C4-293 295-2AF 370-373 376 377 37B-37D 37F 386 388-38A ' +
  '38C 38E-3A1 3A3-3F5 3F7-481 48A-52F 531-556 10A0-10C5 13A0-13F5 13F8-13FD 1C90-1CBA 1CBD-1CBF ' +
  '1D00-1D2B 1D6B-1D77 1D79-1D9A 1E00-1F15 1F18-1F1D 1F20-1F45 1F48-1F4D 1F50-1F57 1F59 1F5B 1F5D ' +
  '1F5F-1F7D 1F80-1FB4 1FB6-1FBC 1FBE 1FC2-1FC4 1FC6-1FCC 1FD0-1FD3 1FD6-1FDB 1FE0-1FEC 1FF2-1FF4 ' +
  '1FF6-1FFC 2102 2107 210A-2113 2115 2119-211D 2124 2126 2128 212A-212D 212F-2134 2139 213C-213F ' +
  '2145-2149 214E 2183 2184 2C00-2C7B 2C7E-2CE4 2CEB-2CEE 2CF2 2CF3 A640-A66D A680-A69B A722-A76F ' +
  'A771-A787 A78B-A78E AB70-ABBF FB00-FB06 FB13-FB17 FF21-FF3A FF41-FF5A 10400-1044F 104B0-104D3 ' +
  '104D8-104FB 10C80-10CB2 10CC0-10CF2 118A0-118DF 1E900-1E943'

test('deepseek-llm: the letters among all code points are those in the model\u2019s own list', () => {
  const listed = new Set(
    DEEPSEEK_LETTERS.split(' ').flatMap((range) => {
      const [first = 0, last = first] = range.split('-').map((code) => Number.parseInt(code, 16))
      return Array.from({ length: last - first + 1 }, (_, index) => first + index)
    }),
  )
  const [, letters] = preTokenizer('deepseek-llm').patterns
  const differing: string[] = []
  for (let point = 0x21; point <= 0x10ffff; point++) {
    if (point >= 0xd800 && point <= 0xdfff) continue
    const isLetter = String.fromCodePoint(point).search(letters as RegExp) === 0
    if (isLetter !== listed.has(point)) differing.push(point.toString(16))
  }
  expect(differing).toEqual([])
})

const NAMES = [
  undefined,
  ...'default llama-bpe qwen2 gpt-2 smollm falcon deepseek-llm deepseek-coder deepseek-v3 bloom viking tekken gpt-4o dbrx seed-coder jais-2'.split(
    ' ',
  ),
]

test.each([
  ['qwen2, qwen3, qwen3moe', ['qwen2', 'deepseek-r1-qwen']],
  ['llama, smollm3', ['llama-bpe', 'smollm']],
  ['mistral', ['tekken']],
  ['phi3 of Phi-4, olmo2', ['dbrx']],
  ['granite, granitehybrid', ['refact', 'dbrx', 'granite-docling']],
  ['olmoe, gpt_neox, mamba, mamba2', ['olmo']],
  ['lfm2', ['lfm2']],
  ['gpt2', ['gpt-2']],
  ['seed_oss, jais2', ['seed-coder', 'jais-2']],
  ['glm, glm4, hunyuan', ['chatglm-bpe', 'glm4', 'hunyuan-dense']],
  ['exaone, exaone4, cohere, starcoder2', ['exaone', 'exaone4', 'command-r', 'starcoder']],
  ['stablelm, phi2, olmo', ['stablelm2', 'phi-2', 'olmo']],
  ['bert of RoBERTa, jina-bert-v2', ['roberta-bpe', 'jina-v2-es', 'jina-v2-de', 'jina-v2-code']],
  ['those whose files name none, such as SentencePiece\u2019s', ['default', '']],
])('%s: the family’s files name a known pre-tokenizer', (_, names) => {
  for (const name of names) expect(words(name, 'ab 12')).toContain('ab')
})

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

  test.each(NAMES)('%s: the words add up to the text, and none is empty', (name) => {
    fc.assert(
      fc.property(text, (whole) => {
        const pieces = words(name, whole)
        expect(pieces.join('')).toBe(whole)
        expect(pieces).not.toContain('')
      }),
    )
  })

  test.each(NAMES)('%s: long runs of one character are split', (name) => {
    // With quadratic time the test would time out.
    for (const run of [' ', '\n', 'a', 'A', '1', '我', '!', '\u00a0']) {
      const text = `${run.repeat(200_000)}x`
      expect(words(name, text).join('') === text, JSON.stringify(run)).toBe(true)
    }
  })
})

const CASED = '[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]'
const LOWER = '[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]'
const CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
const REST = '\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+'

/** As spelled in the tokenizer.json of Llama 3, Qwen 2, Mistral Nemo and models with GPT-4o's tokenizer. */
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
  '%s: the words match those of the model\u2019s own pattern in the library',
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

test('an unknown name is unsupported, and the message says what to do', () => {
  expect(() => preTokenizer('nonsense')).toThrow(/"nonsense".*tokenizer\.json/)
  expect(() => preTokenizer('nonsense')).toThrow(expect.objectContaining({ code: 'unsupported' }))
  expect(() => preTokenizer('__proto__')).toThrow(expect.objectContaining({ code: 'unsupported' }))
})
