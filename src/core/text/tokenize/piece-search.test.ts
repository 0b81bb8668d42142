// Tests searching for pieces. In: random pieces and texts over few letters. Out: the pieces that end at each
// position.
import { expect, test } from 'vitest'
import { Random } from '../../../../test/helpers/random.ts'
import { PieceSearch } from './piece-search.ts'

/** Ids by where the pieces end, the longest first. */
function found(search: PieceSearch, text: string): number[][] {
  let node = 0
  return Array.from({ length: text.length }, (_, at) => {
    node = search.step(node, text.charCodeAt(at))
    const ids: number[] = []
    for (let piece = search.longest(node); piece !== 0; piece = search.shorter(piece)) {
      ids.push(search.idOf(piece))
    }
    return ids
  })
}

test.each(Array.from({ length: 20 }, (_, seed) => seed))(
  'finds the pieces that end at each position, seed %i',
  (seed) => {
    const random = new Random(seed)
    const letters = ['a', 'b', '\ud83d', '\ude00', '字']
    const word = (most: number) =>
      Array.from({ length: random.between(0, most) }, () => random.pick(letters)).join('')
    const texts = [...new Set(Array.from({ length: random.between(0, 60) }, () => word(6)))]
    const search = new PieceSearch(texts.map((text, id) => ({ text, id })))
    const text = word(200)
    const expected = Array.from({ length: text.length }, (_, at) =>
      texts
        .map((piece, id) => ({ piece, id }))
        .filter(({ piece }) => piece !== '' && text.slice(0, at + 1).endsWith(piece))
        .sort((one, other) => other.piece.length - one.piece.length)
        .map(({ id }) => id),
    )
    expect(found(search, text)).toEqual(expected)
  },
)

test('grows beyond the initial size of the edge table', () => {
  const pieces = Array.from({ length: 30_000 }, (_, id) => ({
    text: String.fromCharCode(id + 1, id % 7),
    id,
  }))
  const search = new PieceSearch(pieces)
  for (const { text, id } of pieces) expect(found(search, text).at(-1)).toContain(id)
})

test('too many pieces that are suffixes of one another are rejected', () => {
  const pieces = (count: number) =>
    Array.from({ length: count }, (_, id) => ({ text: 'x'.repeat(id + 1), id }))
  expect(found(new PieceSearch(pieces(256)), 'x'.repeat(300)).at(-1)).toHaveLength(256)
  expect(() => new PieceSearch(pieces(257))).toThrow(expect.objectContaining({ code: 'format' }))
})
