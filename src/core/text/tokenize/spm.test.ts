// Tests SentencePiece's BPE. In: tiny vocabularies with scores. Out: the ids that follow from the definition.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { GgufTokenizerSpec } from '../spec.ts'
import { spmSpec } from '../testing/tiny.ts'
import { createTokenizer } from './read/create.ts'
import { byteName } from './vocabulary.ts'

const M = '\u2581'

/**
 * The definition, applied to the whole text at once: merge the neighbours that spell the token with the best
 * score; among equals, the leftmost.
 */
function encodeSlowly({ tokens, scores = [], types = [] }: GgufTokenizerSpec, text: string): number[] {
  const idOf = (piece: string) => {
    const id = tokens.indexOf(piece)
    return types[id] === 1 ? id : -1
  }
  const pieces = [...`${M}${text.replaceAll(' ', M)}`]
  for (;;) {
    let best: { score: number; at: number } | undefined
    for (let at = 0; at + 1 < pieces.length; at++) {
      const id = idOf(`${pieces[at]}${pieces[at + 1]}`)
      const score = scores[id] ?? 0
      if (id >= 0 && (best === undefined || score > best.score)) best = { score, at }
    }
    if (best === undefined) break
    pieces.splice(best.at, 2, `${pieces[best.at]}${pieces[best.at + 1]}`)
  }
  return pieces.flatMap((piece) => {
    const id = idOf(piece)
    return id >= 0
      ? [id]
      : Array.from(new TextEncoder().encode(piece), (byte) => tokens.indexOf(byteName(byte)))
  })
}

const piece = fc.string({ unit: fc.constantFrom(M, 'a', 'b', 'é', '🦙'), minLength: 1, maxLength: 4 })
const scored = fc.uniqueArray(fc.tuple(piece, fc.integer({ min: -4, max: 0 })), {
  selector: ([text]) => text,
  maxLength: 20,
})
const text = fc.string({ unit: fc.constantFrom(' ', 'a', 'b', 'é', '🦙'), minLength: 1, maxLength: 20 })

test('any vocabulary, even with tokens across words, yields the reference ids and round-trips the text', () => {
  fc.assert(
    fc.property(scored, text, (pieces, whole) => {
      const spec = spmSpec([[M, -9], ...pieces.filter(([text]) => text !== M)])
      const tokenizer = createTokenizer(spec)
      const ids = tokenizer.encode(whole)
      expect(ids).toEqual(encodeSlowly(spec, whole))
      expect(tokenizer.decode(ids)).toBe(whole)
    }),
    { numRuns: 300 },
  )
})

test('the best score merges first, whatever the order of the vocabulary', () => {
  const tokenizer = createTokenizer(spmSpec([M, 'a', 'b', 'c', ['ab', -5], ['bc', -1]]))
  expect(tokenizer.encode('abc').map((id) => tokenizer.tokenText(id))).toEqual([' ', 'a', 'bc'])
})

test('text that spells a control token or a byte token stays text', () => {
  const pieces = [M, '<', 's', '>', '<s', '0', 'x', 'A', '0x', '0xA', '0x0', '<0x0', '<0x0A']
  const tokenizer = createTokenizer(spmSpec(pieces))
  for (const whole of ['<s>', '<0x0A>', '<unk>', '</s>']) {
    const ids = tokenizer.encode(whole)
    expect(ids.filter((id) => tokenizer.isSpecial(id))).toEqual([])
    expect(tokenizer.decode(ids)).toBe(whole)
  }
  expect(tokenizer.encode('<s>', { parseSpecial: true })).toEqual([1])
})

test('a space is added before a text and after special tokens, unless the file says otherwise', () => {
  const pieces = [M, 'a', `${M}a`]
  const spell = (changes: Partial<GgufTokenizerSpec>) => {
    const tokenizer = createTokenizer(spmSpec(pieces, changes))
    return tokenizer.encode('a</s>a', { parseSpecial: true }).map((id) => tokenizer.tokenText(id))
  }
  expect(spell({})).toEqual([' a', '</s>', ' a'])
  expect(spell({ addSpacePrefix: false })).toEqual(['a', '</s>', 'a'])
})

test('continued text gets the space only after a special token', () => {
  const tokenizer = createTokenizer(spmSpec([M, 'a', `${M}a`]))
  const spell = (after: number | undefined) =>
    tokenizer.encode('a', { continues: true, after }).map((id) => tokenizer.tokenText(id))
  expect(spell(undefined)).toEqual(['a'])
  expect(spell(tokenizer.idOf('a'))).toEqual(['a'])
  expect(spell(tokenizer.idOf('</s>'))).toEqual([' a'])
})

test('without byte tokens the unknown token represents each byte', () => {
  const spec = spmSpec(['a'])
  const kept = spec.tokens.map((token, id) => (spec.types?.[id] === 6 ? `unused${id}` : token))
  const types = spec.types?.map((type) => (type === 6 ? 5 : type))
  const tokenizer = createTokenizer({ ...spec, tokens: kept, types, addSpacePrefix: false })
  expect(tokenizer.encode('aé')).toEqual([tokenizer.idOf('a'), 0, 0])
})

test('Phi-3’s control tokens strip the white space after them, as in llama.cpp, which goes by the model’s name', () => {
  const control = ['<|user|>', '<|end|>', '<|assistant|>', '<|endoftext|>']
  const spec = spmSpec([M, `${M}H`, 'H', 'i', `${M}Hi`])
  const tokens = [...spec.tokens, ...control]
  const idsOf = (name?: string, text = '<|user|>\nHi<|end|>\n<|assistant|>\n') =>
    createTokenizer({
      ...spec,
      name,
      tokens,
      types: [...spec.types!, 3, 3, 3, 3],
      scores: tokens.map((_, id) => -id),
    })
      .encode(text, { parseSpecial: true })
      .map((id) => tokens[id])
  for (const name of ['Phi3', 'Phi-3-mini-4k-instruct', 'microsoft_Phi-3.5'])
    expect(idsOf(name)).toEqual(['<|user|>', `${M}Hi`, '<|end|>', '<|assistant|>'])
  for (const name of [undefined, 'Phi 2', 'Llama 3']) expect(idsOf(name)).toEqual(idsOf(''))
  expect(idsOf('')).toHaveLength(11)
  expect(idsOf('Phi3', '<s> i<|endoftext|> i')).toEqual(idsOf('', '<s> i<|endoftext|> i'))
})
