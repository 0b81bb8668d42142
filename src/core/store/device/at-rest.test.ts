// Tests models that were damaged at rest. In: stored folders of safetensors, split GGUFs and ONNX models with
// external data, and every way in which a device damages files. Out: the server's bytes, or a typed error.
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { type FileServer, serveFiles } from '../../../../test/helpers/file-server.ts'
import { openRequestedFiles } from '../../../engine/load/open/requested-files.ts'
import type { ByteSource } from '../../base/bytes.ts'
import { isHalfbyteError } from '../../base/errors.ts'
import { givenPlace } from '../../formats/names/named-files.ts'
import { memoryStorage } from '../testing/memory-folders.ts'
import { fileKey } from './notes.ts'
import { CHUNK_BYTES } from './sums.ts'

const bytesOf = (seed: number, length: number) =>
  new Uint8Array(length).map((_, index) => (index * 31 + (index >> 8) * seed + seed) & 255)
const text = (value: unknown) => new TextEncoder().encode(JSON.stringify(value))

/**
 * For each kind of model: the requests of a load, in order, and the files. Similar files have the same size.
 */
const MODELS: Readonly<
  Record<string, { places: readonly string[]; files: Readonly<Record<string, Uint8Array>> }>
> = {
  'a folder of safetensors': {
    places: ['m/'],
    files: {
      'm/config.json': text({ model_type: 'llama' }),
      'm/tokenizer.json': text({ model: {} }),
      'm/model.safetensors.index.json': text({
        weight_map: { a: 'model-00001-of-00002.safetensors', b: 'model-00002-of-00002.safetensors' },
      }),
      'm/model-00001-of-00002.safetensors': bytesOf(1, 30_000),
      'm/model-00002-of-00002.safetensors': bytesOf(2, 30_000),
    },
  },
  'a split GGUF': {
    places: ['m-00001-of-00002.gguf'],
    files: { 'm-00001-of-00002.gguf': bytesOf(3, 50_000), 'm-00002-of-00002.gguf': bytesOf(4, 50_000) },
  },
  'an ONNX model': {
    places: ['model.onnx', 'model.onnx_data', 'model.onnx_data_1'],
    files: {
      'model.onnx': bytesOf(5, 4000),
      'model.onnx_data': bytesOf(6, 60_000),
      'model.onnx_data_1': bytesOf(7, 60_000),
    },
  },
}

let storage: ReturnType<typeof memoryStorage>
beforeEach(() => {
  storage = memoryStorage()
})
afterAll(() => vi.restoreAllMocks())

/** For the delays between attempts, which retry.test.ts measures. */
const timer = globalThis.setTimeout
const shortTimer = (run: () => void, ms = 0) => timer(run, ms / 50)

const folder = () => storage('halfbyte-models')

/** All bytes of the files that a load opens, by file name. */
async function load(server: FileServer, places: readonly string[]): Promise<Map<string, Uint8Array>> {
  const hooks = { signal: new AbortController().signal, onProgress() {} }
  const read = new Map<string, Uint8Array>()
  for (const place of places) {
    const source = givenPlace(`${server.address}${place}`)
    const { sources, close, distrust } = await openRequestedFiles(
      { source, cache: 'opfs', hub: undefined },
      hooks,
    )
    try {
      for (const each of sources) read.set(each.name, await inPieces(each))
    } catch (error) {
      if (isHalfbyteError(error)) await distrust?.(error)
      throw error
    } finally {
      await close()
    }
  }
  return read
}

/** Reads as a load does, headers first, then slabs: a little from the start, then some bytes at a time. */
async function inPieces(source: ByteSource): Promise<Uint8Array> {
  const whole = new Uint8Array(source.size)
  await source.read(0, Math.min(64, source.size))
  for (let at = 0; at < source.size; at += 17_000)
    whole.set(await source.read(at, Math.min(17_000, source.size - at)), at)
  return whole
}

type Damage = (entries: ReturnType<typeof folder>['entries'], name: string, other: string) => void

/** None of these changes the modification time, because failing disks do not report errors. */
const DAMAGES: Readonly<Record<string, Damage>> = {
  'a byte flipped at its start': (entries, name) => flip(entries.get(`${name}.bin`)!.bytes, 0),
  'a bit flipped in its middle': (entries, name) => {
    const { bytes } = entries.get(`${name}.bin`)!
    bytes[bytes.length >> 1]! ^= 1
  },
  'its last byte flipped': (entries, name) => flip(entries.get(`${name}.bin`)!.bytes, -1),
  'zeros in it': (entries, name) => void entries.get(`${name}.bin`)!.bytes.fill(0, 3, 4096),
  'its end cut off': (entries, name) => {
    const entry = entries.get(`${name}.bin`)!
    entry.bytes = entry.bytes.slice(0, -1)
  },
  'no bytes left': (entries, name) => {
    entries.get(`${name}.bin`)!.bytes = new Uint8Array()
  },
  'extra bytes after its end': (entries, name) => {
    const entry = entries.get(`${name}.bin`)!
    const longer = new Uint8Array(entry.bytes.length + 512)
    longer.set(entry.bytes)
    entry.bytes = longer
  },
  'no file': (entries, name) => void entries.delete(`${name}.bin`),
  'no manifest': (entries, name) => void entries.delete(`${name}.json`),
  'half a manifest': (entries, name) => {
    const entry = entries.get(`${name}.json`)!
    entry.bytes = entry.bytes.slice(0, entry.bytes.length >> 1)
  },
  'another file in its place': (entries, name, other) => {
    const mine = entries.get(`${name}.bin`)!
    const others = entries.get(`${other}.bin`)!
    ;[mine.bytes, others.bytes] = [others.bytes, mine.bytes]
  },
  'the manifest of another file': (entries, name, other) => {
    entries.get(`${name}.json`)!.bytes = entries.get(`${other}.json`)!.bytes.slice()
  },
}

function flip(bytes: Uint8Array, at: number): void {
  bytes[at < 0 ? bytes.length + at : at]! ^= 255
}

const baseName = (path: string) => path.slice(path.lastIndexOf('/') + 1)

describe.each(Object.entries(MODELS))('%s', (_, { places, files }) => {
  const names = Object.keys(files)
  const expected = new Map(names.map((name) => [baseName(name), files[name]!]))
  const isRight = (read: Map<string, Uint8Array>) =>
    read.size === expected.size &&
    [...expected].every(([name, bytes]) => Buffer.compare(read.get(name) ?? new Uint8Array(), bytes) === 0)

  test.each(Object.entries(DAMAGES))(
    'with %s: the load that reads it repairs it, whichever file it is',
    async (_, damage) => {
      const server = await serveFiles(files)
      server.behaviour.etag = '"1"'
      try {
        expect(isRight(await load(server, places))).toBe(true)
        for (const [index, name] of names.entries()) {
          const keys = await Promise.all(
            [name, names[(index + 1) % names.length]!].map((each) => fileKey(server.address + each)),
          )
          damage(folder().entries, keys[0]!, keys[1]!)
          server.requests.length = 0
          expect(isRight(await load(server, places)), name).toBe(true)
          expect(
            server.requests.some((line) => line.includes(name)),
            name,
          ).toBe(true)
          server.requests.length = 0
          expect(isRight(await load(server, places)), name).toBe(true)
          expect(server.requests.filter((line) => names.some((each) => line.includes(each)))).toEqual([])
        }
      } finally {
        await server.close()
      }
    },
  )

  test.each(Object.entries(DAMAGES))(
    'with %s: a load without a network ends in a typed error',
    async (_, damage) => {
      const server = await serveFiles(files)
      await load(server, places)
      await server.close()
      const keys = await Promise.all(names.map((each) => fileKey(server.address + each)))
      damage(folder().entries, keys.at(-1)!, keys.at(-2)!)
      vi.stubGlobal('setTimeout', shortTimer)
      const error = await load(server, places).catch((reason) => reason)
      vi.unstubAllGlobals()
      expect(isHalfbyteError(error) && error.code).toBe('network')
    },
  )
})

test.each(Object.entries(MODELS))(
  'the first read of a chunk finds bit rot in 36 MB of %s before any of its bytes are used',
  async (_, { places, files }) => {
    const name = Object.keys(files).at(-1)!
    const bytes = bytesOf(9, 9 * CHUNK_BYTES + 5)
    const server = await serveFiles({ ...files, [name]: bytes })
    server.behaviour.etag = '"1"'
    try {
      await load(server, places)
      const stored = folder().entries.get(`${await fileKey(server.address + name)}.bin`)!
      const rotten = [5 * CHUNK_BYTES + 7, bytes.length - 1]
      for (const at of rotten) stored.bytes[at]! ^= 1
      server.requests.length = 0
      const hooks = { signal: new AbortController().signal, onProgress() {} }
      const request = {
        source: givenPlace(server.address + places.at(-1)),
        cache: 'opfs',
        hub: undefined,
      } as const
      const { sources, close } = await openRequestedFiles(request, hooks)
      const source = sources.find((each) => each.name === baseName(name))!
      const isRight = async (at: number, length: number) =>
        Buffer.compare(await source.read(at, length), bytes.subarray(at, at + length)) === 0
      expect(await isRight(0, 64)).toBe(true)
      expect(server.requests).toEqual([])
      expect(await isRight(5 * CHUNK_BYTES - 20, 40)).toBe(true)
      const asked = server.requests.map((line) => Number(/bytes=(\d+)-/.exec(line)?.[1]) / CHUNK_BYTES)
      // Finding one of them triggers a comparison of the others.
      expect(asked.sort()).toEqual([5, 9])
      expect(await isRight(bytes.length - 9, 9)).toBe(true)
      await close()
    } finally {
      await server.close()
    }
  },
)
