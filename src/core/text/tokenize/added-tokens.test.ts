// Tests added tokens. In: texts that contain tokens. Out: ids and the text in between.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { AddedToken } from './token-search.ts'
import { AddedTokens } from './tokenizer.ts'

const token = (id: number, text: string, rest: Partial<AddedToken> = {}): AddedToken => ({
  id,
  text,
  special: false,
  ...rest,
})

test('among tokens that begin at the same position, the longest wins', () => {
  const added = new AddedTokens([token(1, '  '), token(2, '    '), token(3, '<a>'), token(4, '<a><b>')])
  expect(added.split('x     y<a><b><a>', false)).toEqual(['x', 2, ' y', 4, 3])
  expect(added.split('', false)).toEqual([])
  expect(added.split('<a', false)).toEqual(['<a'])
})

test('special tokens are found only on request', () => {
  const added = new AddedTokens([token(1, '<s>', { special: true }), token(2, '<t>')])
  expect(added.split('<s><t>', false)).toEqual(['<s>', 2])
  expect(added.split('<s><t>', true)).toEqual([1, 2])
})

test('tokens that strip white space remove it', () => {
  const added = new AddedTokens([
    token(1, '<l>', { stripsLeft: true }),
    token(2, '<r>', { stripsRight: true }),
    token(3, '<n>'),
  ])
  expect(added.split('a \n<l> b', false)).toEqual(['a', 1, ' b'])
  expect(added.split('a <r>\u00a0\n b', false)).toEqual(['a ', 2, 'b'])
  expect(added.split('<r>  <n> c', false)).toEqual([2, 3, ' c'])
  expect(added.split('   <l><r>   ', false)).toEqual([1, 2])
})

test('llama.cpp recognises only ASCII white space', () => {
  const added = new AddedTokens([token(1, '<r>', { stripsRight: 'ascii' })])
  expect(added.split('<r> \t\r\n\u3000b', false)).toEqual([1, '\u3000b'])
})

test('a long token that almost matches everywhere in a long text costs no more than a short one', () => {
  const text = 'a'.repeat(1 << 20)
  const added = new AddedTokens([token(1, `${'a'.repeat(16_000)}b`), token(2, `c${'a'.repeat(16_000)}`)])
  expect(added.split(text, true)).toEqual([text])
})

test('added tokens with too many characters are rejected', () => {
  const list = Array.from({ length: 200 }, (_, id) => token(id, String.fromCharCode(id + 64).repeat(12_000)))
  expect(() => new AddedTokens(list)).toThrow(/added tokens of more than 2097152 characters/)
})

test('the pieces add up to the text', () => {
  const list = ['a', 'ab', 'bc', 'ccc', '🦙'].map((text, id) => token(id, text))
  const added = new AddedTokens(list)
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', 'b', 'c', '🦙', ' ') }), (text) => {
      const pieces = added.split(text, true)
      expect(pieces.map((piece) => (typeof piece === 'number' ? list[piece]?.text : piece)).join('')).toBe(
        text,
      )
      for (const piece of pieces) {
        if (typeof piece !== 'string') continue
        expect(piece).not.toBe('')
        for (const { text: whole } of list) expect(piece).not.toContain(whole)
      }
    }),
  )
})

test('a token that matches only as a whole word is not found within other words', () => {
  const added = new AddedTokens([token(1, 'to', { isWord: true }), token(2, '<t>', { isWord: true })])
  expect(added.split('to go, to-to\u{1D7D8}', false)).toEqual([1, ' go, ', 1, '-to\u{1D7D8}'])
  expect(added.split('into tomato toé _to', false)).toEqual(['into tomato toé _to'])
  expect(added.split('a<t> <t>b 👍<t>👍', false)).toEqual(['a<t> <t>b 👍', 2, '👍'])
})
