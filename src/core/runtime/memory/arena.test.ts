// Tests the arena and memory. In: small real memories. Out: alignment, growth, views and typed errors.
import { expect, test } from 'vitest'
import { type HalfbyteError, isHalfbyteError } from '../../base/errors.ts'
import { Arena } from './arena.ts'
import { createMemory, PAGE_BYTES } from './linear-memory.ts'

const errorOf = (work: () => unknown): HalfbyteError => {
  try {
    work()
  } catch (error) {
    if (isHalfbyteError(error)) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

test('regions are aligned to 64 bytes and follow one another', () => {
  const arena = new Arena(new WebAssembly.Memory({ initial: 1 }), 1000)
  expect(arena.allocate(10, 'a')).toBe(1024)
  expect(arena.allocate(64, 'b')).toBe(1088)
  expect(arena.allocate(0, 'c')).toBe(1152)
  expect(arena.allocate(64, 'd')).toBe(1152)
})

test('data written before growth can be read through the views created after it', () => {
  const arena = new Arena(new WebAssembly.Memory({ initial: 1 }), 64)
  const region = arena.allocate(8, 'a')
  arena.u32[region / 4] = 7
  const before = arena.u32
  arena.allocate(3 * PAGE_BYTES, 'b')
  expect(before.length).toBe(0)
  expect(arena.u32[region / 4]).toBe(7)
  expect(arena.memoryBytes % PAGE_BYTES).toBe(0)
})

test('a shared memory grows without detaching old views, and returns longer ones', () => {
  const arena = new Arena(createMemory('shared', 4e6, 64e6), 64)
  const before = arena.u8
  arena.allocate(8e6, 'a')
  expect(arena.u8.length).toBeGreaterThan(before.length)
})

test('a failed growth names both numbers and changes nothing', () => {
  const arena = new Arena(new WebAssembly.Memory({ initial: 1, maximum: 2 }), 64)
  const error = errorOf(() => arena.allocate(10 * PAGE_BYTES, 'the state cache'))
  expect(error.code).toBe('out-of-memory')
  expect(error.message).toContain('the state cache needs 0.7 MB')
  expect(error.detail).toEqual({ neededBytes: 10 * PAGE_BYTES + 64, grantedBytes: PAGE_BYTES })
  expect(arena.allocate(PAGE_BYTES, 'less')).toBe(64)
})

test('growth that fails in large steps still succeeds in small ones', () => {
  const arena = new Arena(new WebAssembly.Memory({ initial: 1, maximum: 3 }), 64)
  arena.allocate(2 * PAGE_BYTES, 'a')
  expect(arena.memoryBytes).toBe(3 * PAGE_BYTES)
})

test('reset drops the newest regions', () => {
  const arena = new Arena(new WebAssembly.Memory({ initial: 1 }), 64)
  const mark = arena.mark()
  arena.allocate(100, 'a')
  arena.reset(mark)
  expect(arena.allocate(10, 'b')).toBe(mark)
})

test('a request beyond 32-bit addresses is rejected without an attempt', () => {
  const error = errorOf(() => createMemory('plain', 5 * 2 ** 30))
  expect(error.code).toBe('out-of-memory')
  expect(error.detail).toEqual({ neededBytes: 5 * 2 ** 30, grantedBytes: 2 ** 32 })
})

test('a shared memory never exceeds the 32-bit address range', () => {
  expect(createMemory('shared', 1e6, 2 ** 40).buffer.byteLength).toBeGreaterThan(0)
})
