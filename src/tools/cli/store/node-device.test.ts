// The store on disk. In: a server with faults, a real folder, damaged files, a small or missing disk. Out:
// the exact bytes, the requests for them, and typed errors.
import { mkdtemp, open, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type FileServer, serveFiles } from '../../../../test/helpers/file-server.ts'
import { givenPlace } from '../../../core/formats/names/named-files.ts'
import { ModelStore } from '../../../core/store/device/model-store.ts'
import { fileKey } from '../../../core/store/device/notes.ts'
import { CHUNK_BYTES } from '../../../core/store/device/sums.ts'
import { peekAddress } from '../../../core/store/download/peek.ts'
import { openAddress } from '../../../core/store/open-address.ts'
import { countBytes, freeBytes, listFiles, removeModel } from '../../../core/store/stored-models.ts'
import { storeFolder } from '../platform-folders.ts'
import { DiskFolder } from './disk-folder.ts'
import { diskDevice } from './node-device.ts'

const BYTES = new Uint8Array(2.5 * CHUNK_BYTES).map((_, at) => (at * 31 + (at >> 9)) & 255)

let home: string
let server: FileServer
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'halfbyte-store-'))
  server = await serveFiles({ 'm.gguf': BYTES, 'n.gguf': BYTES.subarray(0, 100) })
  server.behaviour.etag = '"1"'
})
afterEach(async () => {
  await server.close()
  await rm(home, { recursive: true })
})

const device = (onDenied?: (reason: string) => void) => diskDevice(home, onDenied)

async function load(name = 'm.gguf', on = device()): Promise<Uint8Array> {
  const [source] = await openAddress(givenPlace(server.address + name), { device: on, firstWaitMs: 1 })
  try {
    return await source!.read(0, source!.size)
  } finally {
    source!.close?.()
  }
}

const stored = async (ending: string): Promise<string> =>
  join(home, 'models', (await fileKey(`${server.address}m.gguf`)) + ending)

test('a model is downloaded once, and then read from disk', async () => {
  expect(Buffer.compare(await load(), BYTES)).toBe(0)
  server.requests.length = 0
  expect(Buffer.compare(await load(), BYTES)).toBe(0)
  const peeked = await peekAddress(givenPlace(`${server.address}m.gguf`), { device: device() })
  expect(peeked.downloadBytes).toBe(0)
  await peeked.close()
  expect(server.requests).toEqual([])
  expect((await readdir(join(home, 'models'))).map((name) => name.slice(32)).sort()).toEqual([
    '.bin',
    '.json',
  ])
  expect(await readdir(join(home, 'locks'))).toEqual([])
})

test('only the owner can enter the folder', async () => {
  await load()
  expect((await stat(join(home, 'models'))).mode & 0o777).toBe(process.platform === 'win32' ? 0o666 : 0o700)
})

test('a download that lacks a chunk asks whether the file is the same, and fetches only that chunk', async () => {
  await load()
  const store = (await ModelStore.open(device()))!
  await store.doubt(`${server.address}m.gguf`, { start: CHUNK_BYTES, end: CHUNK_BYTES + 1 })
  expect(await listFiles(device())).toMatchObject([{ isComplete: false, size: 1.5 * CHUNK_BYTES }])
  server.requests.length = 0
  expect(Buffer.compare(await load(), BYTES)).toBe(0)
  expect(server.requests).toEqual([`GET /m.gguf bytes=${CHUNK_BYTES}-${2 * CHUNK_BYTES - 1}`])
})

test('a byte that changed on disk is found, and only its chunk is fetched again', async () => {
  await load()
  const path = await stored('.bin')
  const bytes = await readFile(path)
  bytes[CHUNK_BYTES + 5]! ^= 1
  await writeFile(path, bytes)
  server.requests.length = 0
  expect(Buffer.compare(await load(), BYTES)).toBe(0)
  expect(server.requests).toEqual([`GET /m.gguf bytes=${CHUNK_BYTES}-${2 * CHUNK_BYTES - 1}`])
})

test('a manifest is replaced in one step, so that nobody reads half of one', async () => {
  await load()
  const path = await stored('.json')
  const reader = await open(path)
  const before = await readFile(path, 'utf8')
  await load()
  expect(await readFile(path, 'utf8')).not.toBe(before)
  expect(await reader.readFile('utf8')).toBe(before)
  await reader.close()
})

test('a file that was cut short is fetched again', async () => {
  await load()
  await writeFile(await stored('.bin'), BYTES.subarray(0, 10))
  expect(Buffer.compare(await load(), BYTES)).toBe(0)
})

test('a file without its manifest does not count', async () => {
  await load()
  await rm(await stored('.json'))
  expect(await countBytes(`${server.address}m.gguf`, device())).toBe(0)
  expect(await readdir(join(home, 'models'))).toEqual(expect.any(Array))
  expect(Buffer.compare(await load(), BYTES)).toBe(0)
})

test('a model that does not fit on the disk gets an error with both numbers', async () => {
  const small = { ...device(), room: { ...device().room, freeBytes: async () => 1000 } }
  await expect(load('m.gguf', small)).rejects.toMatchObject({
    code: 'storage-full',
    message: `the model needs ${BYTES.length} bytes of storage but the disk has space for 1000; remove stored models (halfbyte prune-store) or load without storing (--no-store, store: false)`,
  })
  expect(await listFiles(small)).toEqual([])
  expect(await load('n.gguf', small)).toHaveLength(100)
})

test('the disk reports its free space', async () => {
  expect(await device().room.freeBytes()).toBeGreaterThan(1)
})

test('a home that cannot be made gets one reason, and the model is read over the network', async () => {
  await writeFile(join(home, 'file'), '')
  const told = vi.fn()
  const nowhere = diskDevice(join(home, 'file', 'below'), told)
  expect(Buffer.compare(await load('m.gguf', nowhere), BYTES)).toBe(0)
  await load('n.gguf', nowhere)
  expect(told.mock.calls).toEqual([
    [`models are not stored: ${join(home, 'file', 'below')} cannot be written (ENOTDIR)`],
  ])
})

test('models are listed, counted and removed, least recently used first', async () => {
  await load('m.gguf')
  await load('n.gguf')
  await load('m.gguf')
  const urls = async () => (await listFiles(device())).map(({ url }) => url.slice(server.address.length))
  expect(await urls()).toEqual(['n.gguf', 'm.gguf'])
  expect(await freeBytes(50, device())).toEqual([`${server.address}n.gguf`])
  expect(await urls()).toEqual(['m.gguf'])
  await removeModel(`${server.address}m.gguf`, device())
  expect(await readdir(join(home, 'models'))).toEqual([])
})

test.each(['../secret', 'a/b', '..', '/etc/passwd', 'a\\b', 'a:b', ''])(
  'the name %j never becomes a path',
  async (name) => {
    const folder = new DiskFolder(home, home)
    await expect(folder.replace(name, '')).rejects.toThrow('a name that a store makes')
    await expect(folder.getFileHandle(name, { create: true })).rejects.toThrow('a name that a store makes')
    await expect(folder.removeEntry(name)).rejects.toThrow('a name that a store makes')
    expect(await readdir(home)).toEqual([])
  },
)

test('an address with any name is stored inside the folder', async () => {
  const names = ['..%2f..%2fescape.gguf', 'con.gguf', `${'x'.repeat(2000)}.gguf`, 'a%00b.gguf']
  for (const name of names) {
    server.files.set(name, BYTES.subarray(0, 9))
    expect(await load(name)).toHaveLength(9)
  }
  expect((await listFiles(device())).length).toBe(names.length)
  expect((await readdir(home)).sort()).toEqual(['drafts', 'locks', 'models'])
  expect(await readdir(join(home, 'drafts'))).toEqual([])
  for (const file of await readdir(join(home, 'models'))) expect(file).toMatch(/^[0-9a-f]{32}\.(bin|json)$/)
})

test('a link in the folder that leads nowhere does not stop a load', async () => {
  await load('n.gguf')
  await symlink(join(home, 'nowhere', 'at', 'all'), await stored('.bin'))
  expect(Buffer.compare(await load(), BYTES)).toBe(0)
})

test('the folder follows the platform’s conventions, unless HALFBYTE_HOME names one', () => {
  expect(storeFolder({}, 'linux', '/h')).toBe(join('/h', '.cache', 'halfbyte'))
  expect(storeFolder({ XDG_CACHE_HOME: '/c' }, 'linux', '/h')).toBe(join('/c', 'halfbyte'))
  expect(storeFolder({}, 'darwin', '/h')).toBe(join('/h', 'Library', 'Caches', 'halfbyte'))
  expect(storeFolder({ LOCALAPPDATA: '/l' }, 'win32', '/h')).toBe(join('/l', 'halfbyte'))
  expect(storeFolder({ HALFBYTE_HOME: '/own' }, 'linux', '/h')).toBe('/own')
})
