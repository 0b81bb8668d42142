import { expect, test } from 'vitest'
import {
  ADDRESS,
  checkOption,
  checkValues,
  choice,
  defaultsOf,
  NUMBER,
  type OptionKind,
  real,
  SIGNAL,
  SWITCH,
  TEXT,
  whole,
} from './option-kinds.ts'

const refused = (kind: OptionKind, values: readonly unknown[]) => values.filter((value) => !kind.fits(value))

test('a whole number is a safe integer, up to the end of its range', () => {
  const values = [0, 1, 7, 8, 1.5, '1', null, Number.NaN, 2 ** 53, Number.POSITIVE_INFINITY]
  expect(refused(whole(1), values)).toEqual([
    0,
    1.5,
    '1',
    null,
    Number.NaN,
    2 ** 53,
    Number.POSITIVE_INFINITY,
  ])
  expect(refused(whole(0, 7), values)).toEqual([
    8,
    1.5,
    '1',
    null,
    Number.NaN,
    2 ** 53,
    Number.POSITIVE_INFINITY,
  ])
  expect(whole(0, Number.POSITIVE_INFINITY).fits(Number.POSITIVE_INFINITY)).toBe(true)
})

test('a real number must be finite unless its range allows Infinity', () => {
  const values = [-0.1, 0, 0.5, 1, 1.1, Number.NaN, Number.POSITIVE_INFINITY]
  expect(refused(real(0, 1), values)).toEqual([-0.1, 1.1, Number.NaN, Number.POSITIVE_INFINITY])
  expect(refused(real(0), values)).toEqual([-0.1, Number.NaN, Number.POSITIVE_INFINITY])
  expect(refused(NUMBER, values)).toEqual([Number.NaN, Number.POSITIVE_INFINITY])
})

test.each<[OptionKind, readonly unknown[], readonly unknown[]]>([
  [choice(['a', 'b']), ['a', 'b'], ['c', '', 0, null, {}]],
  [TEXT, ['', 'a'], [1, null, new String('a')]],
  [SWITCH, [true, false], [0, 'true', null]],
  [ADDRESS, ['a', new URL('https://a')], [{ href: 'a' }, null]],
  [SIGNAL, [new AbortController().signal], [{ aborted: false }, null, true]],
])('%o', (kind, right, wrong) => {
  expect(refused(kind, right)).toEqual([])
  expect(refused(kind, wrong)).toEqual(wrong)
})

test('an error states the name, the value and the requirement; an absent option is valid', () => {
  expect(() => checkOption('topK', -1, whole(0))).toThrow(
    'topK is -1 but must be a whole number from 0; change it or leave it out',
  )
  expect(() => checkOption('build', 'fast', choice(['relaxed', 'simd128']))).toThrow(
    'build is "fast" but must be relaxed or simd128',
  )
  expect(() => checkOption('minP', 2, real(0, 1))).toThrow('must be a real number from 0 to 1')
  expect(() => checkOption('topK', undefined, whole(0))).not.toThrow()
})

test('a table checks each of its options, and errors name them with the prefix of their object', () => {
  const table = { baseUrl: TEXT, token: TEXT }
  expect(() => checkValues(table, { token: 1 }, 'hub.')).toThrow(/^hub\.token is 1/)
  expect(() => checkValues(table, { baseUrl: 'https://a', other: 1 })).not.toThrow()
})

test('the defaults of a table have a key for each row', () => {
  expect(defaultsOf({ a: { ...whole(0), default: 1 }, b: TEXT })).toEqual({ a: 1, b: undefined })
})
