// Tests words for rows. In: groups of rows with a key. Out: unique words, and the rows while they are held.
import { expect, test } from 'vitest'
import { InputRows } from './input-rows.ts'
import { isInputWord } from './row-source.ts'

test('equal content gets equal words in any instance, and no two groups share a word', () => {
  const rows = new InputRows(2)
  const one = rows.wordsOf('00000010', 8)
  const near = rows.wordsOf('00000012', 8)
  const far = rows.wordsOf('f0000000', 3)
  expect(new Set([...one, ...near, ...far]).size).toBe(19)
  expect([...one, ...near, ...far].every(isInputWord)).toBe(true)
  expect(rows.wordsOf('00000010', 8)).toEqual(one)
  expect(new InputRows(2).wordsOf('00000010', 8)).toEqual(one)
  expect(() => rows.wordsOf('00000010', 9)).toThrow(/9 rows/)
})

test('a group at the end of the word range wraps around to the first word', () => {
  const rows = new InputRows(1)
  // A key as large as the number of words, minus the group's own, begins at the first word.
  const last = rows.wordsOf((2 ** 31 - 1 - 4).toString(16), 4)
  expect(last.at(-1)).toBe(2 ** 32 - 2)
  const more = rows.wordsOf((2 ** 31 - 1 - 4 - 2).toString(16), 4)
  expect(more[0]).toBe(2 ** 31)
  const next = rows.wordsOf((2 ** 31 - 1 - 3).toString(16), 4)
  expect(next[0]).toBe(2 ** 31 + 4)
})

test('rows exist as long as somebody holds them', () => {
  const rows = new InputRows(2)
  const words = rows.wordsOf('00000001', 2)
  expect(rows.row(words[1]!)).toBeUndefined()
  expect(() => rows.hold('00000001')).toThrow(/0 numbers/)
  expect(() => rows.hold('00000001', Float32Array.of(1, 2, 3))).toThrow(/3 numbers/)
  rows.hold('00000001', Float32Array.of(1, 2, 3, 4))
  rows.hold('00000001')
  rows.release('00000001')
  expect(rows.row(words[1]!)).toEqual(Float32Array.of(3, 4))
  expect(rows.row(words[1]! + 1)).toBeUndefined()
  rows.release('00000001')
  expect(rows.has('00000001')).toBe(false)
})

test('ranges of a saved sequence keep their words, unless these are already in use', () => {
  const saved = new InputRows(1)
  const here = new InputRows(1)
  saved.wordsOf('00000010', 8)
  const words = saved.wordsOf('00000012', 8)
  const [range] = saved.rangesIn([3, ...words, 7])
  expect(range).toEqual({ key: '00000012', first: words[0], count: 8 })
  expect(here.claim(range!)).toBe(true)
  expect(here.claim(range!)).toBe(true)
  expect(here.wordsOf('00000012', 8)).toEqual(words)
  expect(here.claim({ ...range!, key: '00000099' })).toBe(false)
  expect(here.claim({ key: '00000050', first: 12, count: 8 })).toBe(false)
})
