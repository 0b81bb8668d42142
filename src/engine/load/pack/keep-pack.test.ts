// Packs that a page keeps beside its stored GGUF files. In: a GGUF on a server, loads, damage, new versions,
// a full device, a worker that was killed. Out: what loads read, and what is stored.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ggufFile } from '../../../../test/conformance/testing/model-files.ts'
import { randomLlama } from '../../../../test/conformance/testing/random-llama.ts'
import { packOfGguf } from '../../../../test/conformance/testing/writers/pack-of-gguf.ts'
import { typedGguf } from '../../../../test/conformance/testing/writers/typed-gguf.ts'
import { type FileServer, serveFiles } from '../../../../test/helpers/file-server.ts'
import { givenPlace } from '../../../core/formats/names/named-files.ts'
import { packAddress } from '../../../core/store/derived.ts'
import { ModelStore } from '../../../core/store/device/model-store.ts'
import { fileKey } from '../../../core/store/device/notes.ts'
import { countBytes, freeBytes, listFiles, removeModel } from '../../../core/store/stored-models.ts'
import { memoryStorage } from '../../../core/store/testing/memory-folders.ts'
import { nodeHost } from '../../../tools/cli/node-host.ts'
import type { LoadRequest } from '../../wire/protocol.ts'
import { loadModel } from '../load-model.ts'

let folder: ReturnType<ReturnType<typeof memoryStorage>>
let server: FileServer
let url: string
beforeEach(async () => {
  folder = memoryStorage()('halfbyte-models')
  server = await serveFiles({ 'm.gguf': await modelOf(1) })
  server.behaviour.etag = '"1"'
  url = `${server.address}m.gguf`
})
afterEach(async () => {
  vi.unstubAllGlobals()
  await server.close()
})

const modelOf = async (seed: number): Promise<Uint8Array> =>
  (await ggufFile(randomLlama({ seed, layers: 3, heads: 8, intermediate: 512 }), 'F16')).bytes()

/** Loads the model, and stores its pack if the load offers to. */
async function load({
  cache = 'opfs',
  whenIdle = async () => {},
  signal = new AbortController().signal,
  ...others
}: Partial<LoadRequest> & { whenIdle?: () => Promise<unknown>; signal?: AbortSignal } = {}) {
  const request: LoadRequest = {
    ...{ source: givenPlace(url), threads: 1, build: 'auto', weights: 'auto', cache, assets: {} },
    ...others,
  }
  const hooks = { signal: new AbortController().signal, onProgress() {} }
  const model = await loadModel(request, hooks, nodeHost())
  const { keepPack } = model
  const fingerprint = await model.fingerprint()
  try {
    await keepPack?.(signal, whenIdle)
  } finally {
    await model.dispose()
  }
  return { offers: keepPack !== undefined, fingerprint }
}

const binOf = async (address: string) => folder.entries.get(`${await fileKey(address)}.bin`)

const stored = async () => (await listFiles()).map((file) => file.url)

test('the first load stores a pack, which later loads read without a network', async () => {
  const first = await load()
  expect(first.offers).toBe(true)
  const bytes = (await binOf(packAddress(url)))!.bytes
  expect(Buffer.compare(bytes, await packOfGguf(server.files.get('m.gguf')!))).toBe(0)
  server.behaviour.status = 503
  const before = folder.reads.length
  const second = await load()
  expect(second).toEqual({ offers: false, fingerprint: first.fingerprint })
  expect(folder.reads.length).toBeGreaterThan(before)
  expect((await stored()).at(-1)).toBe(packAddress(url))
  expect(await countBytes(url)).toBe(server.files.get('m.gguf')!.length + bytes.length)
  await removeModel(url)
  expect(await stored()).toEqual([])
})

test.each([
  ['cache: files', { cache: 'files' as const }],
  ['cache: none', { cache: 'none' as const }],
  ['other weights', { weights: 'w8' as const }],
  ['another architecture', { architecture: 'llama' }],
])('%s: neither stores nor reads a pack', async (_, options) => {
  expect((await load(options)).offers).toBe(false)
  await load()
  expect(await stored()).toContain(packAddress(url))
  const used = (await listFiles()).find((file) => file.url === packAddress(url))?.used
  expect((await load(options)).offers).toBe(false)
  expect((await listFiles()).find((file) => file.url === packAddress(url))?.used).toBe(used)
})

test('a file whose rows all threads move as they are stored gets no pack', async () => {
  const model = randomLlama({ seed: 1, layers: 12, heads: 8, intermediate: 512 })
  server.files.set('m.gguf', await (await typedGguf(model, () => 'Q8_0')).bytes())
  expect((await load()).offers).toBe(false)
})

test('a new version of the file gets a new pack', async () => {
  const { fingerprint } = await load()
  server.files.set('m.gguf', await modelOf(2))
  server.behaviour.etag = '"2"'
  await (await ModelStore.open())!.doubt(url)
  const second = await load()
  expect(second.offers).toBe(true)
  expect(second.fingerprint).not.toBe(fingerprint)
  const bytes = (await binOf(packAddress(url)))!.bytes
  expect(Buffer.compare(bytes, await packOfGguf(await modelOf(2)))).toBe(0)
})

test('a damaged pack is removed, and the same load reads the file', async () => {
  const { fingerprint } = await load()
  const entry = (await binOf(packAddress(url)))!
  entry.bytes[entry.bytes.length - 5]! ^= 1
  // The second load stores the pack again.
  expect(await load()).toEqual({ offers: true, fingerprint })
  expect(await load()).toEqual({ offers: false, fingerprint })
})

test('without room for the pack, nothing but the file is stored', async () => {
  const { storage } = navigator
  vi.stubGlobal('navigator', { storage: { ...storage, estimate: async () => ({ quota: 1e6, usage: 9e5 }) } })
  server.files.set('m.gguf', (await modelOf(1)).slice())
  await load({ cache: 'files' }).catch(() => undefined)
  vi.stubGlobal('navigator', { storage: { ...storage, estimate: async () => ({ quota: 1000, usage: 0 }) } })
  if ((await stored()).length > 0) await load()
  expect(await stored()).not.toContain(packAddress(url))
})

test('a disk that fills up meanwhile keeps the file, and nothing of the pack', async () => {
  await load({ cache: 'files' })
  const size = server.files.get('m.gguf')!.length
  let left = size / 2
  folder.disk = {
    step: () => undefined,
    take: (bytes) => {
      left -= bytes
      return left > 0 ? bytes : 0
    },
  }
  await expect(load()).rejects.toMatchObject({ code: 'storage-full' })
  folder.disk = { step: () => undefined, take: (bytes) => bytes }
  expect(await stored()).toEqual([url])
  expect(await binOf(packAddress(url))).toBeUndefined()
  expect((await load()).offers).toBe(true)
})

test('the hashes wait until the engine is idle, and an abort leaves nothing', async () => {
  const abort = new AbortController()
  let waits = 0
  const whenIdle = async () => {
    waits++
    if (waits === 3) abort.abort(new Error('stopped by the test'))
  }
  await expect(load({ whenIdle, signal: abort.signal })).rejects.toThrow('stopped by the test')
  expect(waits).toBe(3)
  expect(await stored()).toEqual([url])
})

test('what a killed worker left of a pack is neither read nor listed, and removed', async () => {
  await load()
  const name = await fileKey(packAddress(url))
  const pack = folder.entries.get(`${name}.bin`)!
  folder.entries.delete(`${name}.json`)
  const size = pack.bytes.length
  folder.put(
    `${name}.part`,
    JSON.stringify({
      url: packAddress(url),
      size,
      etag: 'a',
      sums: Array(Math.ceil(size / 2 ** 22)).fill(null),
    }),
  )
  expect(await stored()).toEqual([url])
  expect([...folder.entries.keys()].some((entry) => entry.startsWith(name))).toBe(false)
  expect((await load()).offers).toBe(true)
})

test('room is made of packs before the files that they were made from', async () => {
  await load()
  expect(await freeBytes(1)).toEqual([packAddress(url)])
  expect(await freeBytes(1)).toEqual([url])
})
