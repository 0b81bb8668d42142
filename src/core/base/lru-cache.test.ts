import { expect, test } from 'vitest'
import { LruCache } from './lru-cache.ts'

test('the least recently used value is dropped when there are too many', () => {
  const dropped: string[] = []
  const cache = new LruCache<number, string>(2, (value) => dropped.push(value))
  cache.set(1, 'one')
  cache.set(2, 'two')
  expect(cache.get(1)).toBe('one')
  cache.set(3, 'three')
  expect(dropped).toEqual(['two'])
  expect([1, 2, 3].map((key) => cache.get(key))).toEqual(['one', undefined, 'three'])
})

test('replacing a value drops the old one, and setting the same value again does not', () => {
  const dropped: string[] = []
  const cache = new LruCache<number, string>(2, (value) => dropped.push(value))
  cache.set(1, 'old')
  cache.set(1, 'new')
  cache.set(1, 'new')
  expect(dropped).toEqual(['old'])
  cache.clear()
  expect(dropped).toEqual(['old', 'new'])
  expect(cache.has(1)).toBe(false)
})

test('memo creates a value once, even if it is undefined, and counts as a use', () => {
  let made = 0
  const cache = new LruCache<string, number | undefined>(2)
  const make = () => {
    made++
    return undefined
  }
  cache.memo('a', make)
  cache.memo('b', make)
  cache.memo('a', make)
  cache.memo('c', make)
  expect(made).toBe(3)
  expect(['a', 'b', 'c'].map((key) => cache.has(key))).toEqual([true, false, true])
})

test('has() does not count as a use', () => {
  const cache = new LruCache<number, string>(2)
  cache.set(1, 'one')
  cache.set(2, 'two')
  expect(cache.has(1)).toBe(true)
  cache.set(3, 'three')
  expect(cache.has(1)).toBe(false)
})
