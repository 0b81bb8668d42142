// Positions shared by two tokenizations. In: the tokens' bytes. Out: the positions at which both have read
// the same text.
import { expect, test } from 'vitest'
import { commonPlaces } from './divergence-across.ts'

const bytes = (...tokens: readonly string[]) => tokens.map((token) => new TextEncoder().encode(token))

test('tokens that end at the same byte share a position', () => {
  expect(commonPlaces(bytes('ab', 'c', 'def'), bytes('ab', 'c', 'def'))).toEqual([
    [0, 0],
    [1, 1],
    [2, 2],
  ])
  expect(commonPlaces(bytes('ab', 'cd', 'é'), bytes('a', 'b', 'c', 'd', 'é'))).toEqual([
    [0, 1],
    [1, 3],
    [2, 4],
  ])
})

test('of several tokens without bytes, the last one counts', () => {
  expect(commonPlaces(bytes('a', '', 'b'), bytes('a', 'b'))).toEqual([
    [1, 0],
    [2, 1],
  ])
})
