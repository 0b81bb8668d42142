// Tests versions of transfers. In: a server with ranges but no ETag, a file that changes. Out: bytes of a
// single version.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type FileServer, serveFiles } from '../../../../test/helpers/file-server.ts'
import { BYTES, hash, MemoryFile, OTHER } from '../testing/memory-file.ts'
import { transfer } from './transfer.ts'

let server: FileServer
let file: MemoryFile
beforeEach(async () => {
  server = await serveFiles({ 'm.gguf': BYTES })
  file = new MemoryFile()
})
afterEach(() => server.close())

const bring = (options: Parameters<typeof transfer>[2] = {}) =>
  transfer(`${server.address}m.gguf`, file, { firstWaitMs: 1, ...options })

describe.each([
  ['only sends Last-Modified', 'Tue, 01 Sep 2026 10:00:00 GMT'],
  ['sends no version', undefined],
])('a server that %s', (_, changed) => {
  beforeEach(() => {
    server.behaviour = { changed }
  })
  const change = () => {
    server.files.set('m.gguf', OTHER)
    if (changed !== undefined) server.behaviour.changed = changed.replace('01', '02')
  }

  test('delivers the file, and at most two chunks are requested again', async () => {
    await bring()
    expect(hash(file.bytes)).toBe(hash(BYTES))
    expect(server.requests.length).toBeLessThanOrEqual(changed === undefined ? 8 : 6)
  })

  test.each([1, 4])(
    'and changes the file to another of the same size after %i chunks delivers one of the two',
    async (many) => {
      await bring({ onProgress: () => void (file.chunks.size >= many && change()) })
      expect([hash(BYTES), hash(OTHER)]).toContain(hash(file.bytes))
    },
  )

  test('and changes the file to another of the same size after a disconnect must send all of it', async () => {
    server.behaviour.cutAfter = 3_000_000
    server.behaviour.cuts = 2
    await bring({ onProgress: () => void (server.behaviour.cuts === 1 && change()) })
    expect(hash(file.bytes)).toBe(hash(OTHER))
  })

  test('and has changed the file to another of the same size by the next visit must send all of it', async () => {
    const enough = new AbortController()
    const onProgress = () => void (file.chunks.size > 0 && enough.abort(new Error('closed')))
    await expect(bring({ signal: enough.signal, onProgress })).rejects.toThrow('closed')
    expect(file.chunks.size).toBeGreaterThan(0)
    change()
    await bring()
    expect(hash(file.bytes)).toBe(hash(OTHER))
  })

  test('and changes a file of one chunk that was interrupted in the middle must send all of it', async () => {
    server.files.set('m.gguf', BYTES.subarray(0, 1_000_000))
    Object.assign(server.behaviour, { cutAfter: 500_000, cuts: 1 })
    const onProgress = () => {
      server.files.set('m.gguf', OTHER.subarray(0, 1_000_000))
      if (changed !== undefined) server.behaviour.changed = changed.replace('01', '02')
    }
    await bring({ onProgress })
    expect(hash(file.bytes)).toBe(hash(OTHER.subarray(0, 1_000_000)))
  })
})
