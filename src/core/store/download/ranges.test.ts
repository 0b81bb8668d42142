// Tests ranges. In: a server that records its requests. Out: how much a source fetches for each read.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type FileServer, serveFiles } from '../../../../test/helpers/file-server.ts'
import type { ByteSource } from '../../base/bytes.ts'
import { openRanges, type RangeOptions } from './ranges.ts'

const MIB = 1 << 20
const bytes = new Uint8Array(40 * MIB).map((_, i) => (i * 7) ^ (i >>> 12))

let server: FileServer
beforeEach(async () => {
  server = await serveFiles({ 'w.onnx_data': bytes })
})
afterEach(() => server.close())

async function opened(options: RangeOptions = {}): Promise<ByteSource> {
  const source = await openRanges(`${server.address}w.onnx_data`, options)
  if (source === undefined || source === 'refused' || source instanceof Response)
    throw new Error('the server has ranges')
  server.requests.length = 0
  return source
}

/** Bytes that were requested since the file was opened. */
const asked = () =>
  server.requests.reduce((sum, line) => {
    const [, first, last] = /bytes=(\d+)-(\d+)/.exec(line) ?? []
    return sum + Number(last) - Number(first) + 1
  }, 0)

test('an isolated read fetches a page, not a block', async () => {
  const source = await opened()
  for (let at = 10 * MIB; at < 40 * MIB; at += 2 * MIB) {
    for (const offset of [at, at + 4096]) {
      expect(await source.readAlone!(offset, 1792)).toEqual(bytes.slice(offset, offset + 1792))
    }
  }
  expect(server.requests).toHaveLength(15)
  expect(asked()).toBe(15 * (64 << 10))
})

test('sequential reads fetch blocks, and bytes are counted once', async () => {
  const seen: number[] = []
  const source = await opened({ onProgress: (loaded) => seen.push(loaded) })
  await source.readAlone!(20 * MIB, 100)
  for (let at = 0; at < 12 * MIB - 1000; at += 1000) await source.read(at, 1000)
  expect(server.requests).toHaveLength(3)
  const slab = await source.read(19 * MIB, 3 * MIB)
  expect(slab).toEqual(bytes.slice(19 * MIB, 22 * MIB))
  expect(server.requests).toHaveLength(4)
  // The page was fetched again as part of its block.
  expect(seen[1]).toBe(4 * MIB + (64 << 10))
  expect(seen.at(-1)).toBe((4 + 8 + 8) * MIB)
})

test('reads are right at the end of the file, across a page boundary, and in a cached block', async () => {
  const source = await opened()
  expect(await source.readAlone!(40 * MIB - 5, 5)).toEqual(bytes.slice(-5))
  expect(await source.readAlone!(100, 5)).toEqual(bytes.slice(100, 105))
  expect(asked()).toBe(64 << 10)
  const edge = 30 * MIB + (64 << 10) - 3
  expect(await source.readAlone!(edge, 6)).toEqual(bytes.slice(edge, edge + 6))
  await expect(source.readAlone!(40 * MIB - 5, 6)).rejects.toMatchObject({ code: 'format' })
})
