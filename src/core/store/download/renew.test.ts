// Tests damage in transit. In: a pack on a server that flips bits, storage in memory. Out: the pack, and the
// fetched bytes.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { concat } from '../../../../test/conformance/testing/writers/gguf-writer.ts'
import { type FileServer, serveFiles } from '../../../../test/helpers/file-server.ts'
import { openRequestedFiles } from '../../../engine/load/open/requested-files.ts'
import { openModel } from '../../arch/open-model.ts'
import type { ByteSource } from '../../base/bytes.ts'
import type { HalfbyteError } from '../../base/errors.ts'
import { writePack } from '../../formats/hbm/hbm-writer.ts'
import { givenPlace } from '../../formats/names/named-files.ts'
import { CHUNK_BYTES } from '../device/sums.ts'
import { memoryStorage } from '../testing/memory-folders.ts'

/** Three download chunks, whose boundaries differ from those of the hashed chunks. */
const WEIGHTS = new Uint8Array(2.5 * CHUNK_BYTES).map((_, at) => (at * 31 + (at >> 9)) & 255)
const PACK = await pack()
/** In the last download chunk and in the second-to-last hashed chunk; both must be fetched again. */
const FLIPPED = 2 * CHUNK_BYTES + 10

async function pack(): Promise<Uint8Array> {
  const shape = [WEIGHTS.length / 4]
  const tensor = { name: 'w', encoding: 'f32', shape, bytes: WEIGHTS.length, data: () => [WEIGHTS] } as const
  const chunks: Uint8Array[] = []
  for await (const chunk of writePack({ name: 'x', config: {}, tensors: [tensor] })) chunks.push(chunk)
  return concat(chunks)
}

let server: FileServer
beforeEach(async () => {
  memoryStorage()
  server = await serveFiles({ 'm.hbm': PACK })
  server.behaviour.etag = '"1"'
})
afterEach(() => server.close())

/** The bytes read by a load, or its error. */
async function load(cache: 'opfs' | 'none', name = 'm.hbm'): Promise<Uint8Array> {
  const hooks = { signal: new AbortController().signal, onProgress() {} }
  const files = await openRequestedFiles(
    { source: givenPlace(server.address + name), cache, hub: undefined },
    hooks,
  )
  try {
    const read = await weightsOf(files.sources)
    await files.trust?.()
    return read
  } catch (error) {
    await files.distrust?.(error as HalfbyteError)
    throw error
  } finally {
    await files.close()
  }
}

async function weightsOf(sources: readonly ByteSource[]): Promise<Uint8Array> {
  const { source, offset, byteLength } = (await openModel(sources)).tensors.get('w')!
  return source.read(offset, byteLength)
}

const chunksAsked = () =>
  server.requests.splice(0).map((line) => Number(/bytes=(\d+)-/.exec(line)?.[1] ?? -1) / CHUNK_BYTES)
const isRight = async (read: Promise<Uint8Array>) => Buffer.compare(await read, WEIGHTS) === 0

describe.each(['opfs', 'none'] as const)('with cache %s', (cache) => {
  test.each([
    ['a weight', FLIPPED],
    ['the header', 100],
    ['the hash of the header', 40],
  ])('a byte of %s that arrives wrong once is fetched again by the same load', async (_, flips) => {
    Object.assign(server.behaviour, { flips, flipTimes: 1 })
    expect(await isRight(load(cache))).toBe(true)
    expect(server.behaviour.flipTimes).toBe(0)
  })

  test('a byte that is wrong every time causes an integrity error, and the model loads once the server recovers', async () => {
    server.behaviour.flips = FLIPPED
    await expect(load(cache)).rejects.toMatchObject({ code: 'integrity', detail: { file: 'm.hbm' } })
    delete server.behaviour.flips
    expect(await isRight(load(cache))).toBe(true)
  })
})

test('only stored chunks that overlap the damage are fetched again, at most twice', async () => {
  server.behaviour.flips = FLIPPED
  await expect(load('opfs')).rejects.toMatchObject({ code: 'integrity' })
  expect(chunksAsked()).toEqual([0, 1, 2, 1, 2, 1, 2])
  delete server.behaviour.flips
  expect(await isRight(load('opfs'))).toBe(true)
  expect(chunksAsked()).toEqual([1, 2])
})

test('the next load compares a file that arrived in one piece, and later loads do not', async () => {
  server.behaviour.ranges = false
  Object.assign(server.behaviour, { flips: FLIPPED, flipTimes: 1 })
  expect(await isRight(load('opfs'))).toBe(true)
  expect(chunksAsked()).toEqual([0, 1])
  const isChecked = async () => {
    const hooks = { signal: new AbortController().signal, onProgress() {} }
    const { sources } = await openRequestedFiles(
      { source: givenPlace(`${server.address}m.hbm`), cache: 'opfs', hub: undefined },
      hooks,
    )
    return sources[0]?.isChecked
  }
  expect(await isChecked()).toBe(false)
  expect(await isRight(load('opfs'))).toBe(true)
  expect(await isChecked()).toBe(true)
  expect(server.requests).toEqual([])
})

test('a file that changed before it is fetched again causes an integrity error, and the next load accepts it', async () => {
  const next = PACK.slice()
  const files = await openRequestedFiles(
    { source: givenPlace(`${server.address}m.hbm`), cache: 'opfs', hub: undefined },
    { signal: new AbortController().signal, onProgress() {} },
  )
  next[next.length - 1]! ^= 1
  server.files.set('m.hbm', next)
  server.behaviour.etag = '"2"'
  await files.sources[0]?.renew?.(0, 1)
  await expect(weightsOf(files.sources)).rejects.toMatchObject({ code: 'integrity' })
  await files.close()
  server.files.set('m.hbm', PACK)
  server.behaviour.etag = '"3"'
  await expect(load('opfs')).resolves.toHaveLength(WEIGHTS.length)
})

test('parts are fetched again one by one', async () => {
  const half = Math.ceil(PACK.length / 2 / 64) * 64
  server.files.set('p-00001-of-00002.hbm', PACK.subarray(0, half))
  server.files.set('p-00002-of-00002.hbm', PACK.subarray(half))
  server.behaviour = { etag: '"1"', only: 'p-00002-of-00002.hbm', flips: 100, flipTimes: 1 }
  expect(await isRight(load('opfs', 'p-00001-of-00002.hbm'))).toBe(true)
  const again = server.requests.slice(2 + 2)
  expect(again.filter((line) => line.includes('00002-of'))).toHaveLength(1)
})

test('the next load fetches a corrupt header without a hash again, although the version is unchanged', async () => {
  server.behaviour.flips = 0
  await expect(load('opfs')).rejects.toMatchObject({ code: 'format' })
  delete server.behaviour.flips
  server.requests.length = 0
  expect(await isRight(load('opfs'))).toBe(true)
})
