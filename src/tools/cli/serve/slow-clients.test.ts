// Slow clients, and too many of them. In: sockets that read or send slowly or not at all. Out: the server's
// answers to them and to others.
import { connect, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { fakeEngine } from '../../../engine/api/fake/fake-engine.ts'
import { openToy } from '../../../engine/api/testing/toy-engine.ts'
import { testServers } from '../testing/servers.ts'

const start = testServers()
const sockets: Socket[] = []

// Hooks run in reverse, so sockets end before the servers close.
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})

const serve = async (...args: Parameters<typeof start>) => (await start(...args)).address

/** A connection that sends these bytes and reads nothing. */
function silent(address: string, bytes: string): Promise<Socket> {
  const socket = connect(Number(new URL(address).port), '127.0.0.1')
  sockets.push(socket)
  socket.pause()
  return new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.write(bytes, () => resolve(socket.off('error', reject).on('error', () => undefined)))
  })
}

const HEAD = 'POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n'
function request(body: object): string {
  const text = JSON.stringify({ messages: [{ role: 'user', content: 'hello' }], temperature: 0, ...body })
  return `${HEAD}content-length: ${text.length}\r\n\r\n${text}`
}

async function said(address: string): Promise<string> {
  const body = JSON.stringify({ messages: [{ role: 'user', content: 'hello' }], temperature: 0 })
  const answer = await fetch(`${address}/chat/completions`, { method: 'POST', body })
  return answer.status === 200 ? (await answer.json()).choices[0].message.content : `status ${answer.status}`
}

/** Reads to the end of the connection. */
const rest = (socket: Socket): Promise<string> =>
  new Promise((resolve) => {
    let text = ''
    socket.setEncoding('latin1').on('data', (piece) => {
      text += piece
    })
    socket.once('close', () => resolve(text))
    socket.resume()
  })

test('two hundred clients that read nothing occupy no slot', async () => {
  const ended = Promise.withResolvers<void>()
  let count = 0
  const serving = await start(await openToy(), {
    maxRequests: 1,
    onRequest: ({ status }) => {
      expect(status).toBe(200)
      if (++count === 200) ended.resolve()
    },
  })
  for (let client = 0; client < 200; client++) {
    const socket = await silent(serving.address, request({ stream: client % 2 === 0 }))
    // The next client connects once the answer has begun to arrive, because the slot is then free.
    await new Promise((resolve) => socket.once('readable', resolve))
    while (serving.open > 0) await new Promise((resolve) => setImmediate(resolve))
  }
  await ended.promise
  expect(await said(serving.address)).toBe('You said hello')
})

/** More bytes than fit into the socket buffers between two programs on one machine. */
const LONG = 24 << 20

test('a client that stops reading a long answer is disconnected, but not one that reads slowly', async () => {
  const lines: number[] = []
  const engine = await fakeEngine(({ options }) => (options.maxTokens === 2 ? 'x'.repeat(LONG) : 'short'))
  const address = await serve(engine, {
    maxRequests: 2,
    limits: { readMilliseconds: 400 },
    onRequest: ({ milliseconds }) => lines.push(milliseconds),
  })
  const asleep = await silent(address, request({ max_tokens: 2 }))
  const slow = await silent(address, request({ max_tokens: 2 }))
  let bytes = 0
  const whole = new Promise<void>((resolve) => {
    const read = () => {
      const piece: Buffer | null = slow.read(Math.min(LONG >> 4, slow.readableLength))
      bytes += piece?.byteLength ?? 0
      if (bytes >= LONG) resolve()
      else setTimeout(read, 20)
    }
    read()
  })
  const closed = new Promise<void>((resolve) => asleep.once('close', () => resolve()))
  // The slow client's request may end first.
  await expect.poll(() => lines.some((milliseconds) => milliseconds >= 400), { timeout: 20_000 }).toBe(true)
  expect(await said(address)).toBe('short')
  await whole
  expect(bytes).toBeGreaterThanOrEqual(LONG)
  asleep.resume()
  await closed
})

test('requests whose headers never end get status 408', async () => {
  const address = await serve(await openToy(), { limits: { headersMilliseconds: 200 } })
  const socket = await silent(address, `${HEAD}x-slow: `)
  expect(await rest(socket)).toMatch(/^HTTP\/1\.1 408 /)
})

test('two hundred requests whose body never ends get status 408, and others are answered meanwhile', async () => {
  const address = await serve(await openToy(), {
    maxRequests: 1,
    limits: { bodies: { stallMilliseconds: 1000 } },
  })
  const clients: Socket[] = []
  for (let client = 0; client < 200; client++)
    clients.push(await silent(address, `${HEAD}content-length: 100\r\n\r\n{"mes`))
  expect(await said(address)).toBe('You said hello')
  const answers = await Promise.all(clients.map(rest))
  for (const answer of answers) {
    expect(answer).toMatch(/^HTTP\/1\.1 408 /)
    expect(answer).toContain('"code":"request_timeout"')
  }
})

test('requests on connections beyond the limit get status 503 until one closes', async () => {
  const address = await serve(await openToy(), { maxConnections: 2 })
  const [first] = [await silent(address, ''), await silent(address, '')]
  const refused = await silent(address, request({}))
  const answer = await rest(refused)
  expect(answer).toMatch(/^HTTP\/1\.1 503 /)
  expect(answer).toMatch(/retry-after: 1\r\n/)
  expect(answer).toMatch(/connection: close\r\n/)
  first!.destroy()
  await expect.poll(() => said(address)).toBe('You said hello')
})
