// Tests transfers. In: a server that misbehaves in every way, a file that stores its bytes. Out: the bytes,
// or a typed error.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type FileServer, serveFiles } from '../../../../test/helpers/file-server.ts'
import { openServer } from '../../../../test/helpers/http-server.ts'
import { CHUNK_BYTES } from '../device/sums.ts'
import { BYTES, hash, MemoryFile, OTHER, SIZE } from '../testing/memory-file.ts'
import { pieces } from './request.ts'
import { transfer } from './transfer.ts'

let server: FileServer
let file: MemoryFile
beforeEach(async () => {
  server = await serveFiles({ 'm.gguf': BYTES })
  server.behaviour.etag = '"1"'
  file = new MemoryFile()
})
afterEach(() => server.close())

const bring = (options: Parameters<typeof transfer>[2] = {}) =>
  transfer(`${server.address}m.gguf`, file, { firstWaitMs: 1, ...options })

const chunksAsked = () =>
  server.requests.map((line) => Number(/bytes=(\d+)-/.exec(line)?.[1] ?? -1) / CHUNK_BYTES)

describe('a server with ranges', () => {
  test('delivers every chunk once, with progress', async () => {
    const seen: [number, number][] = []
    expect(await bring({ onProgress: (...progress) => seen.push(progress) })).toEqual({
      size: SIZE,
      etag: '"1"',
    })
    expect(hash(file.bytes)).toBe(hash(BYTES))
    expect(chunksAsked().sort()).toEqual([0, 1, 2, 3, 4, 5])
    expect(seen.at(-1)).toEqual([SIZE, SIZE])
    for (const [index, [loaded]] of seen.entries())
      expect(loaded).toBeGreaterThanOrEqual(seen[index - 1]?.[0] ?? 0)
  })

  test('resumes after disconnects within chunks, and partial chunks do not count', async () => {
    Object.assign(server.behaviour, { cutAfter: 100_000, cuts: 7 })
    let most = 0
    await bring({
      onProgress: (loaded) => {
        most = Math.max(most, loaded)
      },
    })
    expect(hash(file.bytes)).toBe(hash(BYTES))
    expect(most).toBe(SIZE)
  })

  test('is only asked for chunks that no earlier visit stored', async () => {
    const enough = new AbortController()
    const { signal } = enough
    const onProgress = (loaded: number) => {
      if (loaded >= 5 * CHUNK_BYTES) enough.abort(new Error('closed'))
    }
    await expect(bring({ signal, onProgress })).rejects.toThrow('closed')
    const there = [...file.chunks.keys()]
    expect(there.length).toBeGreaterThan(0)
    server.requests.length = 0
    const seen: number[] = []
    await bring({ onProgress: (loaded) => seen.push(loaded) })
    expect(hash(file.bytes)).toBe(hash(BYTES))
    expect(chunksAsked().filter((index) => there.includes(index))).toEqual([])
    expect(seen[0]).toBeGreaterThanOrEqual(
      Math.min(...there.map((index) => (index === 5 ? 0.5 : 1) * CHUNK_BYTES)),
    )
    expect(file.begun).toBe(1)
  })

  test('that labels parts of the file as a web page is still trusted to send the file', async () => {
    server.behaviour.type = 'text/html'
    await bring()
    expect(hash(file.bytes)).toBe(hash(BYTES))
    expect(server.requests.length).toBeLessThanOrEqual(Math.ceil(BYTES.length / CHUNK_BYTES))
  })

  test('is asked again from the start when the file changed between two visits', async () => {
    await bring()
    server.files.set('m.gguf', OTHER)
    server.behaviour.etag = '"2"'
    await bring()
    expect(hash(file.bytes)).toBe(hash(OTHER))
    expect(file.version?.etag).toBe('"2"')
  })

  test('that changes the file during the download is asked for all of the new file', async () => {
    let changed = false
    const onProgress = () => {
      if (changed) return
      changed = true
      server.files.set('m.gguf', OTHER)
      server.behaviour.etag = '"2"'
    }
    await bring({ onProgress })
    expect(hash(file.bytes)).toBe(hash(OTHER))
  })

  test.each([
    ['longer', new Uint8Array([...OTHER.subarray(0, 100), ...OTHER])],
    ['shorter', OTHER.subarray(0, -100)],
  ])(
    'that sends no versions and has a %s file by the next visit, or during the download, is asked for all of it',
    async (_, next) => {
      delete server.behaviour.etag
      await bring()
      server.files.set('m.gguf', next)
      await bring()
      expect(hash(file.bytes)).toBe(hash(next))
      file = new MemoryFile()
      server.files.set('m.gguf', BYTES)
      await bring({ onProgress: () => void server.files.set('m.gguf', next) })
      expect(hash(file.bytes)).toBe(hash(next))
    },
  )

  test('that alternates weak and strong ETags is not asked for anything twice', async () => {
    server.behaviour.etags = Array.from({ length: 12 }, (_, at) => (at % 2 === 0 ? 'W/"1"' : '"1"'))
    await bring()
    expect(hash(file.bytes)).toBe(hash(BYTES))
    expect(server.requests).toHaveLength(6)
  })

  test.each([1, -1, CHUNK_BYTES])(
    'that once sends a range that starts %i bytes too late is asked again',
    async (shifts) => {
      file.version = { size: SIZE, etag: '1' }
      file.bytes = BYTES.slice()
      file.finish(0)
      Object.assign(server.behaviour, { etag: '1', shifts, shiftTimes: 1 })
      await bring()
      expect(hash(file.bytes)).toBe(hash(BYTES))
    },
  )

  test('that always sends ranges that start a byte too late causes an integrity error', async () => {
    server.behaviour.shifts = 1
    await expect(bring()).rejects.toMatchObject({
      code: 'integrity',
      message: expect.stringContaining('it sent bytes from 1 instead of 0'),
    })
    expect(file.chunks.size).toBe(0)
  })

  test('behind a login page: its chunks are kept, and the download resumes from there', async () => {
    const page = '<title>Log in</title>'
    const type = 'Content-Type: text/html'
    const login = `HTTP/1.1 200 OK\r\n${type}\r\nContent-Length: ${page.length}\r\n\r\n${page}`
    const onProgress = () => void (file.chunks.size >= 2 && Object.assign(server.behaviour, { raw: login }))
    await expect(bring({ onProgress, attempts: 2 })).rejects.toMatchObject({
      code: 'network',
      message: expect.stringContaining('received a web page instead of m.gguf'),
    })
    const there = [...file.chunks.keys()]
    expect(there.length).toBeGreaterThan(1)
    await expect(bring({ attempts: 2 })).rejects.toMatchObject({ code: 'network' })
    server.behaviour = { etag: '"1"' }
    server.requests.length = 0
    await bring()
    expect(hash(file.bytes)).toBe(hash(BYTES))
    expect(chunksAsked().filter((index) => there.includes(index))).toEqual([])
  })

  test('that sends no versions and temporarily lacks the file is asked for the whole file afterwards', async () => {
    delete server.behaviour.etag
    const onProgress = () => {
      if (file.chunks.size === 0 || server.files.get('m.gguf') === OTHER) return
      server.files.set('m.gguf', OTHER)
      Object.assign(server.behaviour, { status: 404, refusals: 1 })
    }
    await bring({ onProgress })
    expect(hash(file.bytes)).toBe(hash(OTHER))
  })

  test('is asked once whether a complete file is unchanged', async () => {
    await bring()
    server.requests.length = 0
    expect(await bring()).toEqual({ size: SIZE, etag: '"1"' })
    expect([server.requests.length, file.begun]).toEqual([1, 1])
  })

  test('that sends more than requested writes nothing outside its chunk', async () => {
    server.behaviour.excess = 1000
    const ends: number[] = []
    const write = file.write.bind(file)
    file.write = (offset, bytes) => {
      ends.push((offset % CHUNK_BYTES) + bytes.byteLength)
      write(offset, bytes)
    }
    await bring()
    expect(hash(file.bytes)).toBe(hash(BYTES))
    expect(Math.max(...ends)).toBe(CHUNK_BYTES)
    expect(server.requests).toHaveLength(6)
  })

  test('that sends less than requested is asked for the rest', async () => {
    server.behaviour.most = CHUNK_BYTES - 100_000
    await bring({ attempts: 2 })
    expect(hash(file.bytes)).toBe(hash(BYTES))
    expect(server.requests).toContain(`GET /m.gguf bytes=${CHUNK_BYTES - 100_000}-${CHUNK_BYTES - 1}`)
  })

  test('that always sends the beginning causes an error, and its bytes are not stored in the wrong place', async () => {
    server.behaviour.rewinds = true
    await expect(bring()).rejects.toMatchObject({ code: 'integrity' })
    expect(file.chunks.size).toBe(0)
  })

  test('whose first range ends past the file, like Capacitor’s on Android, is asked for the whole file', async () => {
    const short = BYTES.subarray(0, 1 << 20)
    const android = await openServer(({ headers }, response) => {
      const [range, start, end] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? []
      if (range !== undefined)
        response.writeHead(206, { 'Content-Range': `bytes ${start}-${end}/${short.byteLength}` })
      response.end(short.subarray(Number(start ?? 0), Number(end ?? short.byteLength) + 1))
    })
    await transfer(`${android.address}m.gguf`, file, { firstWaitMs: 1 })
    await android.close()
    expect(hash(file.bytes.subarray(0, short.byteLength))).toBe(hash(short))
    expect(android.requests).toHaveLength(2)
  })

  test('that compresses ranges is asked for the whole file', async () => {
    server.behaviour.gzip = true
    await bring()
    expect(hash(file.bytes.subarray(0, SIZE))).toBe(hash(BYTES))
    expect(server.requests.at(-1)).toBe('GET /m.gguf')
  })

  test('that breaks every connection, but always after some progress, is asked until the file is complete', async () => {
    server.behaviour.cutAfter = 1 << 20
    await bring({ attempts: 2 })
    expect(hash(file.bytes)).toBe(hash(BYTES))
  })

  test('that denies one range permanently is abandoned at once, even while other ranges stall', async () => {
    server.behaviour = {
      etag: '"1"',
      get stalls() {
        return server.requests.length !== 1
      },
      get status() {
        return server.requests.length === 3 ? 403 : undefined
      },
    }
    await expect(bring()).rejects.toMatchObject({ code: 'network', detail: { status: 403 } })
  })

  test('that keeps changing the file is abandoned', async () => {
    let version = 1
    const onProgress = () => {
      server.behaviour.etag = `"${++version}"`
    }
    await expect(bring({ onProgress })).rejects.toMatchObject({
      code: 'integrity',
      message: expect.stringContaining('keeps changing'),
    })
    expect(file.chunks.size).toBe(0)
  })

  test.each([429, 500, 503])('that answers %i for a while is asked again', async (status) => {
    Object.assign(server.behaviour, { status, refusals: 3 })
    await bring({ firstWaitMs: 5 })
    expect(server.requests.length).toBeGreaterThan(3)
    expect(hash(file.bytes)).toBe(hash(BYTES))
  })

  test.each([401, 403, 451])('that answers %i is not asked again', async (status) => {
    server.behaviour.status = status
    await expect(bring()).rejects.toMatchObject({ code: 'network', detail: { status } })
    expect(server.requests).toHaveLength(1)
  })

  test('that stalls is disconnected and asked again', async () => {
    server.behaviour.stalls = true
    server.behaviour.onRequest = ({ requests, behaviour }) => {
      if (requests.length > 2) behaviour.stalls = false
    }
    await bring({ stallMs: 40, attempts: 50, firstWaitMs: 5 })
    expect(hash(file.bytes)).toBe(hash(BYTES))
  })

  test('that never recovers causes an error with both numbers, and the chunks are kept', async () => {
    const onProgress = () => {
      if (file.chunks.size > 0) server.behaviour.cutAfter = 10
    }
    await expect(bring({ onProgress, attempts: 3 })).rejects.toMatchObject({
      code: 'network',
      message: expect.stringMatching(/m\.gguf stopped after 10 of \d+ bytes.*load it again/),
    })
    expect(file.chunks.size).toBeGreaterThan(0)
  })

  test('without the file does not cause an error here', async () => {
    server.files.clear()
    expect(await bring()).toBeUndefined()
  })
})

describe('a server without ranges', () => {
  beforeEach(() => {
    server.behaviour.ranges = false
  })

  test.each([
    ['with a length', {}],
    ['without a length', { length: false }],
    ['that compresses', { gzip: true }],
  ])('%s sends the whole file', async (_, behaviour) => {
    Object.assign(server.behaviour, behaviour)
    expect((await bring())?.size).toBe(SIZE)
    expect(hash(file.bytes.subarray(0, SIZE))).toBe(hash(BYTES))
    expect(server.requests).toHaveLength(1)
  })

  test('starts again after a disconnect', async () => {
    Object.assign(server.behaviour, { cutAfter: 5_000_000, cuts: 2 })
    expect((await bring())?.size).toBe(SIZE)
    expect(hash(file.bytes)).toBe(hash(BYTES))
    expect(server.requests).toHaveLength(3)
  })

  test('an empty file downloads as an empty file', async () => {
    server.files.set('m.gguf', new Uint8Array())
    server.behaviour.ranges = true
    expect(await bring()).toEqual({ size: 0, etag: '"1"' })
  })
})

test('for a complete file, the byte that checks its version has the same time limit as any body', async () => {
  const version = await bring()
  Object.assign(server.behaviour, { stalls: true, stallsAfter: 0 })
  server.requests.length = 0
  expect(await bring({ stallMs: 500 })).toEqual(version)
  expect(server.requests).toHaveLength(1)
})

test('an abort ends every connection and keeps the chunks', async () => {
  const enough = new AbortController()
  const reason = new Error('enough')
  server.behaviour.stalls = true
  server.behaviour.onRequest = () => void queueMicrotask(() => enough.abort(reason))
  const waiting = bring({ signal: enough.signal })
  await expect(waiting).rejects.toBe(reason)
})

test('bodies reuse one buffer, whether they are read to the end or abandoned', async () => {
  const spare: ArrayBuffer[] = []
  for (const isLeft of [false, true, false]) {
    for await (const piece of pieces('m.gguf', new Response(BYTES), { spare })) {
      expect(spare).toEqual([])
      if (isLeft && piece.byteLength > 0) break
    }
    expect(spare.map(({ byteLength }) => byteLength)).toEqual([256 << 10])
  }
})
