// Tests the unigram model. In: small vocabularies with scores, and words. Out: the best of all ways to split
// a word.
import { describe, expect, test, vi } from 'vitest'
import { Random } from '../../../../test/helpers/random.ts'
import { createUnigram } from './unigram.ts'
import { Vocabulary } from './vocabulary.ts'

function encoderOf(pieces: readonly (readonly [string, number])[], byteFallback = false) {
  const tokens = pieces.map(([piece]) => piece)
  const vocabulary = new Vocabulary(tokens, new Uint8Array(tokens.length), {
    byteLevel: false,
    replacements: [],
  })
  const scores = pieces.map(([, score]) => score)
  const encode = createUnigram(vocabulary, { scores, unknownId: 0, byteFallback })
  return (word: string) => {
    const ids: number[] = []
    encode(word, ids)
    return ids.map((id) => tokens[id])
  }
}

/** The largest sum of scores over all ways to split the word; a character without a piece costs `unknown`. */
function bestSum(scores: ReadonlyMap<string, number>, word: string, unknown: number): number {
  if (word === '') return 0
  let best = Number.NEGATIVE_INFINITY
  for (let end = 1; end <= word.length; end++) {
    const piece = word.slice(0, end)
    const score = scores.get(piece) ?? (end === 1 ? unknown : undefined)
    if (score !== undefined) best = Math.max(best, score + bestSum(scores, word.slice(end), unknown))
  }
  return best
}

test.each(Array.from({ length: 30 }, (_, seed) => seed))('finds the best path, seed %i', (seed) => {
  const random = new Random(seed)
  const letters = [...'abc']
  const word = () => Array.from({ length: random.between(1, 4) }, () => letters[random.below(3)]).join('')
  const pieces = new Map<string, number>([['<unk>', 0]])
  for (let n = 0; n < 12; n++) pieces.set(word(), -8 * random.unit())
  const encode = encoderOf([...pieces])
  const unknown = Math.min(...pieces.values()) - 10
  for (let n = 0; n < 20; n++) {
    const text = word() + word() + word()
    const found = encode(text)
    if (found.includes('<unk>')) {
      expect(bestSum(pieces, text, unknown)).toBeLessThanOrEqual(unknown)
      continue
    }
    expect(found.join('')).toBe(text)
    expect(found.reduce((sum, piece) => sum + pieces.get(piece!)!, 0)).toBeCloseTo(
      bestSum(pieces, text, unknown),
      9,
    )
  }
})

test('a long piece does not add work for a text', () => {
  const pieces = ['<unk>', 'x', 'xx', 'x'.repeat(16_384)]
  const vocabulary = new Vocabulary(pieces, new Uint8Array(pieces.length), {
    byteLevel: false,
    replacements: [],
  })
  const lookups = vi.spyOn(vocabulary, 'idOf')
  const encode = createUnigram(vocabulary, { scores: [0, -1, -1.5, -3], unknownId: 0, byteFallback: false })
  const ids: number[] = []
  encode('x'.repeat(40_000), ids)
  expect(ids.filter((id) => id === 3)).toHaveLength(2)
  expect(lookups.mock.calls.length).toBeLessThanOrEqual(pieces.length)
})

describe('characters without a piece', () => {
  const PIECES = [
    ['<unk>', 0],
    ['a', -1],
    ['b', -2],
  ] as const
  const BYTES = Array.from(
    { length: 256 },
    (_, byte) => [`<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`, -20] as const,
  )

  test('become one unknown token', () => {
    expect(encoderOf(PIECES)('a☃𐍈b☃')).toEqual(['a', '<unk>', 'b', '<unk>'])
  })

  test('are spelled in bytes if the vocabulary has all bytes', () => {
    expect(encoderOf([...PIECES, ...BYTES], true)('aéb')).toEqual(['a', '<0xC3>', '<0xA9>', 'b'])
    expect(encoderOf([...PIECES, ...BYTES.slice(0, 0xc3)], true)('aéb')).toEqual(['a', '<unk>', 'b'])
  })
})
