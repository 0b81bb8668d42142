// Objects as bytes. In: values of every kind, damaged bytes. Out: the same values, or an error.
import { expect, test } from 'vitest'
import { Random } from '../../../../test/helpers/random.ts'
import { objectBytes, readObject } from './object-bytes.ts'

const noNames = () => undefined
const copied = (value: unknown) => readObject(objectBytes(value, noNames)).restore([])

test('every kind of value is read back', () => {
  const value = {
    numbers: [0, -0, 1.5, 2 ** 40, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
    texts: ['', 'undefined', 'NaN', '__proto__', '𝄞'],
    others: [true, false, null, undefined, 12n, -(2n ** 63n)],
    map: new Map<unknown, unknown>([
      ['a', [1, 2]],
      [[3], new Map()],
    ]),
    set: new Set(['x', 1]),
    arrays: [
      Float32Array.of(1, Number.NaN),
      Float64Array.of(0.1),
      Int8Array.of(-1),
      Uint8Array.of(255, 1, 2),
      Int16Array.of(-300),
      Uint16Array.of(60_000),
      Int32Array.of(-70_000),
      Uint32Array.of(4_000_000_000),
      BigInt64Array.of(-5n),
      BigUint64Array.of(2n ** 63n),
      new Float32Array(0),
      Uint8Array.of(9, 8, 7, 6).subarray(1, 3),
    ],
    nested: { a: { b: [] }, absent: undefined },
  }
  expect(copied(value)).toStrictEqual(value)
  for (const simple of [1, 'text', undefined, 5n]) expect(copied(simple)).toBe(simple)
})

test('an object that occurs twice is one object again', () => {
  const shared = { dims: [1, 2] }
  const { list, map } = copied({ list: [shared, shared, { dims: [1, 2] }], map: new Map([[shared, 1]]) }) as {
    list: object[]
    map: Map<object, number>
  }
  expect(list[0]).toBe(list[1])
  expect(list[0]).not.toBe(list[2])
  expect(map.get(list[0]!)).toBe(1)
})

test('named objects are replaced, and functions and classes are rejected', () => {
  const file = { read: () => undefined }
  const bytes = objectBytes({ files: [file, file] }, (object) => (object === file ? 'a file' : undefined))
  const { names, restore } = readObject(bytes)
  expect(names).toEqual(['a file'])
  expect(restore([7])).toEqual({ files: [7, 7] })
  expect(() => objectBytes({ file }, noNames)).toThrow('function')
  expect(() => objectBytes([new Date()], noNames)).toThrow('Date')
})

test('damaged bytes never end in anything but an error or a value', () => {
  const value = { a: [1, 2, { b: Float32Array.of(1, 2, 3) }], c: new Map([['d', 'e']]) }
  const bytes = objectBytes(value, noNames)
  const random = new Random(7)
  let errors = 0
  for (let round = 0; round < 2000; round++) {
    const damaged = bytes.slice(0, round % 2 === 0 ? bytes.length : random.between(0, bytes.length))
    for (let count = random.between(1, 3); count > 0 && damaged.length > 0; count--)
      damaged[random.between(0, damaged.length - 1)]! ^= 1 << random.between(0, 7)
    try {
      readObject(damaged).restore([])
    } catch {
      errors++
    }
  }
  expect(errors).toBeGreaterThan(1000)
  expect({}).not.toHaveProperty('a')
})
