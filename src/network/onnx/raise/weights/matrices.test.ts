// Matrices. In: matrices stored by columns. Out: their rows, in and out of order, with each byte read once.
import { expect, test } from 'vitest'
import { bufferSource } from '../../../../core/base/bytes.ts'
import { transposed, transposedRows } from './matrices.ts'

const K = 70
const N = 150

function matrix(size: 1 | 2 | 4) {
  const filled = (length: number, value: (at: number) => number) => {
    const numbers = Array.from({ length }, (_, at) => value(at))
    return size === 4
      ? Uint32Array.from(numbers)
      : size === 2
        ? Uint16Array.from(numbers)
        : Uint8Array.from(numbers)
  }
  const values = filled(K * N, (at) => (at * 2_654_435_761) >>> 7)
  const file = new Uint8Array(8 + values.byteLength)
  file.set(new Uint8Array(values.buffer), 8)
  let read = 0
  const inner = bufferSource('model.onnx', file)
  const source: typeof inner = {
    ...inner,
    read: (offset, length, signal) => {
      read += length
      return inner.read(offset, length, signal)
    },
  }
  const rows = (first: number, end: number) =>
    filled((end - first) * K, (at) => values[(at % K) * N + first + Math.floor(at / K)]!)
  return { stored: { source, offset: 8, shape: [K, N] }, rows, bytesRead: () => read }
}

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView) =>
  new Uint8Array(buffer, byteOffset, byteLength)

test.each([1, 2, 4] as const)('rows of %i-byte elements come in order, each byte read once', async (size) => {
  const { stored, rows, bytesRead } = matrix(size)
  const read = transposedRows(stored, size)
  for (const [first, end] of [
    [0, 32],
    [32, 64],
    [64, 149],
    [149, N],
  ] as const)
    expect(await read(first, end)).toEqual(bytesOf(rows(first, end)))
  expect(bytesRead()).toBe(K * N * size)
})

test('rows requested again or concurrently are the same', async () => {
  const { stored, rows } = matrix(2)
  const read = transposedRows(stored, 2)
  const ranges = [
    [64, 96],
    [0, 32],
    [100, N],
    [10, 20],
  ] as const
  const found = await Promise.all(ranges.map(([first, end]) => read(first, end)))
  expect(found).toEqual(ranges.map(([first, end]) => bytesOf(rows(first, end))))
})

test('the next rows may be requested before the first have arrived', async () => {
  const { stored, rows, bytesRead } = matrix(4)
  const read = transposedRows(stored, 4)
  const found = await Promise.all([read(0, 64), read(64, N)])
  expect(found).toEqual([bytesOf(rows(0, 64)), bytesOf(rows(64, N))])
  expect(bytesRead()).toBe(K * N * 4)
})

test('rows stay valid when others are read and the block is freed', async () => {
  const { stored, rows } = matrix(1)
  const read = transposedRows(stored, 1)
  const first = await read(0, 64)
  await read(64, N)
  first.fill(0)
  expect(await read(0, 64)).toEqual(bytesOf(rows(0, 64)))
})

test('after an error, the rows are read again', async () => {
  const { stored, rows } = matrix(1)
  let isBroken = true
  const { source } = stored
  const read = transposedRows(
    {
      ...stored,
      source: {
        ...source,
        read: (...range) => (isBroken ? Promise.reject(new Error('broken')) : source.read(...range)),
      },
    },
    1,
  )
  await expect(read(0, 32)).rejects.toThrow('broken')
  isBroken = false
  expect(await read(0, 32)).toEqual(bytesOf(rows(0, 32)))
})

test('any byte range of the transpose can be read', async () => {
  const { stored, rows } = matrix(4)
  const turned = transposed({ ...stored, name: 'w', dtype: 'F32', byteLength: K * N * 4 })
  expect(turned.shape).toEqual([N, K])
  const whole = bytesOf(rows(0, N))
  for (const [offset, length] of [
    [0, 4],
    [K * 4 - 4, 12],
    [1000, 20_000],
    [N * K * 4 - 8, 8],
  ] as const)
    expect(await turned.source.read(offset, length)).toEqual(whole.subarray(offset, offset + length))
})
