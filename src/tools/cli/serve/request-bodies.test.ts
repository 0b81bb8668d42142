// Bodies of requests. In: streams that stall, end early or are too long, and a clock that the test advances.
// Out: the bytes, or the reason why a body is rejected, and how many bytes are still held.
import { PassThrough, type Readable } from 'node:stream'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Refusal, unavailable } from './refusal.ts'
import { type BodyLimits, RequestBodies } from './request-bodies.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const LIMITS: BodyLimits = { bodyBytes: 64, allBytes: 100, readers: 3, stallMilliseconds: 30_000 }
const letStreamsRun = () => new Promise((resolve) => setImmediate(resolve))

async function outcome(bodies: RequestBodies, stream: Readable): Promise<string> {
  try {
    using body = await bodies.read(stream)
    return `${body.bytes.byteLength} bytes`
  } catch (error) {
    return error instanceof Refusal ? `${error.status} ${error.message}` : `left: ${error}`
  }
}

async function written(stream: PassThrough, bytes: number): Promise<void> {
  stream.write(new Uint8Array(bytes))
  await letStreamsRun()
}

test('a body is held until its request is answered', async () => {
  const bodies = new RequestBodies(LIMITS)
  const stream = new PassThrough()
  const reading = bodies.read(stream)
  stream.write('{"a":')
  stream.end('1}')
  const body = await reading
  expect([new TextDecoder().decode(body.bytes), bodies.held]).toEqual(['{"a":1}', 7])
  body[Symbol.dispose]()
  expect(bodies.held).toBe(0)
})

test('a body is rejected after a stall, and only then', async () => {
  const bodies = new RequestBodies(LIMITS)
  const stream = new PassThrough()
  const end = outcome(bodies, stream)
  for (let sent = 0; sent < 10; sent++) {
    await written(stream, 1)
    vi.advanceTimersByTime(29_999)
  }
  expect(bodies.held).toBe(10)
  vi.advanceTimersByTime(1)
  expect(await end).toMatch(/^408 the body stalled for 30 s/)
  expect([bodies.held, vi.getTimerCount()]).toEqual([0, 0])
})

test('a body above the limit for one body is rejected before it ends', async () => {
  const bodies = new RequestBodies(LIMITS)
  const stream = new PassThrough()
  const end = outcome(bodies, stream)
  await written(stream, 65)
  expect(await end).toMatch(/^400 the body is larger than/)
  expect([bodies.held, vi.getTimerCount()]).toEqual([0, 0])
})

test('if all bodies together take too much memory, the longest is dropped', async () => {
  const bodies = new RequestBodies(LIMITS)
  const long = new PassThrough()
  const short = new PassThrough()
  const ends = [outcome(bodies, long), outcome(bodies, short)]
  await written(long, 60)
  await written(short, 41)
  expect(await ends[0]).toMatch(/^429 requests of .* MiB are in progress; ask again later/)
  short.end()
  expect(await ends[1]).toBe('41 bytes')
  expect(bodies.held).toBe(0)
})

test('bytes of requests in progress count', async () => {
  const bodies = new RequestBodies(LIMITS)
  const first = new PassThrough()
  first.end(new Uint8Array(60))
  const held = await bodies.read(first)
  const stream = new PassThrough()
  const end = outcome(bodies, stream)
  await written(stream, 41)
  expect(await end).toMatch(/^429 /)
  held[Symbol.dispose]()
  const later = new PassThrough()
  later.end(new Uint8Array(41))
  expect(await outcome(bodies, later)).toBe('41 bytes')
})

test('bodies beyond the limit are rejected until a client disconnects', async () => {
  const bodies = new RequestBodies(LIMITS)
  const streams = Array.from({ length: 3 }, () => new PassThrough())
  const ends = streams.map((stream) => outcome(bodies, stream))
  await written(streams[0]!, 5)
  expect(await outcome(bodies, new PassThrough())).toMatch(/^429 3 requests are being received/)
  streams[0]!.destroy()
  expect(await ends[0]).toMatch(/^left: /)
  expect(bodies.held).toBe(0)
  const next = new PassThrough()
  next.end()
  expect(await outcome(bodies, next)).toBe('0 bytes')
  for (const stream of streams) stream.destroy()
  await Promise.all(ends)
})

test('a stopping server rejects bodies that are still being received', async () => {
  const bodies = new RequestBodies(LIMITS)
  const ends = [outcome(bodies, new PassThrough()), outcome(bodies, new PassThrough())]
  expect(bodies.readers).toBe(2)
  bodies.refuseAll(unavailable('the server is stopping'))
  expect(await Promise.all(ends)).toEqual(Array(2).fill('503 the server is stopping; ask again later'))
  expect(bodies.readers).toBe(0)
})
