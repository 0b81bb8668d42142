// Tests ByteSource. In: blobs, and a file that changes after it was opened. Out: exactly the range, or a
// typed error.
import { mkdtemp, openAsBlob, rm, writeFile } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { blobSource, bufferSource, filledSource } from './bytes.ts'

const BYTES = Uint8Array.from({ length: 100 }, (_, index) => index)
let folder: string

beforeAll(async () => {
  folder = await promisify(mkdtemp)(join(tmpdir(), 'halfbyte-bytes-'))
})
afterEach(() => vi.restoreAllMocks())
afterAll(() => promisify(rm)(folder, { recursive: true }))

const filled = filledSource('a.bin', 100, (target, offset) =>
  target.set(BYTES.subarray(offset, offset + target.length)),
)
const sources = [bufferSource('a.bin', BYTES), blobSource('a.bin', new Blob([BYTES])), filled]

test.each(sources)('a read returns exactly the requested range', async (source) => {
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

test('readInto checks ranges and signals as read does', async () => {
  const target = new Uint8Array(10)
  await filled.readInto(target, 90)
  expect(target).toEqual(BYTES.slice(90))
  await expect(filled.readInto(target, 91)).rejects.toMatchObject({ code: 'format' })
  const reason = new Error('enough')
  await expect(filled.readInto(target, 0, AbortSignal.abort(reason))).rejects.toBe(reason)
})

test('a file that was changed after it was opened is rejected by name', async () => {
  const path = join(folder, 'model.gguf')
  await promisify(writeFile)(path, BYTES)
  const source = blobSource('model.gguf', await openAsBlob(path))
  expect((await source.read(0, 4)).byteLength).toBe(4)
  await promisify(writeFile)(path, BYTES.subarray(0, 50))
  await expect(source.read(0, 4)).rejects.toMatchObject({
    code: 'integrity',
    message: expect.stringMatching(/^model\.gguf changed or was removed .*open it again$/),
  })
})

/** Bytes of memory passed to Blob reads so far; reused memory counts once. */
function givenMemory(): () => number {
  const back = new WeakSet<ArrayBufferLike>()
  let given = 0
  const read = ReadableStreamBYOBReader.prototype.read
  vi.spyOn(ReadableStreamBYOBReader.prototype, 'read').mockImplementation(async function (
    this: ReadableStreamBYOBReader,
    view,
    ...rest
  ) {
    if (!back.has(view.buffer)) given += view.buffer.byteLength
    const result = await read.call(this, view, ...rest)
    if (result.value !== undefined) back.add(result.value.buffer)
    return result as never
  })
  return () => given
}

test('successive reads of a Blob share one array, and concurrent reads use one each', async () => {
  const bytes = Uint8Array.from({ length: 5_000_000 }, (_, index) => (index * 31 + (index >> 9)) & 255)
  const blob = new Blob([bytes])
  const whole = vi.spyOn(Blob.prototype, 'arrayBuffer')
  const given = givenMemory()
  const source = blobSource('a.bin', blob, undefined, true)
  const isRight = async (offset: number, length: number) =>
    Buffer.compare(await source.read(offset, length), bytes.subarray(offset, offset + length)) === 0
  for (const [offset, length] of [
    [0, 5_000_000],
    [1, 3_333_333],
    [4_999_999, 1],
    [70, 0],
    [1_000_000, 1 << 20],
  ] as const)
    expect(await isRight(offset, length)).toBe(true)
  expect(given()).toBe(1 << 20)
  expect(await Promise.all([1, 2, 3].map((offset) => isRight(offset, 2_500_000)))).toEqual([true, true, true])
  expect(await isRight(0, 5_000_000)).toBe(true)
  expect(given()).toBe(3 << 20)
  expect(whole).not.toHaveBeenCalled()
})

test('if streams cannot fill the reader’s array, a Blob is read as arrays', async () => {
  const blob = new Blob([BYTES])
  vi.spyOn(Blob.prototype, 'stream').mockImplementation(() => new ReadableStream())
  const bytes = await blobSource('a.bin', blob, undefined, true).read(90, 10)
  expect(Array.from(bytes)).toEqual(Array.from(BYTES.subarray(90)))
})

test('in Node, a Blob is read as arrays of a limited size', async () => {
  const bytes = Uint8Array.from({ length: 2_500_000 }, (_, index) => (index * 31 + (index >> 9)) & 255)
  const whole = vi.spyOn(Blob.prototype, 'arrayBuffer')
  const stream = vi.spyOn(Blob.prototype, 'stream')
  const read = await blobSource('a.bin', new Blob([bytes])).read(7, 2_400_000)
  expect(Buffer.compare(read, bytes.subarray(7, 2_400_007))).toBe(0)
  expect(whole.mock.contexts.map((each) => (each as Blob).size)).toEqual([1 << 20, 1 << 20, 302_848])
  expect(stream).not.toHaveBeenCalled()
})

test('a Blob that ends early is rejected, and an abort during the read rejects with its reason', async () => {
  const short = new Blob([BYTES.subarray(0, 50)]).stream()
  const source = blobSource('a.bin', new Blob([BYTES]), undefined, true)
  vi.spyOn(Blob.prototype, 'stream').mockImplementationOnce(() => short)
  await expect(source.read(0, 100)).rejects.toMatchObject({ code: 'integrity' })
  const stop = new AbortController()
  const reading = source.read(0, 100, stop.signal)
  stop.abort(new Error('enough'))
  await expect(reading).rejects.toBe(stop.signal.reason)
})
