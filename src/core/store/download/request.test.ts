// Tests requests. In: responses made by the tests. Out: requests, truncated bodies, closed connections.
import { describe, expect, test, vi } from 'vitest'
import { pieces, request, tryRange } from './request.ts'

const URL = 'https://example.org/a.gguf'
test('range requests bypass the browser’s cache, which mixes versions; whole files do not', async () => {
  const fetched = vi.fn(async () => new Response('ten bytes!'))
  vi.stubGlobal('fetch', fetched)
  await request(URL, { headers: { Authorization: 'Bearer x' } }, { start: 5, length: 10 })
  expect(fetched).toHaveBeenLastCalledWith(URL, {
    cache: 'no-store',
    headers: { Authorization: 'Bearer x', Range: 'bytes=5-14' },
    signal: null,
  })
  await request(URL)
  expect(fetched).toHaveBeenLastCalledWith(URL, { headers: {}, signal: null })
})

test.each(['chrome-extension://abc/m.hbm', 'app://bundle/m.hbm', 'blob:https://example.org/1'])(
  'no range is requested from %s, which would respond with status 200 and part of the file',
  async (url) => {
    const fetched = vi.fn(async () => new Response('a part'))
    vi.stubGlobal('fetch', fetched)
    expect(await tryRange(url, {}, { start: 0, length: 6 })).toBe('refused')
    expect(fetched).not.toHaveBeenCalled()
  },
)

describe('a body', () => {
  const answer = (bytes: number, says: number, type?: ResponseType): Response => {
    const response = new Response(new Uint8Array(bytes), { headers: { 'content-length': String(says) } })
    return type === undefined ? response : Object.defineProperty(response, 'type', { value: type })
  }
  const lengthOf = async (response: Response): Promise<number> => {
    let length = 0
    for await (const piece of pieces(URL, response)) length += piece.byteLength
    return length
  }

  test('that ends before its length causes a network error with both numbers', async () => {
    await expect(lengthOf(answer(99, 100))).rejects.toMatchObject({
      code: 'network',
      message: expect.stringContaining('ended after 99 of 100 bytes'),
    })
    expect(await lengthOf(answer(100, 100))).toBe(100)
  })

  test('of another origin may be slightly shorter, because CORS hides its compression', async () => {
    expect(await lengthOf(answer(936, 1000, 'cors'))).toBe(936)
    await expect(lengthOf(answer(935, 1000, 'cors'))).rejects.toMatchObject({ code: 'network' })
  })

  test('that is abandoned midway has its connection closed', async () => {
    const cancel = vi.fn()
    const pull = (controller: ReadableStreamDefaultController) => controller.enqueue(new Uint8Array(10))
    for await (const _ of pieces(URL, new Response(new ReadableStream({ pull, cancel })))) break
    expect(cancel).toHaveBeenCalledTimes(1)
  })
})

test('an endless body causes an integrity error once it is longer than any such file', async () => {
  let pulled = 0
  const cancel = vi.fn()
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    pulled += 1 << 20
    controller.enqueue(new Uint8Array(1 << 20))
  }
  const reading = async () => {
    const response = new Response(new ReadableStream({ pull, cancel }))
    for await (const _ of pieces('https://example.org/config.json', response));
  }
  await expect(reading()).rejects.toMatchObject({
    code: 'integrity',
    message: expect.stringContaining('config.json: the server sent more than the limit of 268435456 bytes'),
  })
  expect(pulled).toBeLessThan(260 << 20)
  expect(cancel).toHaveBeenCalledTimes(1)
})

test('a body longer than announced causes an integrity error', async () => {
  const response = new Response(new Uint8Array(11), { headers: { 'Content-Length': '10' } })
  const reading = async () => {
    for await (const _ of pieces(URL, response));
  }
  await expect(reading()).rejects.toMatchObject({ code: 'integrity' })
})

test('an unrequested partial response does not count as the file', async () => {
  vi.stubGlobal('fetch', async () => new Response('part', { status: 206 }))
  await expect(request(URL)).rejects.toMatchObject({ code: 'network', detail: { status: 206 } })
})

test('the request to a server that never answers is abandoned', async () => {
  vi.stubGlobal('fetch', () => new Promise(() => undefined))
  await expect(request(URL, { stallMs: 5 })).rejects.toMatchObject({
    code: 'network',
    cause: expect.objectContaining({ message: 'no data arrived for 0.005 s' }),
  })
})
