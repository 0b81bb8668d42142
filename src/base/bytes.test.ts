// ByteSource. In: blobs, and a file that changes after it was opened. Out: exactly the range, or a typed
// error.
import { mkdtemp, openAsBlob, rm, writeFile } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { blobSource, bufferSource, filledSource } from './bytes.ts'

const BYTES = Uint8Array.from({ length: 100 }, (_, index) => index)
let folder: string

beforeAll(async () => {
  folder = await promisify(mkdtemp)(join(tmpdir(), 'halfbyte-bytes-'))
})
afterAll(() => promisify(rm)(folder, { recursive: true }))

const filled = filledSource('a.bin', 100, (target, offset) =>
  target.set(BYTES.subarray(offset, offset + target.length)),
)
const sources = [bufferSource('a.bin', BYTES), blobSource('a.bin', new Blob([BYTES])), filled]

test.each(sources)('a range is read as it is, and no other', async (source) => {
  expect(source.size).toBe(100)
  expect(Array.from(await source.read(90, 10))).toEqual(Array.from(BYTES.subarray(90)))
  await expect(source.read(90, 11)).rejects.toMatchObject({
    code: 'format',
    detail: { offset: 90, length: 11, size: 100 },
  })
  await expect(source.read(-1, 2)).rejects.toMatchObject({ code: 'format' })
})

test.each(sources)('an aborted read rejects with the reason', async (source) => {
  const reason = new Error('enough')
  await expect(source.read(0, 1, AbortSignal.abort(reason))).rejects.toBe(reason)
})

test('what is filled where it is wanted is held to the same range and signal', async () => {
  const target = new Uint8Array(10)
  await filled.readInto(target, 90)
  expect(target).toEqual(BYTES.slice(90))
  await expect(filled.readInto(target, 91)).rejects.toMatchObject({ code: 'format' })
  const reason = new Error('enough')
  await expect(filled.readInto(target, 0, AbortSignal.abort(reason))).rejects.toBe(reason)
})

test('a file that was changed after it was opened is refused by name', async () => {
  const path = join(folder, 'model.gguf')
  await promisify(writeFile)(path, BYTES)
  const source = blobSource('model.gguf', await openAsBlob(path))
  expect((await source.read(0, 4)).byteLength).toBe(4)
  await promisify(writeFile)(path, BYTES.subarray(0, 50))
  await expect(source.read(0, 4)).rejects.toMatchObject({
    code: 'integrity',
    message: expect.stringMatching(/^model\.gguf was changed or removed .*open it again$/),
  })
})
