// Tests symbolic dims. In: expressions. Out: whether equal sizes are equal strings.
import { expect, test } from 'vitest'
import {
  addDims,
  dimFrom,
  divideDims,
  divideExactly,
  evaluateDim,
  maxDims,
  minDims,
  multiplyDims,
  subtractDims,
} from './dims.ts'

test('sums are equal, whatever the order of their terms', () => {
  expect(addDims('tokens', 'past')).toBe('past + tokens')
  expect(addDims('past', 'tokens')).toBe('past + tokens')
  expect(subtractDims(addDims('past', 'tokens'), 'past')).toBe('tokens')
  expect(addDims(multiplyDims('tokens', 2), -3)).toBe('2*tokens - 3')
})

test('a symbol whose name is a sum is read as a sum', () => {
  expect(dimFrom('past_sequence_length + sequence_length')).toBe(
    addDims('sequence_length', 'past_sequence_length'),
  )
  expect(dimFrom('2 + 3')).toBe(5)
})

test('a name that is not an expression gets brackets, and reading it again gives the same name', () => {
  const dim = dimFrom('batch size?')
  expect(dim).toBe('[batch size?]')
  expect(addDims(dim, 0)).toBe(dim)
  expect(subtractDims(multiplyDims(dim, 2), dim)).toBe(dim)
})

test('products are divided if there is no remainder', () => {
  const product = multiplyDims(addDims('past', 'tokens'), 64)
  expect(divideExactly(product, 64)).toBe('past + tokens')
  expect(divideExactly(product, addDims('past', 'tokens'))).toBe(64)
  expect(divideExactly(multiplyDims('batch', 'tokens'), 'batch')).toBe('tokens')
  expect(divideExactly('tokens', 2)).toBeUndefined()
  expect(divideDims('tokens', 2)).toBe('floor(tokens / 2)')
})

test('min and max of sizes with a known difference are one of the sizes', () => {
  expect(minDims('tokens', addDims('tokens', 3))).toBe('tokens')
  expect(maxDims('tokens', addDims('tokens', 3))).toBe('tokens + 3')
  expect(minDims('a', 'b')).toBe('min(a, b)')
  expect(minDims('tokens', addDims('past', 'tokens'))).toBe('tokens')
  expect(maxDims(subtractDims('tokens', 'past'), 0)).toBe('max(-past + tokens, 0)')
})

test('an expression is evaluated from the values of its names', () => {
  const values = new Map([
    ['a', 7],
    ['b', 3],
  ])
  const dim = addDims(multiplyDims('a', 'b'), addDims(divideDims('a', 2), minDims('a', 'b')))
  expect(evaluateDim(dim, values)).toBe(21 + 3 + 3)
  expect(evaluateDim('c', values)).toBeUndefined()
})

test('an expression stays short, however often it is squared', () => {
  let dim = addDims('a', 'b')
  for (let time = 0; time < 20; time++) dim = addDims(multiplyDims(dim, dim), `x${time}`)
  expect(`${dim}`.length).toBeLessThanOrEqual(512)
})
