// Checks tokenizers against llama.cpp's test vectors: texts and their ids.

import { expect } from 'vitest'
import { openModel } from '../../../src/core/arch/open-model.ts'
import type { ByteSource } from '../../../src/core/base/bytes.ts'
import { encodeStream } from '../../../src/core/text/tokenize/encode-stream.ts'
import { createTokenizer } from '../../../src/core/text/tokenize/read/create.ts'
import type { Tokenizer } from '../../../src/core/text/tokenize/tokenizer.ts'
import { fixtureText } from '../../helpers/fixture.ts'

const SEPARATOR = '\n__ggml_vocab_test__\n'

function casesIn(inputs: string): string[] {
  const cases = inputs.split(SEPARATOR)
  // The separator after every case.
  expect(cases.pop()).toBe('')
  return cases
}

/** `inputs`: texts with a separator after each. `outputs`: a line of ids for each text. */
export function expectVectors(tokenizer: Tokenizer, inputs: string, outputs: string): void {
  const cases = casesIn(inputs)
  const lines = outputs.split('\n').slice(0, -1)
  const expected = lines.map((line) => line.split(' ').filter(Boolean).map(Number))
  expect(expected).toHaveLength(cases.length)
  cases.forEach((text, index) => {
    expect(tokenizer.encode(text), JSON.stringify(text)).toEqual(expected[index])
  })
}

export async function tokenizerOf(source: ByteSource): Promise<Tokenizer> {
  const { tokenizer } = await openModel([source])
  if (tokenizer === undefined) throw new Error(`${source.name} has no tokenizer`)
  return createTokenizer(tokenizer)
}

const prose = () => fixtureText('texts/wikitext-2.txt').slice(0, 60_000)

/** All of llama.cpp's cases, and a longer text that covers rare cases. */
export const vectorTexts = (): string[] => [
  ...new Set(
    ['falcon', 'gpt-2', 'phi-3'].flatMap((name) =>
      casesIn(fixtureText(`tokenizers/ggml-vocab-${name}.gguf.inp`)),
    ),
  ),
  prose(),
  'naïve Ænima e\u0301 \u00a0 a\u2003b\t\n\n  x '.repeat(3),
]

/** Prose, all rare cases, and both without line breaks, in chunks that split each of them in many places. */
export async function expectSameInParts(tokenizer: Tokenizer): Promise<void> {
  const all = [prose(), ...vectorTexts()].join('\n')
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
