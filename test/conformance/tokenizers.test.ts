// Conformance of the tokenizers. In: ../shared/fixtures/tokenizers. Out: llama.cpp's ids for its vectors, the
// tokenizers library's ids for others.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Tokenizer as Library } from '@huggingface/tokenizers'
import { describe, expect, test } from 'vitest'
import { bufferSource } from '../../src/base/bytes.ts'
import { openModel } from '../../src/formats/open-model.ts'
import { encodeStream } from '../../src/text/tokenize/encode-stream.ts'
import { createTokenizer } from '../../src/text/tokenize/read/create.ts'
import type { Tokenizer } from '../../src/text/tokenize/tokenizer.ts'

const FIXTURES = join(import.meta.dirname, '../../../shared/fixtures')
const FOLDER = join(FIXTURES, 'tokenizers')
const isMissing = !existsSync(FOLDER)
if (isMissing) console.warn(`skipped: the conformance of tokenizers needs ${FOLDER}`)

const WITH_VECTORS = ['deepseek-llm', 'falcon', 'gpt-2', 'llama-spm', 'phi-3', 'starcoder']
const SEPARATOR = '\n__ggml_vocab_test__\n'

const read = (name: string) => readFileSync(join(FOLDER, name), 'utf8')

function readCases(name: string): string[] {
  const cases = read(`${name}.inp`).split(SEPARATOR)
  // A separator follows every case.
  expect(cases.pop()).toBe('')
  return cases
}

function readIds(name: string): number[][] {
  const lines = read(`${name}.out`).split('\n').slice(0, -1)
  return lines.map((line) => line.split(' ').filter(Boolean).map(Number))
}

async function fromGguf(path: string): Promise<Tokenizer> {
  const { tokenizer } = await openModel([bufferSource(path, readFileSync(path))])
  if (tokenizer === undefined) throw new Error(`${path} has no tokenizer`)
  return createTokenizer(tokenizer)
}

const vocabulary = (name: string) => fromGguf(join(FOLDER, `ggml-vocab-${name}.gguf`))
const readJson = (name: string) => JSON.parse(read(`${name}.tokenizer.json`)) as Record<string, unknown>

/** Every case of llama.cpp's, and a longer text that covers rare cases. */
const texts = () => [
  ...new Set(WITH_VECTORS.flatMap((name) => readCases(`ggml-vocab-${name}.gguf`))),
  readFileSync(join(FIXTURES, 'eval/wikitext2-test.raw.txt'), 'utf8').slice(0, 60_000),
  'naïve Ænima e\u0301 \u00a0 a\u2003b\t\n\n  x '.repeat(3),
]

/** Prose, all that is rare, and both without line breaks, in parts that cut each of them often. */
async function expectSameInParts(tokenizer: Tokenizer): Promise<void> {
  const all = [
    readFileSync(join(FIXTURES, 'eval/wikitext2-test.raw.txt'), 'utf8').slice(0, 60_000),
    ...texts(),
  ].join('\n')
  for (const text of [all, all.replaceAll('\n', ' '), all.replaceAll(/\s+/g, '')]) {
    const expected = tokenizer.encode(text, { addSpecial: true })
    for (const partLength of [256, 16_384]) {
      const ids: number[] = []
      for await (const part of encodeStream(tokenizer, [text], { addSpecial: true, partLength }))
        ids.push(...part)
      expect(ids.findIndex((id, at) => id !== expected[at])).toBe(-1)
      expect(ids).toHaveLength(expected.length)
    }
  }
}

describe.skipIf(isMissing)('the vocabularies of llama.cpp', () => {
  test.each(WITH_VECTORS)('%s: every vector gives the same ids', async (name) => {
    const tokenizer = await vocabulary(name)
    const cases = readCases(`ggml-vocab-${name}.gguf`)
    const expected = readIds(`ggml-vocab-${name}.gguf`)
    expect(expected).toHaveLength(cases.length)
    cases.forEach((text, index) => {
      expect(tokenizer.encode(text), JSON.stringify(text)).toEqual(expected[index])
    })
  })

  test.each([...WITH_VECTORS, 'gpt-neox'])('%s: decoding restores every text', async (name) => {
    const tokenizer = await vocabulary(name)
    for (const text of texts()) expect(tokenizer.decode(tokenizer.encode(text))).toBe(text)
  })

  test.each([...WITH_VECTORS, 'gpt-neox'])('%s: a stream of texts has the ids of the whole', async (name) => {
    await expectSameInParts(await vocabulary(name))
  })

  test('stories260k: the prompt of the reference logits gives their ids, with BOS once', async () => {
    const tokenizer = await fromGguf(join(FIXTURES, 'stories260k/stories260K-f32.gguf'))
    const reference = JSON.parse(readFileSync(join(FIXTURES, 'stories260k/logits-f32.json'), 'utf8'))
    const { prompt, tokens, n_prompt } = reference as { prompt: string; tokens: number[]; n_prompt: number }
    const expected = tokens.slice(0, n_prompt)
    expect(tokenizer.encode(prompt, { addSpecial: true })).toEqual(expected)
    expect(tokenizer.encode(`<s>${prompt}`, { addSpecial: true, parseSpecial: true })).toEqual(expected)
  })
})

describe.skipIf(isMissing)('tokenizer.json files', () => {
  test.each(['gpt-neox', 'smollm', 'phi3-v'])(
    '%s: the same ids as the library, and the text back',
    (name) => {
      const json = readJson(name)
      const library = new Library(json, {})
      const tokenizer = createTokenizer({ kind: 'json', tokenizer: json })
      for (const text of texts()) {
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
    '%s: a stream of texts has the ids of the whole',
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

  test('phi-3: the GGUF twin gives the same ids for the same text', async () => {
    const gguf = await vocabulary('phi-3')
    const json = createTokenizer({ kind: 'json', tokenizer: readJson('phi3-v') })
    for (const text of texts()) expect(json.encode(text)).toEqual(gguf.encode(text))
    expect(json.encode('Hello', { addSpecial: true })).toEqual(gguf.encode('Hello', { addSpecial: true }))
  })

  test('gpt-neox: the GGUF twin has the same tokens and restores the same text', async () => {
    const gguf = await vocabulary('gpt-neox')
    const json = createTokenizer({ kind: 'json', tokenizer: readJson('gpt-neox') })
    // The GGUF names no pre-tokeniser, so it splits words differently. The tokens are the same.
    for (let id = 0; id < json.vocabSize; id++) expect(gguf.tokenBytes(id)).toEqual(json.tokenBytes(id))
    for (const text of texts()) expect(gguf.decode(json.encode(text))).toBe(text.normalize('NFC'))
  })
})
