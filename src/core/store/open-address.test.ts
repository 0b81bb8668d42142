// Tests opening addresses. In: a real server, well-behaved or not. Out: the exact bytes or a typed error,
// never half a file.
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type FileServer, serveFiles } from '../../../test/helpers/file-server.ts'
import type { ByteSource } from '../base/bytes.ts'
import { givenPlace } from '../formats/names/named-files.ts'
import type { DownloadProgress } from './download/tally.ts'
import { openAddress } from './open-address.ts'

const MIB = 1 << 20
const bytes = (length: number) => new Uint8Array(length).map((_, index) => (index * 31 + (index >> 8)) & 255)
const SMALL = bytes(1000)
/** Nine and a half blocks. */
const LARGE = bytes(38 * MIB)

let server: FileServer

beforeEach(async () => {
  server = await serveFiles({
    'small.gguf': SMALL,
    'large.gguf': LARGE,
    'notes.txt': SMALL,
    'empty.gguf': bytes(0),
  })
})
afterEach(() => server.close())

async function open(path: string, options: Parameters<typeof openAddress>[1] = {}): Promise<ByteSource> {
  const [source, second] = await openAddress(givenPlace(server.address + path), {
    cache: 'none',
    firstWaitMs: 1,
    ...options,
  })
  expect(second).toBeUndefined()
  return source as ByteSource
}

const failure = (code: string, says: RegExp) =>
  expect.objectContaining({ code, message: expect.stringMatching(says) })
const whole = (source: ByteSource) => source.read(0, source.size)

describe('a whole file', () => {
  beforeEach(() => {
    server.behaviour.ranges = false
  })

  test.each([
    ['with its length', {}],
    ['without a length', { length: false }],
    ['compressed in transit', { gzip: true }],
  ])('arrives %s', async (_, behaviour) => {
    Object.assign(server.behaviour, behaviour)
    const seen: DownloadProgress[] = []
    const source = await open('small.gguf', { onProgress: (progress) => seen.push(progress) })
    expect(source).toMatchObject({ name: 'small.gguf', size: SMALL.length })
    expect(source.readAlone, 'it is on the device').toBeUndefined()
    expect(await whole(source)).toEqual(SMALL)
    expect(seen.at(-1)).toMatchObject({ loaded: 1000, total: 1000, cached: false })
  })

  test('is found behind a redirect', async () => {
    expect(await whole(await open('moved/notes.txt'))).toEqual(SMALL)
  })

  test.each([404, 410])('that does not exist (%i) causes a network error', async (status) => {
    server.behaviour.status = status
    await expect(open('small.gguf')).rejects.toEqual(failure('network', /small\.gguf does not exist/))
  })

  test.each([403, 500, 503])(
    'from a server that answers %i causes a network error that says so',
    async (status) => {
      server.behaviour.status = status
      await expect(open('small.gguf')).rejects.toEqual(
        failure('network', new RegExp(`small\\.gguf.* ${status} `)),
      )
    },
  )

  test('on an unreachable server causes a network error', async () => {
    await server.close()
    await expect(open('small.gguf')).rejects.toEqual(failure('network', /small\.gguf could not be fetched/))
    server = await serveFiles({})
  })

  test.each([
    ['with its length', {}],
    ['without a length', { length: false }],
  ])('that breaks off %s causes a network error', async (_, behaviour) => {
    Object.assign(server.behaviour, behaviour, { cutAfter: 300 })
    await expect(open('small.gguf')).rejects.toEqual(failure('network', /small\.gguf stopped after 300 of/))
  })

  test('that is aborted rejects with the signal’s reason', async () => {
    server.behaviour.stalls = true
    const abort = new AbortController()
    const reason = new Error('enough')
    const opened = open('small.gguf', { signal: abort.signal, onProgress: () => abort.abort(reason) })
    await expect(opened).rejects.toBe(reason)
  })

  test('that the browser evicts causes an error that says what to do', async () => {
    const source = await open('small.gguf')
    const reason = new DOMException('out of room', 'NotReadableError')
    const read = vi.spyOn(Blob.prototype, 'arrayBuffer').mockRejectedValue(reason)
    await expect(whole(source)).rejects.toEqual(
      failure('out-of-memory', /small\.gguf: .* 1000 downloaded bytes .*out of room.* ranges$/),
    )
    read.mockRestore()
  })
})

/** The number of blocks whose memory has been freed since then. */
function freedBlocks(): () => number {
  const freed = vi.spyOn(ArrayBuffer.prototype, 'transfer')
  onTestFinished(() => freed.mockRestore())
  return () => freed.mock.contexts.length
}

describe('a file on a server with ranges', () => {
  test('is fetched only where it is read, each block once', async () => {
    const seen: DownloadProgress[] = []
    const source = await open('large.gguf?v=1', { onProgress: (progress) => seen.push(progress) })
    expect(source).toMatchObject({ name: 'large.gguf', size: LARGE.length })
    expect(source.readAlone, 'it arrives in parts').toBeDefined()
    for (const [offset, length] of [
      [0, 10],
      [4 * MIB - 5, 10],
      [4 * MIB + 100, 2 * MIB],
      [LARGE.length - 7, 7],
      [17, 0],
    ] as const) {
      expect(await source.read(offset, length)).toEqual(LARGE.subarray(offset, offset + length))
    }
    expect(server.requests).toEqual([
      'GET /large.gguf bytes=0-4194303',
      'GET /large.gguf bytes=4194304-8388607',
      `GET /large.gguf bytes=37748736-${LARGE.length - 1}`,
    ])
    expect(seen.at(-1)).toMatchObject({ loaded: 10 * MIB, total: LARGE.length, cached: false })
  })

  test('can be read as a whole, and again in any order', async () => {
    const source = await open('large.gguf')
    const freed = freedBlocks()
    expect(Buffer.compare(await whole(source), LARGE)).toBe(0)
    // Responses are short, because they take memory in addition to the cache, which is smaller than the file.
    expect(server.requests.splice(0)).toEqual([
      'GET /large.gguf bytes=0-4194303',
      'GET /large.gguf bytes=4194304-12582911',
      'GET /large.gguf bytes=12582912-20971519',
      'GET /large.gguf bytes=20971520-29360127',
      'GET /large.gguf bytes=29360128-37748735',
      `GET /large.gguf bytes=37748736-${LARGE.length - 1}`,
    ])
    expect(freed(), 'of ten blocks, four are kept').toBe(6)
    await source.read(0, 10)
    expect(server.requests).toHaveLength(1)
    for (const block of [9, 0, 5, 1]) {
      const offset = block * 4 * MIB + 3
      const length = Math.min(5 * MIB, LARGE.length - offset)
      expect(Buffer.compare(await source.read(offset, length), LARGE.subarray(offset, offset + length))).toBe(
        0,
      )
    }
  })

  test.each(['model.onnx_data', 'model.onnx_data_1', 'model.onnx.data_12'])(
    'has the weights of an export: %s',
    async (name) => {
      server.files.set(name, LARGE)
      const source = await open(name)
      expect(await source.read(9 * 4 * MIB, 10)).toEqual(LARGE.subarray(9 * 4 * MIB, 9 * 4 * MIB + 10))
      expect(server.requests).toHaveLength(2)
    },
  )

  test('smaller than a block takes one request', async () => {
    expect(await whole(await open('small.gguf'))).toEqual(SMALL)
    expect(server.requests).toHaveLength(1)
  })

  test('that is empty opens as an empty file', async () => {
    expect(await open('empty.gguf')).toMatchObject({ size: 0 })
  })

  test('refuses to read beyond its end', async () => {
    const source = await open('small.gguf')
    await expect(source.read(990, 20)).rejects.toEqual(failure('format', /990 to 1010/))
  })

  test('continues after a broken connection', async () => {
    Object.assign(server.behaviour, { cutAfter: 1000, cuts: 2 })
    const source = await open('large.gguf')
    expect(await source.read(0, 5000)).toEqual(LARGE.subarray(0, 5000))
  })

  test('is read in ranges, even if the server was overloaded at first', async () => {
    Object.assign(server.behaviour, { status: 503, refusals: 2 })
    const source = await open('large.gguf')
    expect(await source.read(0, 10)).toEqual(LARGE.subarray(0, 10))
    expect(server.requests).toEqual(Array(3).fill('GET /large.gguf bytes=0-4194303'))
  })

  test('waits for a temporarily overloaded server, and gives up at once if waiting is useless', async () => {
    const source = await open('large.gguf')
    Object.assign(server.behaviour, { status: 503, refusals: 4 })
    expect(await source.read(8 * MIB, 10)).toEqual(LARGE.subarray(8 * MIB, 8 * MIB + 10))
    server.requests.length = 0
    Object.assign(server.behaviour, { status: 403, refusals: 1 })
    await expect(source.read(20 * MIB, 10)).rejects.toEqual(failure('network', /answered 403/))
    expect(server.requests).toHaveLength(1)
  })

  test('is asked for the rest at once if the server sends less than requested', async () => {
    const source = await open('large.gguf')
    server.requests.length = 0
    server.behaviour.most = MIB + 1000
    expect(await source.read(8 * MIB, 10)).toEqual(LARGE.subarray(8 * MIB, 8 * MIB + 10))
    const starts = [0, 1, 2, 3].map((part) => 8 * MIB + part * (MIB + 1000))
    expect(server.requests).toEqual(starts.map((at) => `GET /large.gguf bytes=${at}-${12 * MIB - 1}`))
  })

  test('causes a network error if the server sends almost nothing of a range', async () => {
    const source = await open('large.gguf')
    server.behaviour.most = 10
    await expect(source.read(8 * MIB, 10)).rejects.toEqual(
      failure('network', /sent 10 of the 4194254 bytes requested from 8388658, but at least 1024/),
    )
  })

  test('that is interrupted resumes where it stopped, and causes a network error if that keeps happening', async () => {
    const source = await open('large.gguf')
    Object.assign(server.behaviour, { cutAfter: MIB, cuts: 3 })
    expect(await source.read(4 * MIB, 10)).toEqual(LARGE.subarray(4 * MIB, 4 * MIB + 10))
    server.requests.length = 0
    Object.assign(server.behaviour, { cutAfter: 1000, cuts: 99 })
    await expect(source.read(8 * MIB, 10)).rejects.toEqual(
      failure('network', /large\.gguf stopped after 1000 of 4189304/),
    )
    expect(server.requests[5]).toBe(`GET /large.gguf bytes=${8 * MIB + 5000}-${12 * MIB - 1}`)
  })

  test.each([
    ['its version', () => Object.assign(server.behaviour, { etag: '"2"' }), /version is "2" instead of "1"/],
    ['its size', () => server.files.set('large.gguf', LARGE.subarray(0, -1)), /has 39845887 bytes/],
    ['its place', () => server.files.delete('large.gguf'), /it no longer exists/],
    [
      'its server',
      () => Object.assign(server.behaviour, { ranges: false }),
      /no longer supports range requests/,
    ],
  ])('that changes %s while it is read causes an integrity error', async (_, change, says) => {
    server.behaviour.etag = '"1"'
    const source = await open('large.gguf')
    change()
    await expect(source.read(20 * MIB, 10)).rejects.toEqual(failure('integrity', says))
  })

  test('stops at an abort between two reads and during one', async () => {
    const abort = new AbortController()
    const source = await open('large.gguf', { signal: abort.signal })
    server.behaviour.stalls = true
    const reading = source.read(8 * MIB, 10)
    const reason = new Error('enough')
    abort.abort(reason)
    await expect(reading).rejects.toBe(reason)
    await expect(source.read(0, 10)).rejects.toBe(reason)
  })
})

describe('a model in several files', () => {
  test('in splits is found by the name of any split', async () => {
    for (const part of [1, 2]) server.files.set(`big-0000${part}-of-00002.gguf`, bytes(10 * part))
    const sources = await openAddress(givenPlace(`${server.address}big-00002-of-00002.gguf`), {
      cache: 'none',
    })
    expect(sources.map(({ name, size }) => [name, size])).toEqual([
      ['big-00001-of-00002.gguf', 10],
      ['big-00002-of-00002.gguf', 20],
    ])
    server.files.delete('big-00001-of-00002.gguf')
    await expect(
      openAddress(givenPlace(`${server.address}big-00002-of-00002.gguf`), { cache: 'none' }),
    ).rejects.toEqual(failure('network', /big-00001-of-00002\.gguf does not exist/))
  })

  test('in a folder is found through its index, even without optional files', async () => {
    const index = { weight_map: { a: 'model-1.safetensors', b: 'model-2.safetensors' } }
    const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value))
    server.files.set('m/config.json', json({}))
    server.files.set('m/tokenizer.json', json({}))
    server.files.set('m/model.safetensors.index.json', json(index))
    for (const part of [1, 2]) server.files.set(`m/model-${part}.safetensors`, bytes(part))
    const seen: DownloadProgress[] = []
    const sources = await openAddress(givenPlace(`${server.address}m/`), {
      cache: 'none',
      onProgress: (p) => seen.push(p),
    })
    expect(sources.map(({ name }) => name)).toEqual([
      'config.json',
      'tokenizer.json',
      'model.safetensors.index.json',
      'model-1.safetensors',
      'model-2.safetensors',
    ])
    const size = sources.reduce((sum, source) => sum + source.size, 0)
    expect(seen.at(-1)).toMatchObject({ loaded: size, total: size, cached: false })
    server.files.delete('m/config.json')
    await expect(openAddress(givenPlace(`${server.address}m/`), { cache: 'none' })).rejects.toEqual(
      failure('network', /config\.json does not exist/),
    )
  })

  test('in a folder without tokenizer.json uses tokenizer.model, and fails if it has neither', async () => {
    const json = new TextEncoder().encode('{}')
    server.files.set('s/config.json', json)
    server.files.set('s/tokenizer.model', bytes(3))
    server.files.set('s/model.safetensors', bytes(1))
    const names = async () =>
      (await openAddress(givenPlace(`${server.address}s/`), { cache: 'none' })).map(({ name }) => name)
    expect(await names()).toEqual(['config.json', 'tokenizer.model', 'model.safetensors'])
    server.files.delete('s/tokenizer.model')
    await expect(names()).rejects.toEqual(failure('network', /tokenizer\.json does not exist/))
    server.files.set('s/tokenizer.json', json)
    expect(await names()).toEqual(['config.json', 'tokenizer.json', 'model.safetensors'])
  })
})

test('without storage, files are read from memory', async () => {
  const [source] = await openAddress(givenPlace(`${server.address}notes.txt`), { cache: 'opfs' })
  expect(await whole(source as ByteSource)).toEqual(SMALL)
})

test('an address of this page, which has no folder, is read like any other', async () => {
  const url = URL.createObjectURL(new Blob([SMALL]))
  for (const cache of ['none', 'opfs'] as const) {
    const [source] = await openAddress(givenPlace(url), { cache })
    expect(await whole(source as ByteSource)).toEqual(SMALL)
  }
  URL.revokeObjectURL(url)
})
