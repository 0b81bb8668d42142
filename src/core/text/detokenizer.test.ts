// Tests the detokenizer. In: texts split into tokens at any byte. Out: the same text, in whole characters.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Detokenizer, type TokenSource } from './detokenizer.ts'

const utf8 = new TextEncoder()
const text = (bytes: Uint8Array) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)

/** The pieces themselves are the tokens, by index; those in `special` are control tokens. */
function pieces(
  list: readonly Uint8Array[],
  special: readonly number[] = [],
  addsSpacePrefix = false,
): TokenSource {
  return {
    addsSpacePrefix,
    tokenBytes: (id) => list[id] ?? new Uint8Array(0),
    isSpecial: (id) => special.includes(id),
  }
}

function cutAt(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const at = [0, ...[...cuts].sort((a, b) => a - b).map((cut) => cut % (bytes.length + 1)), bytes.length]
  at.sort((a, b) => a - b)
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end))
}

const hardText = fc.string({
  unit: fc.constantFrom('a', ' ', 'é', '我', '想', '👩‍👩‍👧', '🦙', '\ufeff', '\u{1F1E9}', 'ñ', '\n', 'ู'),
  maxLength: 30,
})

test('text split into tokens at any byte is restored, and no chunk ends in half a character', () => {
  fc.assert(
    fc.property(hardText, fc.array(fc.nat(), { maxLength: 60 }), (whole, cuts) => {
      const tokens = cutAt(utf8.encode(whole), cuts)
      const detokenizer = new Detokenizer(pieces(tokens))
      const chunks = tokens.map((_, id) => detokenizer.push(id))
      for (const chunk of chunks) expect(chunk).not.toMatch(/\p{Surrogate}|\ufffd/u)
      expect(chunks.join('') + detokenizer.flush()).toBe(whole)
    }),
  )
})

test('bytes that are not UTF-8 give the same text as decoding all of them at once', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), fc.array(fc.nat(), { maxLength: 40 }), (bytes, cuts) => {
      const tokens = cutAt(bytes, cuts)
      const detokenizer = new Detokenizer(pieces(tokens))
      expect(tokens.map((_, id) => detokenizer.push(id)).join('') + detokenizer.flush()).toBe(text(bytes))
    }),
  )
})

test('half an emoji is held back until its last byte, or until the end', () => {
  const llama = utf8.encode('🦙')
  const source = pieces([llama.subarray(0, 2), llama.subarray(2)])
  const detokenizer = new Detokenizer(source)
  expect(detokenizer.push(0)).toBe('')
  expect(detokenizer.push(1)).toBe('🦙')
  expect(detokenizer.push(0)).toBe('')
  expect(detokenizer.flush()).toBe('\ufffd')
  expect(detokenizer.flush()).toBe('')
})

test('special tokens produce no text unless requested, and ids without a token never do', () => {
  const list = ['a', '<end>', 'b'].map((token) => utf8.encode(token))
  const plain = new Detokenizer(pieces(list, [1]))
  expect([0, 1, 2, 99].map((id) => plain.push(id))).toEqual(['a', '', 'b', ''])
  const all = new Detokenizer(pieces(list, [1]), { special: true })
  expect([0, 1, 2].map((id) => all.push(id))).toEqual(['a', '<end>', 'b'])
})

test('the space that encoding prepended is removed only at the start of a text', () => {
  const source = pieces(
    [' a', '<s>', ' b'].map((token) => utf8.encode(token)),
    [1],
    true,
  )
  const atStart = new Detokenizer(source, { atStart: true })
  expect([1, 0, 2].map((id) => atStart.push(id))).toEqual(['', 'a', ' b'])
  const goingOn = new Detokenizer(source)
  expect([1, 0, 2].map((id) => goingOn.push(id))).toEqual(['', ' a', ' b'])
})
