// Tests levels. In: deep, circular and heavily shared values. Out: a quick error for values that cannot be
// sent to another thread.
import { expect, test } from 'vitest'
import { checkLevels } from './json.ts'

function nested(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

test('accepts 256 levels and rejects more', () => {
  for (const value of [undefined, 1, null, 'x', {}, [null], new Uint8Array(4), new Blob(['x'])])
    checkLevels(value)
  checkLevels(nested(256))
  expect(() => checkLevels(nested(257))).toThrow(/more than 256 levels/)
  expect(() => checkLevels(nested(1_000_000))).toThrow(/more than 256 levels/)
})

test('rejects a circular value', () => {
  const circle: Record<string, unknown> = {}
  circle['self'] = { circle }
  expect(() => checkLevels(circle)).toThrow(/contains itself/)
})

test('visits a value once per level, even if a hundred levels each hold it twice', () => {
  let value: unknown = 1
  for (let level = 0; level < 100; level++) value = [value, value, { value }]
  checkLevels(value)
})
