// In: texts of a GGUF header, valid and damaged, whole and cut off. Out: the strings that a decoder makes of
// each.
import { expect, test } from 'vitest'
import { randomFrom } from '../../../test/helpers/random.ts'
import { decodeTexts } from './decode-texts.ts'

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
const encoder = new TextEncoder()

function prefixed(texts: readonly Uint8Array[]): Uint8Array {
  const parts = texts.flatMap((text) => {
    const length = new Uint8Array(8)
    new DataView(length.buffer).setUint32(0, text.length, true)
    return [...length, ...text]
  })
  return Uint8Array.from(parts)
}

const check = (texts: readonly Uint8Array[]) => {
  const bytes = prefixed(texts)
  const { texts: found, next } = decodeTexts(bytes, 0, texts.length, decoder)
  expect(found).toEqual(texts.map((text) => decoder.decode(text)))
  expect(next).toBe(bytes.length)
}

test('texts of one to four bytes a character are decoded, short and long', () => {
  const texts = ['', 'a', 'Ġthe', 'größer', '日本語', '😀😀', '', 'x'.repeat(500), 'ü'.repeat(40), '\uFEFFa']
  check(texts.map((text) => encoder.encode(text)))
})

test.each([
  ['a character cut in two', [[0xe2], [0x82, 0xac]]],
  ['four bytes that end early, before an empty text', [[0xf0], [], [0x61]]],
  ['continuation bytes alone', [[0x80, 0x80], [0x62]]],
  ['a surrogate', [[0xed, 0xa0, 0x80], [0x63]]],
  [
    'numbers beyond Unicode',
    [
      [0xf4, 0x90, 0x80, 0x80],
      [0xff, 0xfe],
    ],
  ],
  ['zero bytes', [[0x61, 0, 0x62], [0], [0x63]]],
  [
    'zero bytes where a damaged text makes another one seem to end',
    [
      [0xf0, 0, 0],
      [0, 0x61],
    ],
  ],
])('%s: each text is decoded by itself', (_, texts) => {
  check(texts.map((text) => Uint8Array.from(text)))
})

test('random bytes are decoded as one by one', () => {
  const random = randomFrom(4)
  for (let round = 0; round < 50; round++)
    check(Array.from({ length: 20 }, () => Uint8Array.from({ length: random() * 16 }, () => random() * 256)))
})

test('a text that is not whole, and those beyond the wanted number, are left', () => {
  const bytes = prefixed(['ab', 'cd', 'ef'].map((text) => encoder.encode(text)))
  expect(decodeTexts(bytes, 0, 2, decoder)).toEqual({ texts: ['ab', 'cd'], next: 20 })
  expect(decodeTexts(bytes.subarray(0, 29), 0, 3, decoder)).toEqual({ texts: ['ab', 'cd'], next: 20 })
  expect(decodeTexts(bytes.subarray(0, 25), 10, 3, decoder)).toEqual({ texts: ['cd'], next: 20 })
  const far = bytes.slice()
  far[4] = 1
  expect(decodeTexts(far, 0, 3, decoder)).toEqual({ texts: [], next: 0 })
})
