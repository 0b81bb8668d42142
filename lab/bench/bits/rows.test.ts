import { describe, expect, test } from 'vitest'
import { bitsOf, parseRow, sensitiveHalf } from './rows.ts'

describe('rows', () => {
  test('are a method and one or two formats', () => {
    expect(parseRow('solve:w3_g64+w4_g64')).toMatchObject({
      method: 'solve',
      format: 'w3_g64',
      better: 'w4_g64',
    })
    expect(parseRow('round:w2_g128').better).toBeUndefined()
    for (const wrong of ['w3_g64', 'round:w5_g64', 'solve:w3_g64+', 'solve:toString'])
      expect(() => parseRow(wrong)).toThrow(/is not a row/)
  })

  test('take the bits of their codes and of a scale for each started group', () => {
    expect(bitsOf('w4_g32', 576) / 576).toBe(4.5)
    expect(bitsOf('w3_g64', 576) / 576).toBe(3.25)
    expect(bitsOf('w2_g128', 576)).toBe(2 * 576 + 16 * 5)
  })
})

test('the sensitive half takes products by loss for their size, as long as they fit', () => {
  const products = [
    { parts: ['a', 'b'], weights: 4, loss: 4 },
    { parts: ['c'], weights: 2, loss: 4 },
    { parts: ['d'], weights: 8, loss: 1 },
    { parts: ['e'], weights: 1, loss: 0.1 },
  ]
  expect(sensitiveHalf(products)).toEqual(new Set(['c', 'a', 'b', 'e']))
})
