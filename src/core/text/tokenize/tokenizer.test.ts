// Tests tokenizers as callers see them. In: tiny vocabularies of both forms. Out: ids, texts, special tokens.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { TokenizerSpec } from '../spec.ts'
import { byteLevelSpec, jsonSpec, spmSpec } from '../testing/tiny.ts'
import { createTokenizer } from './read/create.ts'

const M = '\u2581'
/** The normaliser and decoder of Llama 2's tokenizer.json. */
const LLAMA_JSON = {
  normalizer: {
    type: 'Sequence',
    normalizers: [
      { type: 'Prepend', prepend: M },
      { type: 'Replace', pattern: { String: ' ' }, content: M },
    ],
  },
  pre_tokenizer: null,
  decoder: {
    type: 'Sequence',
    decoders: [
      { type: 'Replace', pattern: { String: M }, content: ' ' },
      { type: 'ByteFallback' },
      { type: 'Fuse' },
      { type: 'Strip', content: ' ', start: 1, stop: 0 },
    ],
  },
  model: {
    type: 'BPE',
    byte_fallback: true,
    unk_token: '<unk>',
    fuse_unk: true,
    vocab: Object.fromEntries(
      [...spmSpec([M, 'h', 'i', 'hi', `${M}hi`]).tokens].map((token, id) => [token, id]),
    ),
    merges: ['h i', [M, 'hi']],
  },
  added_tokens: ['<unk>', '<s>', '</s>'].map((content, id) => ({
    content,
    id,
    special: true,
    normalized: false,
  })),
}
const LLAMA_CONFIG = { bos_token: '<s>', eos_token: '</s>' }

const SHAPES: readonly (readonly [string, TokenizerSpec])[] = [
  ['GGUF bytes', byteLevelSpec()],
  ['GGUF SentencePiece', spmSpec([M, 'a', 'b', ' ', 'ab', `${M}a`])],
  ['tokenizer.json bytes', jsonSpec()],
  ['tokenizer.json SentencePiece', jsonSpec(LLAMA_JSON, LLAMA_CONFIG)],
]

describe.each(SHAPES)('%s', (_name, spec) => {
  const tokenizer = createTokenizer(spec)

  test('decoding restores any text', () => {
    const unit = fc.oneof(
      fc.constantFrom('a', 'b', ' ', '\n', 'é', '我', '👩‍👩‍👧', '<s>', '<|im_end|>'),
      fc.string({ unit: 'grapheme' }),
    )
    fc.assert(
      fc.property(fc.string({ unit }), (text) => {
        const ids = tokenizer.encode(text)
        expect(tokenizer.decode(ids)).toBe(text)
        for (const id of ids) expect(tokenizer.isSpecial(id)).toBe(false)
      }),
    )
  })

  test('an empty text yields no ids, or only BOS if it is requested and the model uses it', () => {
    expect(tokenizer.encode('')).toEqual([])
    expect(tokenizer.encode('', { addSpecial: true })).toEqual(tokenizer.addsBos ? [tokenizer.bosId] : [])
    expect(tokenizer.decode([])).toBe('')
  })

  test('special tokens are parsed and written only on request, and end an answer', () => {
    const end = tokenizer.eosId as number
    const text = tokenizer.tokenText(end)
    expect(tokenizer.encode(text, { parseSpecial: true })).toEqual([end])
    expect(tokenizer.decode([end])).toBe('')
    expect(tokenizer.decode([end], { special: true })).toBe(text)
    expect(tokenizer.isEnd(end)).toBe(true)
    expect(tokenizer.isSpecial(end)).toBe(true)
    expect(tokenizer.isEnd(tokenizer.bosId as number)).toBe(false)
  })

  test('ids without a token produce no text', () => {
    for (const id of [tokenizer.vocabSize, 1e9, -1]) {
      expect(tokenizer.tokenBytes(id)).toEqual(new Uint8Array(0))
      expect(tokenizer.isSpecial(id)).toBe(false)
    }
    expect(tokenizer.idOf('no such token')).toBeUndefined()
  })
})

test('both forms of a byte-level vocabulary yield the same ids', () => {
  const gguf = createTokenizer(byteLevelSpec())
  const json = createTokenizer(jsonSpec())
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('hello', ' world', 'h', 'e', 'l', 'é', ' ', '🦙') }),
      (text) => {
        expect(json.encode(text)).toEqual(gguf.encode(text))
      },
    ),
  )
  expect(gguf.encode('hello worldé').map((id) => gguf.tokenText(id))).toEqual(['hello', ' world', 'é'])
})

test('a token whose type is text stays text, whatever its name: </s> in a Qwen vocabulary', () => {
  const spec = byteLevelSpec()
  const id = spec.tokens.length
  const gguf = createTokenizer({
    ...spec,
    tokens: [...spec.tokens, '</s>'],
    types: [...(spec.types ?? []), 1],
  })
  const own = jsonSpec()
  const model = own.tokenizer['model'] as { vocab: Record<string, number> }
  const json = createTokenizer(jsonSpec({ model: { ...model, vocab: { ...model.vocab, '</s>': id } } }))
  for (const text of ['</s>', 'a </s>b', 'hello</s></s>', '<s></s>'])
    for (const parseSpecial of [true, false]) {
      const ids = gguf.encode(text, { parseSpecial })
      expect(ids).toEqual(json.encode(text, { parseSpecial }))
      expect(ids).not.toContain(id)
    }
})

test('the decoder of a tokenizer.json spells added tokens, such as Gemma’s for runs of spaces', () => {
  const { tokenizer } = jsonSpec()
  const runs = [`${M}${M}`, `${M}${M}${M}`, '<b>']
  const spec = jsonSpec({
    normalizer: { type: 'Replace', pattern: { String: ' ' }, content: M },
    pre_tokenizer: null,
    decoder: {
      type: 'Sequence',
      decoders: [{ type: 'Replace', pattern: { String: M }, content: ' ' }, { type: 'Fuse' }],
    },
    model: { type: 'BPE', vocab: { a: 0, [M]: 1, [`${M}${M}`]: 2 }, merges: [`${M} ${M}`] },
    added_tokens: [
      ...runs.map((content, index) => ({ content, id: index + 2, special: false, normalized: false })),
      ...(tokenizer['added_tokens'] as object[]).map((token, index) => ({ ...token, id: index + 5 })),
    ],
  })
  const made = createTokenizer(spec)
  expect(made.decode([0, 2, 3, 4, 0])).toBe('a     <b>a')
  expect(made.decode(made.encode('a  a <b>'))).toBe('a  a <b>')
  expect(made.tokenText(5)).toBe('<|bos|>')
})

test('a token can be half a character', () => {
  const tokenizer = createTokenizer(byteLevelSpec())
  const ids = tokenizer.encode('ñ')
  expect(ids.map((id) => [...tokenizer.tokenBytes(id)])).toEqual([[0xc3], [0xb1]])
  expect(tokenizer.tokenText(ids[0] as number)).toBe('\ufffd')
})

test('a word that is a token becomes that token if merges are ignored', () => {
  const spec = byteLevelSpec()
  const withWord = { ...spec, tokens: [...spec.tokens, 'zz'], types: [...(spec.types ?? []), 1] }
  const spelled = (pre: string) => createTokenizer({ ...withWord, pre, addBos: false }).encode('zz')
  expect(spelled('gpt-2')).toHaveLength(2)
  expect(spelled('llama-bpe')).toEqual([spec.tokens.length])
})

describe('BOS', () => {
  test('Llama 3’s pre-tokeniser implies it, and a prompt that has it gets no second one', () => {
    const tokenizer = createTokenizer(byteLevelSpec({ pre: 'llama-bpe' }))
    const { bosId } = tokenizer
    expect(tokenizer.addsBos).toBe(true)
    expect(tokenizer.encode('h', { addSpecial: true })[0]).toBe(bosId)
    const twice = tokenizer.encode('<|bos|>h', { addSpecial: true, parseSpecial: true })
    expect(twice.filter((id) => id === bosId)).toHaveLength(1)
    expect(createTokenizer(byteLevelSpec({ pre: 'llama-bpe', addBos: false })).addsBos).toBe(false)
  })

  test('a post-processor adds it, and add_bos_token overrides that', () => {
    const post_processor = {
      type: 'Sequence',
      processors: [
        { type: 'ByteLevel' },
        {
          type: 'TemplateProcessing',
          single: [
            { SpecialToken: { id: '<|bos|>' } },
            { Sequence: { id: 'A' } },
            { SpecialToken: { id: '<|im_end|>' } },
          ],
          special_tokens: { '<|bos|>': { ids: [266] }, '<|im_end|>': { ids: [268] } },
        },
      ],
    }
    const encode = (config: Record<string, unknown>) =>
      createTokenizer(jsonSpec({ post_processor }, config)).encode('h', { addSpecial: true })
    const [h] = createTokenizer(jsonSpec()).encode('h')
    expect(encode({})).toEqual([266, h, 268])
    expect(encode({ add_bos_token: false })).toEqual([h, 268])
    expect(encode({ add_eos_token: false })).toEqual([266, h])
    expect(createTokenizer(jsonSpec({}, { add_bos_token: true })).encode('h', { addSpecial: true })).toEqual([
      266,
      h,
    ])
  })
})

describe('tokens that end an answer', () => {
  test('are the file’s, the caller’s, and those with well-known texts', () => {
    const spec = byteLevelSpec()
    const tokens = [...spec.tokens, '<|eot_id|>', 'x|y']
    const types = [...(spec.types ?? []), 3, 3]
    const tokenizer = createTokenizer({ ...spec, tokens, types, eosId: 0 }, { endIds: [tokens.length - 1] })
    const texts = [...tokenizer.endIds].map((id) => tokens[id]).sort()
    expect(texts).toEqual([tokens[0], '<|eot_id|>', '<|im_end|>', 'x|y'].sort())
  })

  test('<|end|> ends only a message if calls and returns end the answer', () => {
    const spec = byteLevelSpec()
    const withTokens = (...more: string[]) =>
      createTokenizer({ ...spec, tokens: [...spec.tokens, ...more], types: undefined })
    const plain = withTokens('<|end|>')
    expect(plain.isEnd(plain.idOf('<|end|>') as number)).toBe(true)
    const harmony = withTokens('<|end|>', '<|return|>', '<|call|>')
    expect(harmony.isEnd(harmony.idOf('<|end|>') as number)).toBe(false)
    expect(harmony.isEnd(harmony.idOf('<|return|>') as number)).toBe(true)
  })

  test('</s> is a closing tag if it is not a control token', () => {
    const spec = byteLevelSpec()
    const withType = (type: number) =>
      createTokenizer({ ...spec, tokens: [...spec.tokens, '</s>'], types: [...(spec.types ?? []), type] })
    const id = spec.tokens.length
    expect(withType(3).isEnd(id)).toBe(true)
    const tags = withType(4)
    expect(tags.isEnd(id)).toBe(false)
    expect(tags.decode([id])).toBe('</s>')
    const added_tokens = (special: boolean) => [{ content: '</s>', id, special, normalized: false }]
    for (const special of [true, false]) {
      const own = jsonSpec()
      const list = own.tokenizer['added_tokens'] as object[]
      const json = jsonSpec({ added_tokens: [...list, ...added_tokens(special)] })
      expect(createTokenizer(json).isEnd(id)).toBe(special)
    }
  })
})

describe('more tokens than the model has rows', () => {
  const rows = byteLevelSpec().tokens.length
  const list = jsonSpec().tokenizer['added_tokens'] as object[]
  const image = { content: '<image>', id: rows, special: true, normalized: false }
  const spec = jsonSpec({ added_tokens: [...list, image] })

  test('an added token beyond them causes an error if a text contains it as a special token, and is plain text otherwise', () => {
    const tokenizer = createTokenizer(spec, { rows })
    expect(tokenizer.vocabSize).toBe(rows)
    expect(tokenizer.encode('hello', { parseSpecial: true })).toEqual(
      createTokenizer(jsonSpec()).encode('hello'),
    )
    expect(tokenizer.decode(tokenizer.encode('<image>'))).toBe('<image>')
    expect(tokenizer.decode(tokenizer.encode(tokenizer.quote('<image>'), { parseSpecial: true }))).toBe(
      '<image>',
    )
    expect(tokenizer.idOf('<image>')).toBeUndefined()
    expect(() => tokenizer.encode('a<image>', { parseSpecial: true })).toThrow(
      `maps "<image>" to token ${rows}, but the model only has the first ${rows}; remove it`,
    )
  })

  test('a token of the vocabulary itself beyond them shows that the vocabulary belongs to another model', () => {
    expect(createTokenizer(jsonSpec(), { rows: 200 }).vocabSize).toBe(rows)
  })
})

test('among several tokens with the same spelling, the last one encodes text, and all can be decoded', () => {
  const spec = byteLevelSpec()
  const first = spec.tokens.indexOf('hello')
  const last = spec.tokens.length
  const tokenizer = createTokenizer({
    ...spec,
    tokens: [...spec.tokens, 'hello'],
    types: [...(spec.types ?? []), 1],
  })
  expect(tokenizer.encode('hello')).toEqual([last])
  expect(tokenizer.decode([first, last])).toBe('hellohello')
})
