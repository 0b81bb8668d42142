// Conformance of the tokenizers. In: vocabularies of test/fixtures. Out: whether ids match llama.cpp's for
// its vectors, and the tokenizers library's for others. fetched/ tests vocabularies whose licences do not
// allow copies here.

import { Tokenizer as Library } from '@huggingface/tokenizers'
import { describe, expect, test } from 'vitest'
import { bufferSource } from '../../src/core/base/bytes.ts'
import { createTokenizer } from '../../src/core/text/tokenize/read/create.ts'
import { fixture, fixtureText } from '../helpers/fixture.ts'
import { expectSameInParts, expectVectors, tokenizerOf, vectorTexts } from './testing/vocabularies.ts'

const WITH_VECTORS = ['falcon', 'gpt-2', 'phi-3']

const opened = (path: string) => tokenizerOf(bufferSource(path, fixture(path)))
const vocabulary = (name: string) => opened(`tokenizers/ggml-vocab-${name}.gguf`)
const readJson = (name: string) =>
  JSON.parse(fixtureText(`tokenizers/${name}.tokenizer.json`)) as Record<string, unknown>

describe('the vocabularies of llama.cpp', () => {
  test.each(WITH_VECTORS)('%s: every vector gives the same ids', async (name) => {
    const vectors = (end: string) => fixtureText(`tokenizers/ggml-vocab-${name}.gguf.${end}`)
    expectVectors(await vocabulary(name), vectors('inp'), vectors('out'))
  })

  test.each([...WITH_VECTORS, 'gpt-neox'])('%s: decoding restores every text', async (name) => {
    const tokenizer = await vocabulary(name)
    for (const text of vectorTexts()) expect(tokenizer.decode(tokenizer.encode(text))).toBe(text)
  })

  test.each([...WITH_VECTORS, 'gpt-neox'])(
    '%s: a streamed text has the ids of the whole text',
    async (name) => {
      await expectSameInParts(await vocabulary(name))
    },
  )

  test('stories260k: the prompt of the reference logits encodes to their ids, with a single BOS', async () => {
    const tokenizer = await opened('stories260k/stories260K-f32.gguf')
    const reference = JSON.parse(fixtureText('stories260k/logits-f32.json'))
    const { prompt, tokens, n_prompt } = reference as { prompt: string; tokens: number[]; n_prompt: number }
    const expected = tokens.slice(0, n_prompt)
    expect(tokenizer.encode(prompt, { addSpecial: true })).toEqual(expected)
    expect(tokenizer.encode(`<s>${prompt}`, { addSpecial: true, parseSpecial: true })).toEqual(expected)
  })
})

describe('tokenizer.json files', () => {
  test.each(['gpt-neox', 'smollm', 'phi3-v'])(
    '%s: the same ids as the library, and decoding restores the text',
    (name) => {
      const json = readJson(name)
      const library = new Library(json, {})
      const tokenizer = createTokenizer({ kind: 'json', tokenizer: json })
      for (const text of vectorTexts()) {
        if (text === '') continue
        const ids = tokenizer.encode(text)
        const expected = library.encode(text, { add_special_tokens: false }).ids
        expect(ids, JSON.stringify(text.slice(0, 80))).toEqual(expected)
        // Only NFC may differ.
        expect(tokenizer.decode(ids)).toBe(name === 'gpt-neox' ? text.normalize('NFC') : text)
      }
    },
  )

  test.each(['gpt-neox', 'smollm', 'phi3-v'])(
    '%s: a streamed text has the ids of the whole text',
    async (name) => {
      await expectSameInParts(createTokenizer({ kind: 'json', tokenizer: readJson(name) }))
    },
  )

  test.each(['gpt-neox', 'smollm', 'phi3-v'])('%s: special tokens are recognised only on request', (name) => {
    const json = readJson(name)
    const library = new Library(json, {})
    const tokenizer = createTokenizer({ kind: 'json', tokenizer: json })
    const text = 'a <|endoftext|>b  <|endoftext|>\n c'
    expect(tokenizer.encode(text, { parseSpecial: true })).toEqual(
      library.encode(text, { add_special_tokens: false }).ids,
    )
    const end = tokenizer.idOf('<|endoftext|>') as number
    expect(tokenizer.isEnd(end)).toBe(true)
    expect(tokenizer.encode(text)).not.toContain(end)
    expect(tokenizer.decode(tokenizer.encode(text))).toBe(text)
  })

  test('phi-3: the GGUF file gives the same ids for the same text', async () => {
    const gguf = await vocabulary('phi-3')
    const json = createTokenizer({ kind: 'json', tokenizer: readJson('phi3-v') })
    for (const text of vectorTexts()) expect(json.encode(text)).toEqual(gguf.encode(text))
    expect(json.encode('Hello', { addSpecial: true })).toEqual(gguf.encode('Hello', { addSpecial: true }))
  })

  test('gpt-neox: the GGUF file has the same tokens and restores the same text', async () => {
    const gguf = await vocabulary('gpt-neox')
    const json = createTokenizer({ kind: 'json', tokenizer: readJson('gpt-neox') })
    // The GGUF does not name a pre-tokeniser, so words are split differently, but the tokens are the same.
    for (let id = 0; id < json.vocabSize; id++) expect(gguf.tokenBytes(id)).toEqual(json.tokenBytes(id))
    for (const text of vectorTexts()) expect(gguf.decode(json.encode(text))).toBe(text.normalize('NFC'))
  })
})
