// Tests encoding streams. In: texts in chunks of any length, tiny vocabularies of every form. Out: the ids of
// the whole text, with only part of it in memory.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { byteLevelSpec, jsonSpec, spmSpec } from '../testing/tiny.ts'
import { encodeStream } from './encode-stream.ts'
import { createTokenizer } from './read/create.ts'
import type { Tokenizer } from './tokenizer.ts'

const M = '\u2581'
const SHAPES = [
  ['bytes', createTokenizer(byteLevelSpec())],
  ['SentencePiece', createTokenizer(spmSpec([M, 'a', 'b', ' ', 'ab', `${M}a`, 'ba', `b${M}`, `b${M}a`]))],
  ['tokenizer.json', createTokenizer(jsonSpec())],
] as const

type Options = Parameters<typeof encodeStream>[2]

async function streamed(tokenizer: Tokenizer, pieces: Iterable<string>, options?: Options) {
  const ids: number[] = []
  for await (const part of encodeStream(tokenizer, pieces, options)) ids.push(...part)
  return ids
}

const words = fc.array(
  fc.constantFrom(
    'a',
    'b',
    'ab',
    ' ',
    '  ',
    '\n',
    '\r\n',
    '\n\n ',
    'é',
    '我',
    '👩‍👩‍👧',
    '<s>',
    '<|im_end|>',
    'e\u0301',
  ),
  { minLength: 200, maxLength: 800 },
)

describe.each(SHAPES)('%s', (_name, tokenizer) => {
  test('a text in pieces has the same ids as the whole text', async () => {
    await fc.assert(
      fc.asyncProperty(
        words,
        fc.record({
          addSpecial: fc.boolean(),
          parseSpecial: fc.boolean(),
          partLength: fc.integer({ min: 16, max: 400 }),
        }),
        async (pieces, options) => {
          const { addSpecial, parseSpecial } = options
          expect(await streamed(tokenizer, pieces, options)).toEqual(
            tokenizer.encode(pieces.join(''), { addSpecial, parseSpecial }),
          )
        },
      ),
      { numRuns: 200 },
    )
  })

  test('an empty text has only the added tokens, and BOS is not doubled', async () => {
    for (const text of ['', '<s>', '<s>a', 'a'])
      for (const addSpecial of [false, true])
        expect(await streamed(tokenizer, [text], { addSpecial, parseSpecial: true })).toEqual(
          tokenizer.encode(text, { addSpecial, parseSpecial: true }),
        )
  })

  test('a text without a space or a line break is split between characters', async () => {
    const text = 'ab我'.repeat(60_000)
    const parts: number[] = []
    for await (const part of encodeStream(tokenizer, [text], { partLength: 64 })) parts.push(part.length)
    expect(parts.length).toBeGreaterThan(100)
    expect(await streamed(tokenizer, [text], { partLength: 64 })).toEqual(tokenizer.encode(text))
  })
})

test('reads no more of the text than the requested ids need', async () => {
  let read = 0
  const endless = function* () {
    for (;;) {
      read += 1000
      yield 'ab a '.repeat(200)
    }
  }
  for await (const ids of encodeStream(SHAPES[1][1], endless(), { partLength: 5000 })) {
    expect(ids.length).toBeGreaterThan(1000)
    break
  }
  expect(read).toBeLessThan(10_000)
})
