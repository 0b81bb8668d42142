// Packs of stored models. In: a GGUF on a server, a store, damage, a new version, an abort, a small disk.
// Out: the bytes that a load reads, and how often they are made.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ggufFile } from '../../../../test/conformance/testing/model-files.ts'
import { randomLlama } from '../../../../test/conformance/testing/random-llama.ts'
import { packOfGguf } from '../../../../test/conformance/testing/writers/pack-of-gguf.ts'
import { type FileServer, serveFiles } from '../../../../test/helpers/file-server.ts'
import { givenPlace } from '../../../core/formats/names/named-files.ts'
import { packAddress } from '../../../core/store/derived.ts'
import type { Device } from '../../../core/store/device/device.ts'
import { ModelStore } from '../../../core/store/device/model-store.ts'
import { fileKey } from '../../../core/store/device/notes.ts'
import { listFiles } from '../../../core/store/stored-models.ts'
import { readsPack } from '../../../engine/load/pack/stored-pack.ts'
import { openModelFiles } from '../files.ts'
import { diskDevice } from '../store/node-device.ts'
import { listStoredModels } from './stored-models.ts'
import { openPacked } from './stored-packs.ts'

let home: string
let server: FileServer
let url: string
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'halfbyte-packs-'))
  server = await serveFiles({ 'm.gguf': await modelOf(1) })
  server.behaviour.etag = '"1"'
  url = `${server.address}m.gguf`
})
afterEach(async () => {
  await server.close()
  await rm(home, { recursive: true })
})

const modelOf = async (seed: number): Promise<Uint8Array> => (await ggufFile(randomLlama({ seed }))).bytes()

/** Opens the model as a load would, and reads all of it. `made`: whether weights were converted. */
async function opened({
  device = diskDevice(home),
  signal = new AbortController().signal,
  onProgress = (): void => undefined,
}: {
  device?: Device
  signal?: AbortSignal
  onProgress?: () => void
} = {}) {
  let made = false
  const report = () => {
    made = true
    onProgress()
  }
  const open = () => openModelFiles(url, { store: home, signal })
  const files = await openPacked(givenPlace(url), device, open, { signal, onProgress: report })
  try {
    const [source] = files.sources
    return {
      name: source!.name,
      isChecked: source!.isChecked,
      bytes: await source!.read(0, source!.size),
      made,
    }
  } finally {
    await files.close()
  }
}

const binOf = async (address: string) => join(home, 'models', `${await fileKey(address)}.bin`)

test('the first load makes the pack, and the next ones read it without a network', async () => {
  const expected = await packOfGguf(server.files.get('m.gguf')!)
  const first = await opened()
  expect(first).toMatchObject({ name: 'model.hbm', isChecked: true, made: true })
  expect(Buffer.compare(first.bytes, expected)).toBe(0)
  server.behaviour.status = 503
  const second = await opened()
  expect(second).toMatchObject({ name: 'model.hbm', isChecked: true, made: false })
  expect(Buffer.compare(second.bytes, expected)).toBe(0)
  const [model] = await listStoredModels(diskDevice(home))
  expect(model).toMatchObject({ address: url, bytes: server.files.get('m.gguf')!.length + expected.length })
})

test('a damaged pack is made again while it is read', async () => {
  await opened()
  const path = await binOf(packAddress(url))
  const bytes = await readFile(path)
  bytes[bytes.length - 5]! ^= 1
  await writeFile(path, bytes)
  const again = await opened()
  expect(again.made).toBe(true)
  expect(Buffer.compare(again.bytes, await packOfGguf(server.files.get('m.gguf')!))).toBe(0)
  expect((await opened()).made).toBe(false)
})

test('a new version of the model gets a new pack', async () => {
  await opened()
  server.files.set('m.gguf', await modelOf(2))
  server.behaviour.etag = '"2"'
  const store = (await ModelStore.open(diskDevice(home)))!
  await store.doubt(url)
  const again = await opened()
  expect(again.made).toBe(true)
  expect(Buffer.compare(again.bytes, await packOfGguf(await modelOf(2)))).toBe(0)
})

test('an abort stops the work, and the next load begins anew', async () => {
  const abort = new AbortController()
  const reason = new Error('stopped by the test')
  const stopped = opened({ signal: abort.signal, onProgress: () => abort.abort(reason) })
  await expect(stopped).rejects.toThrow('stopped by the test')
  const [model] = await listStoredModels(diskDevice(home))
  expect(model).toMatchObject({ address: url, isComplete: true })
  expect(await opened()).toMatchObject({ name: 'model.hbm', made: true })
})

test('without room for the pack, the model’s own file is read, and nothing is left', async () => {
  const device = diskDevice(home)
  const small = { ...device, room: { ...device.room, freeBytes: async () => 1000 } }
  const plain = await opened({ device: small })
  expect(plain.name).toBe('m.gguf')
  expect(Buffer.compare(plain.bytes, server.files.get('m.gguf')!)).toBe(0)
  expect((await listFiles(device)).map((file) => file.url)).toEqual([url])
})

test('a file that is no model is opened as it is', async () => {
  server.files.set('m.gguf', new Uint8Array(5000).fill(7))
  expect(await opened()).toMatchObject({ name: 'm.gguf' })
})

test('a pack is read only where it holds what the load asks for', () => {
  expect(readsPack({})).toBe(true)
  expect(readsPack({ weights: 'auto', lora: [] })).toBe(true)
  expect(readsPack({ weights: 'w4' })).toBe(false)
  expect(readsPack({ lora: [{ source: 'a' }] })).toBe(false)
  expect(readsPack({ vision: 'mmproj.gguf' })).toBe(false)
  expect(readsPack({ architecture: 'llama' })).toBe(false)
})
