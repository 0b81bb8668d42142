// Trimmed tokenizers. In: tiny specifications, published tokenizers, texts. Out: the same texts, the same
// pieces if all are kept, and no unneeded tokens.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fixture, fixtureText } from '../../../../test/helpers/fixture.ts'
import { openModel } from '../../../core/arch/open-model.ts'
import { bufferSource } from '../../../core/base/bytes.ts'
import type { GgufTokenizerSpec, TokenizerSpec } from '../../../core/text/spec.ts'
import { byteLevelSpec, jsonSpec, spmSpec } from '../../../core/text/testing/tiny.ts'
import { createTokenizer } from '../../../core/text/tokenize/read/create.ts'
import { fixedTokens } from './fixed-tokens.ts'
import { derivations } from './merges.ts'
import { tokensOf, trimGeneration, trimSpec } from './trim-spec.ts'

/** Both tokenizers, and the old id for each new one. */
function trimmedTo(spec: TokenizerSpec, text: string) {
  const before = createTokenizer(spec)
  const tokens = tokensOf(spec)
  const derive = derivations(spec, tokens)
  const wanted = [...fixedTokens(spec, tokens, before), ...before.encode(text, { parseSpecial: true })]
  const all = new Set(wanted.flatMap((id) => derive(id)))
  const ids = [...all].sort((a, b) => a - b)
  const newer = trimSpec(spec, tokens, new Map(ids.map((id, at) => [id, at])))
  return { before, after: createTokenizer(newer), ids, newer }
}

const SPM = spmSpec(['▁', 't', 'h', 'e', 'c', 'a', '▁t', 'he', '▁the', 'ca', '▁cat', 'cat', 'é'])
const TINY: readonly (readonly [string, TokenizerSpec, string])[] = [
  ['byte-level BPE of GGUF', byteLevelSpec(), 'hell world'],
  ['byte-level BPE of tokenizer.json', jsonSpec(), 'hell world'],
  ['SentencePiece', SPM, 'the'],
]

describe.each(TINY)('%s', (_, spec, text) => {
  const { before, after, ids } = trimmedTo(spec, text)

  test('is smaller, and its special tokens have their new ids', () => {
    expect(after.vocabSize).toBe(ids.length)
    expect(after.vocabSize).toBeLessThan(before.vocabSize)
    expect(before.bosId).toBeDefined()
    expect(ids[after.bosId ?? -1]).toBe(before.bosId)
    expect(ids[after.eosId ?? -1]).toBe(before.eosId)
    expect([...after.endIds].map((id) => ids[id])).toEqual([...before.endIds])
  })

  test('every text round-trips, and a text of kept tokens keeps its pieces', () => {
    const unit = fc.oneof(
      fc.constantFrom(
        'hello',
        ' world',
        'he',
        ' w',
        'é',
        'the',
        ' the',
        ' cat',
        '<|im_end|>',
        '</s>',
        '漢',
        '😀',
      ),
      fc.string(),
    )
    let same = 0
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 12 }), fc.boolean(), (parts, parseSpecial) => {
        const own = before.encode(parts.join(''), { parseSpecial })
        const newer = after.encode(parts.join(''), { parseSpecial })
        expect(after.decode(newer, { special: true })).toBe(before.decode(own, { special: true }))
        if (!own.every((id) => ids.includes(id))) return
        expect(newer.map((id) => ids[id])).toEqual(own)
        same++
      }),
    )
    expect(same).toBeGreaterThan(0)
    expect(after.encode(text).map((id) => ids[id])).toEqual(before.encode(text))
  })
})

test('the tokens that a kept one is merged from are kept with their merges; others are dropped', () => {
  const { ids, newer, before } = trimmedTo(byteLevelSpec(), ' world')
  const kept = ids.slice(256).map((id) => before.tokenText(id))
  const merged = [' w', 'or', ' wor', ' worl', ' world']
  expect(kept).toEqual(expect.arrayContaining([...merged, '<|bos|>', '<|im_start|>', '<|im_end|>']))
  expect(kept).not.toContain('hello')
  const { merges } = newer as GgufTokenizerSpec
  expect(merges).toEqual(expect.arrayContaining(['Ġ w', 'o r', 'Ġw or', 'Ġwor l', 'Ġworl d']))
  expect(merges).not.toContain('hell o')
})

test('a vocabulary without all bytes keeps its single characters', () => {
  const spec = spmSpec(['▁', 'a', 'é', 'aé'])
  const lacking = spec.tokens.map((token) => (token === '<0x41>' ? '<none>' : token))
  expect(trimmedTo(spec, 'a').before.idOf('é')).toBeDefined()
  expect(trimmedTo(spec, 'a').after.idOf('é')).toBeUndefined()
  expect(trimmedTo({ ...spec, tokens: lacking }, 'a').after.idOf('é')).toBeDefined()
})

test('reserved tokens without text are dropped, and the others stay', () => {
  const spec = byteLevelSpec()
  const names = ['<unused7>', '<|reserved_special_token_12|>', '<think>']
  const tokens = [...spec.tokens, ...names]
  const types = [...(spec.types ?? []), 3, 3, 4]
  const { after } = trimmedTo({ ...spec, tokens, types }, 'a')
  expect(names.map((name) => after.idOf(name) !== undefined)).toEqual([false, false, true])
  const asked = trimmedTo({ ...spec, tokens, types }, 'a<unused7>').after
  expect(asked.isSpecial(asked.idOf('<unused7>') ?? -1)).toBe(true)
})

test("the chat template's tokens are kept", () => {
  const chatTemplate = "{{ 'hello' }} world{% for m in messages %}{{ m.content }}{% endfor %}"
  const { after } = trimmedTo(byteLevelSpec({ chatTemplate }), 'a')
  expect(after.encode('hello world')).toHaveLength(2)
  expect(trimmedTo(byteLevelSpec(), 'a').after.encode('hello world').length).toBeGreaterThan(5)
})

test('ids in a tokenizer.json and its settings follow their tokens', () => {
  const post = {
    type: 'TemplateProcessing',
    single: [{ SpecialToken: { id: '<|bos|>' } }, { Sequence: { id: 'A' } }],
    special_tokens: { '<|bos|>': { id: '<|bos|>', ids: [266], tokens: ['<|bos|>'] } },
  }
  const { before, after, ids } = trimmedTo(jsonSpec({ post_processor: post }), 'he')
  expect(before.prefix).toEqual([266])
  expect(after.prefix.map((id) => ids[id])).toEqual([266])
  const newIds = new Map(ids.map((id, at) => [id, at]))
  const generation = {
    temperature: 0.5,
    eos_token_id: [268, 256 + 9],
    pad_token_id: 256 + 9,
    suppress_tokens: [1],
  }
  expect(trimGeneration(generation, newIds)).toEqual({ temperature: 0.5, eos_token_id: [newIds.get(268)] })
})

const TEXT = `The cat sat on the mat. It's 12:45, isn't it?\n\n\tif (x == null) { return [1, 2, 3]; }\n  "Quoted" text.`

async function published(name: string): Promise<TokenizerSpec> {
  const path = `tokenizers/${name}`
  if (name.endsWith('.json')) return { kind: 'json', tokenizer: JSON.parse(fixtureText(path)) }
  const { tokenizer } = await openModel([bufferSource(name, fixture(path))])
  return tokenizer as TokenizerSpec
}

describe('published tokenizers', () => {
  test.each([
    'ggml-vocab-phi-3.gguf',
    'ggml-vocab-falcon.gguf',
    'smollm.tokenizer.json',
    'phi3-v.tokenizer.json',
  ])('%s preserves a text with less than a tenth of its tokens', async (name) => {
    const { before, after, ids } = trimmedTo(await published(name), TEXT)
    expect(after.vocabSize).toBeLessThan(before.vocabSize / 10)
    expect(after.encode(TEXT).map((id) => ids[id])).toEqual(before.encode(TEXT))
    for (const text of ['Ünïcödé 漢字 😀👩‍👩‍👧', 'antidisestablishmentarianism', `${TEXT} ${TEXT}`])
      expect(after.decode(after.encode(text))).toBe(before.decode(before.encode(text)))
  })
})
