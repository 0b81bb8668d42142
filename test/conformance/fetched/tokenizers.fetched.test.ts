// Conformance of the tokenizers on all supported vocabularies of llama.cpp. In: those in the package
// llama-cpp-python ("npm run setup -- llama-vocabularies"). Out: llama.cpp's ids for its vectors.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { requireTestData } from '../../../scripts/models/test-data.mjs'
import { bufferSource } from '../../../src/core/base/bytes.ts'
import { expectSameInParts, expectVectors, tokenizerOf, vectorTexts } from '../testing/vocabularies.ts'

const FOLDER = requireTestData('llama-vocabularies')
const names = readdirSync(FOLDER).filter((name) => name.endsWith('.gguf'))

test('all vocabularies are present', () => expect(names).toHaveLength(12))

test.each(names)(
  "%s: every vector's ids match, all texts round-trip, and streaming gives the whole text",
  async (name) => {
    const read = (end: string) => readFileSync(join(FOLDER, `${name}${end}`))
    const tokenizer = await tokenizerOf(bufferSource(name, new Uint8Array(read(''))))
    expectVectors(tokenizer, read('.inp').toString('utf8'), read('.out').toString('utf8'))
    for (const text of vectorTexts()) expect(tokenizer.decode(tokenizer.encode(text))).toBe(text)
    await expectSameInParts(tokenizer)
  },
)
