// Stored models by name. In: files in a store, by address. Out: the models that they make up, their names,
// and the address that each name stands for.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { CATALOGUE } from '../../../core/store/catalogue.ts'
import type { Device } from '../../../core/store/device/device.ts'
import { ModelStore } from '../../../core/store/device/model-store.ts'
import { hubUrl, parseHubAddress } from '../../../core/store/hub.ts'
import { diskDevice } from '../store/node-device.ts'
import { storedTable } from './models-command.ts'
import { prunable } from './store-commands.ts'
import { listStoredModels, storedAddress } from './stored-models.ts'

const HUB = 'https://huggingface.co/'

let home: string
let device: Device
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'halfbyte-models-'))
  device = diskDevice(home)
})
afterEach(() => rm(home, { recursive: true }))

/** Stores a file of this many bytes. */
async function put(url: string, bytes = 1): Promise<void> {
  const store = (await ModelStore.open(device))!
  await store.fill(url, async (part) => {
    await part.begin({ size: bytes, etag: '' })
    part.write(0, new Uint8Array(bytes))
    part.finish(0)
    return { size: bytes, etag: '' }
  })
}

const named = async () => (await listStoredModels(device)).map(({ name, bytes }) => [name, bytes])

test('the files of a folder, and the parts of a split file, are one model', async () => {
  for (const [file, bytes] of [
    ['a/b/resolve/main/config.json', 1],
    ['a/b/resolve/main/tokenizer.json', 2],
    ['a/b/resolve/main/onnx/model_q4.onnx', 4],
    ['a/b/resolve/main/1_Pooling/config.json', 8],
    ['a/b/resolve/main/other-q4.gguf', 16],
    ['c/d/resolve/main/big-00001-of-00002.gguf', 32],
    ['c/d/resolve/main/big-00002-of-00002.gguf', 64],
  ] as const)
    await put(HUB + file, bytes)
  expect(await named()).toEqual([
    ['c/d:big-00001-of-00002.gguf', 96],
    ['a/b:other-q4.gguf', 16],
    ['a/b', 15],
  ])
})

test('a model of the catalogue has its short name, another revision is part of a name, and a secret is not', async () => {
  const [first] = CATALOGUE
  await put(hubUrl(parseHubAddress(first!.address)!))
  await put(`${HUB}a/b/resolve/v1/m%20x.gguf`)
  await put('https://user:secret@host.example/models/m.gguf?token=secret')
  expect((await named()).map(([name]) => name)).toEqual([
    'https://host.example/models/m.gguf',
    'a/b:m x.gguf@v1',
    first!.id,
  ])
})

test('each listed name stands for its address', async () => {
  const urls = [
    `${HUB}a/b/resolve/v1/m%20x.gguf`,
    `${HUB}a/b/resolve/main/sub/y.gguf`,
    'https://host.example/m.gguf?token=secret',
    hubUrl(parseHubAddress(CATALOGUE[1]!.address)!),
  ]
  for (const url of urls) await put(url)
  for (const { name, address } of await listStoredModels(device))
    expect(await storedAddress(name, device), name).toBe(address)
  expect(await storedAddress('nothing', device)).toBeUndefined()
  expect(await storedAddress('a/c', device)).toBeUndefined()
})

test('a repository stands for its only stored model, but not for one of several', async () => {
  await put(`${HUB}a/b/resolve/main/m.gguf`)
  expect(await storedAddress('a/b', device)).toBe(`${HUB}a/b/resolve/main/m.gguf`)
  expect(await storedAddress('a/b@v1', device)).toBeUndefined()
  await put(`${HUB}a/b/resolve/main/n.gguf`)
  expect(await storedAddress('a/b', device)).toBeUndefined()
})

test('without a store there are no models', async () => {
  expect(await listStoredModels(undefined)).toEqual([])
  expect(await storedAddress('a/b', undefined)).toBeUndefined()
})

test('the table has columns, the total, and the time since the last use', () => {
  const model = (name: string, bytes: number, used: number, isComplete = true) => ({
    ...{ name, bytes, used, isComplete, address: name, files: [] },
  })
  const now = 1e12
  const lines = storedTable(
    [
      model('a/b:c.gguf', 491_400_000, now - 3 * 60_000),
      model('x', 1000, now + 5000),
      model('evil\u001b[2J', 2e6, now - 49 * 3_600_000, false),
    ],
    now,
  ).split('\n')
  expect(lines[0]).toMatch(/^493\.4 MB in /)
  expect(lines.slice(1)).toEqual([
    'NAME               SIZE  LAST USED',
    'a/b:c.gguf     491.4 MB  3 minutes ago',
    'x                1.0 kB  just now',
    'evil\\u001b[2J    2.0 MB  2 days ago, unfinished',
  ])
})

test('pruning removes what was used longest ago, by number, size or time', () => {
  const models = [4, 3, 2, 1].map((used) => ({
    ...{ name: `m${used}`, bytes: 10, used, isComplete: true, address: '', files: [] },
  }))
  const names = (flags: Parameters<typeof prunable>[1]) => prunable(models, flags, 5).map(({ name }) => name)
  expect(names({ keep: 3 })).toEqual(['m1'])
  expect(names({ keep: 0 })).toEqual(['m4', 'm3', 'm2', 'm1'])
  expect(names({ maxSize: 25 })).toEqual(['m2', 'm1'])
  expect(names({ unusedFor: 3 })).toEqual(['m2', 'm1'])
  expect(names({ keep: 3, unusedFor: 4 })).toEqual(['m1'])
  expect(names({ keep: 9 })).toEqual([])
})
