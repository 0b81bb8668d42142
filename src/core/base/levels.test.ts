// Levels. In: deep, circular and tangled values. Out: an error for those that no other thread reads, soon.
import { expect, test } from 'vitest'
import { checkLevels } from './json.ts'

function nested(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

test('256 levels pass, more do not', () => {
  for (const value of [undefined, 1, null, 'x', {}, [null], new Uint8Array(4), new Blob(['x'])])
    checkLevels(value)
  checkLevels(nested(256))
  expect(() => checkLevels(nested(257))).toThrow(/more than 256 levels/)
  expect(() => checkLevels(nested(1_000_000))).toThrow(/more than 256 levels/)
})

test('a circle does not pass', () => {
  const circle: Record<string, unknown> = {}
  circle['self'] = { circle }
  expect(() => checkLevels(circle)).toThrow(/comes back to itself/)
})

test('what is held twice at each of a hundred levels is looked at once a level', () => {
  let value: unknown = 1
  for (let level = 0; level < 100; level++) value = [value, value, { value }]
  checkLevels(value)
})
