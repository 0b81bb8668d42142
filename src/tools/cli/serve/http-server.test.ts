// The HTTP server. In: OpenAI's own client and plain requests on a toy model. Out: answers, and which
// requests are rejected.
import { request } from 'node:http'
import { connect } from 'node:net'
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { fakeEngine } from '../../../engine/api/fake/fake-engine.ts'
import { openToy } from '../../../engine/api/testing/toy-engine.ts'
import { toyModel } from '../../../engine/testing/toy-model.ts'
import { testServers } from '../testing/servers.ts'
import { ApiKeys } from './api-keys.ts'
import type { ServeOptions } from './http-server.ts'
import type { RequestLine } from './metrics.ts'

const start = testServers()

const served = async (options: Partial<ServeOptions> = {}, toy = toyModel()): Promise<string> =>
  (await start(await openToy(toy), options)).address

const clientOf = (baseURL: string, apiKey = 'none') => new OpenAI({ apiKey, baseURL, maxRetries: 0 })
const said = (content: string) => ({
  model: 'toy',
  messages: [{ role: 'user' as const, content }],
  temperature: 0,
})

test("OpenAI's client gets whole and streamed replies, and the model", async () => {
  const client = clientOf(await served())
  const { choices } = await client.chat.completions.create(said('hello'))
  expect(choices[0]?.message.content).toBe('You said hello')
  const parts: string[] = []
  for await (const chunk of await client.chat.completions.create({ ...said('hällo'), stream: true }))
    parts.push(chunk.choices[0]?.delta.content ?? '')
  expect(parts.join('')).toBe('You said hällo')
  expect(parts.filter((part) => part !== '').length).toBeGreaterThan(1)
  expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['toy'])
})

test('twenty requests at once each get their own reply', async () => {
  const lines: RequestLine[] = []
  const client = clientOf(await served({ onRequest: (line) => lines.push(line) }))
  const replies = await Promise.all(
    Array.from({ length: 20 }, (_, at) => client.chat.completions.create(said(`number ${at}`))),
  )
  expect(replies.map(({ choices }) => choices[0]?.message.content)).toEqual(
    Array.from({ length: 20 }, (_, at) => `You said number ${at}`),
  )
  expect(lines.map(({ method, path, status }) => `${method} ${path} ${status}`)).toEqual(
    Array(20).fill('POST /v1/chat/completions 200'),
  )
})

test('an invalid request gets the reason, and the next request an answer', async () => {
  const address = await served()
  const wrong = await fetch(`${address}/chat/completions`, { method: 'POST', body: '{' })
  expect(wrong.status).toBe(400)
  expect(await wrong.json()).toMatchObject({ error: { type: 'invalid_request_error' } })
  expect((await fetch(`${address}/nothing`)).status).toBe(404)
  expect((await fetch(`${address}/models`)).status).toBe(200)
})

test('without the key a request is rejected', async () => {
  const address = await served({ keys: new ApiKeys(['secret']) })
  await expect(clientOf(address, 'guess').models.list()).rejects.toMatchObject({ status: 401 })
  expect((await clientOf(address, 'secret').models.list()).data).toHaveLength(1)
})

test('pages are answered only if their origin is allowed', async () => {
  const address = await served({ origins: ['http://localhost:5173'] })
  const from = (origin: string, method: string) =>
    fetch(`${address}/models`, {
      method,
      headers: { origin, 'access-control-request-headers': 'authorization' },
    })
  expect((await from('https://example.org', 'GET')).status).toBe(403)
  const asked = await from('http://localhost:5173', 'OPTIONS')
  expect([asked.status, asked.headers.get('access-control-allow-headers')]).toEqual([204, 'authorization'])
  const answered = await from('http://localhost:5173', 'GET')
  expect(answered.headers.get('access-control-allow-origin')).toBe('http://localhost:5173')
  const all = await fetch(`${await served({ origins: ['*'] })}/models`, {
    headers: { origin: 'https://a.test' },
  })
  expect([all.status, all.headers.get('access-control-allow-origin')]).toEqual([200, 'https://a.test'])
})

/** The status of the answer to a request for this host. Not with `fetch`, which sets the header itself. */
const statusFor = (address: string, host: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const sent = request(`${address}/models`, { headers: { host } }, (answer) => {
      answer.resume()
      resolve(answer.statusCode)
    })
    sent.once('error', reject).end()
  })

test('a foreign host name that resolves to this machine is rejected', async () => {
  const address = await served()
  expect(await statusFor(address, 'evil.example:80')).toBe(403)
  expect(await statusFor(address, 'localhost:1')).toBe(200)
})

/** A request whose body begins but never ends. */
function unfinished(address: string) {
  const sent = request(`${address}/chat/completions`, { method: 'POST' })
  sent.on('error', () => undefined).write('{')
  return sent
}

test('requests beyond the limit get an error that says to retry later', async () => {
  const begun = Promise.withResolvers<void>()
  const released = Promise.withResolvers<string>()
  await using engine = await fakeEngine(() => {
    begun.resolve()
    return released.promise
  })
  const serving = await start(engine, { maxRequests: 1 })
  const held = clientOf(serving.address).chat.completions.create(said('hello'))
  await begun.promise
  const refused = await fetch(`${serving.address}/models`)
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
  released.resolve('hi')
  expect((await held).choices[0]?.message.content).toBe('hi')
  expect((await fetch(`${serving.address}/models`)).status).toBe(200)
})

test('requests whose body never ends take no slot, and are closed after a timeout', async () => {
  const lines: RequestLine[] = []
  const address = await served({
    maxRequests: 1,
    limits: { bodies: { stallMilliseconds: 500 } },
    onRequest: (line) => lines.push(line),
  })
  const silent = Array.from({ length: 5 }, () => unfinished(address))
  const ends = silent.map((sent) => new Promise((resolve) => sent.once('close', resolve)))
  const { choices } = await clientOf(address).chat.completions.create(said('hello'))
  expect(choices[0]?.message.content).toBe('You said hello')
  await Promise.all(ends)
  expect(lines.map(({ status }) => status).sort()).toEqual([200, 408, 408, 408, 408, 408])
})

/** The status line of the answer to these bytes. */
const answerTo = (address: string, bytes: string): Promise<string> =>
  new Promise((resolve, reject) => {
    let got = ''
    const socket = connect(Number(new URL(address).port), '127.0.0.1', () => socket.write(bytes))
    socket.setEncoding('latin1').on('data', (text) => {
      got += text
    })
    socket.once('close', () => resolve(got.split('\r\n', 1)[0] ?? ''))
    socket.once('error', reject)
  })

test.each([
  ['an invalid target', 'GET http://[ HTTP/1.1', 400],
  ['a method for proxies', 'TRACE /v1/models HTTP/1.1', 400],
  ['a tunnel', 'CONNECT example.org:443 HTTP/1.1', 400],
  ['no method', '/v1/models HTTP/1.1', 400],
  ['another protocol', 'GET /v1/models FTP/1.1', 400],
  ['an invalid percent escape', 'GET /v1/%ZZ HTTP/1.1', 404],
  ['a host in the target', 'GET http://example.org/v1/models HTTP/1.1', 200],
])('a request line with %s is answered', async (_, line, status) => {
  const address = await served()
  const bytes = `${line}\r\nhost: localhost\r\nconnection: close\r\n\r\n`
  expect(await answerTo(address, bytes)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
})

test('a client that disconnects ends its reply, and closing ends all replies in progress', async () => {
  const lines: RequestLine[] = []
  const serving = await start(await openToy(), { onRequest: (line) => lines.push(line) })
  const stream = async (signal?: AbortSignal) => {
    const parameters = { ...said('word '.repeat(50)), stream: true as const }
    const chunks = await clientOf(serving.address).chat.completions.create(parameters, { signal })
    return chunks[Symbol.asyncIterator]()
  }
  const leaving = new AbortController()
  await (await stream(leaving.signal)).next()
  leaving.abort()
  const cut = await stream()
  await cut.next()
  await serving.close()
  const rest = async () => {
    while ((await cut.next()).done !== true);
  }
  await rest().catch(() => undefined)
  expect(lines).toHaveLength(2)
  await expect(fetch(`${serving.address}/models`)).rejects.toThrow()
})

test('a port that another program uses is reported with what to do', async () => {
  const port = Number(new URL(await served()).port)
  await expect(served({ port })).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringMatching(new RegExp(`^port ${port} of 127.0.0.1: .*--port`)),
  })
})
