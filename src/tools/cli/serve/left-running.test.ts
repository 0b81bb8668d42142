// Monitoring and shutdown of a server. In: probes, scrapes and stops. Out: the server's answers, in the
// formats that monitoring tools expect.
import { Agent, get } from 'node:http'
import { expect, test } from 'vitest'
import { fakeEngine } from '../../../engine/api/fake/fake-engine.ts'
import { openToy } from '../../../engine/api/testing/toy-engine.ts'
import { testServers } from '../testing/servers.ts'
import { ApiKeys } from './api-keys.ts'

const start = testServers()

async function serve(...[engine, options]: Parameters<typeof start>) {
  const serving = await start(engine, options)
  return { serving, root: serving.address.replace(/\/v1$/, '') }
}

const ask = (root: string, body: object = {}, init: RequestInit = {}) =>
  fetch(`${root}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ messages: [{ role: 'user', content: 'hello' }], temperature: 0, ...body }),
    ...init,
  })

/** An engine whose reply waits until it is released. */
async function heldEngine() {
  const begun = Promise.withResolvers<void>()
  const released = Promise.withResolvers<string>()
  const engine = await fakeEngine(() => {
    begun.resolve()
    return released.promise
  })
  return { engine, begun: begun.promise, release: () => released.resolve('done') }
}

test('a probe needs no key and no free slot', async () => {
  const { engine, begun, release } = await heldEngine()
  const { root } = await serve(engine, { keys: new ApiKeys(['secret']), maxRequests: 1 })
  const held = ask(root, {}, { headers: { authorization: 'Bearer secret' } })
  await begun
  const health = await fetch(`${root}/health`)
  expect([health.status, await health.json()]).toEqual([200, { status: 'ok' }])
  const head = await fetch(`${root}/health`, { method: 'HEAD' })
  expect([head.status, head.headers.get('content-type'), await head.text()]).toEqual([
    200,
    'application/json',
    '',
  ])
  expect((await fetch(`${root}/metrics`)).status).toBe(401)
  expect((await fetch(root)).status).toBe(401)
  release()
  expect((await held).status).toBe(200)
})

test('HEAD works wherever GET does', async () => {
  const { root } = await serve(await openToy())
  for (const path of ['', '/health', '/metrics', '/v1/models', '/v1/models/toy']) {
    const got = await fetch(`${root}${path}`)
    const head = await fetch(`${root}${path}`, { method: 'HEAD' })
    expect([head.status, head.headers.get('content-type')]).toEqual([200, got.headers.get('content-type')])
    expect(await head.text()).toBe('')
  }
})

/** Values by name and labels. Fails for a line that is not in Prometheus's format. */
async function scraped(root: string): Promise<ReadonlyMap<string, number>> {
  const answer = await fetch(`${root}/metrics`)
  expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
  const values = new Map<string, number>()
  const families = new Set<string>()
  for (const line of (await answer.text()).trimEnd().split('\n')) {
    const family = /^# TYPE ([a-z_]+) (?:counter|gauge|histogram)$/.exec(line)?.[1]
    if (family !== undefined) families.add(family)
    if (line.startsWith('#')) continue
    const [, name, labels = '', value] =
      /^([a-z_]+)(\{(?:[a-z]+="(?:[^"\\\n]|\\.)*",?)*\})? (\+Inf|[\d.e+-]+)$/.exec(line) ?? []
    expect(name, line).toBeDefined()
    expect(families).toContain(name!.replace(/_(?:bucket|sum|count)$/, ''))
    values.set(`${name}${labels}`, Number(value))
  }
  return values
}

test('requests, tokens, times and memory are counted', async () => {
  const { root } = await serve({ 'a "b"\\c': await openToy() })
  await (await ask(root)).text()
  await (await ask(root, { stream: true })).text()
  await ask(root, { n: 0 })
  await fetch(`${root}/v1/whatever?secret`)
  const values = await scraped(root)
  const count = (labels: string) => values.get(`halfbyte_http_requests_total{${labels}}`)
  expect(count('method="POST",route="/v1/chat/completions",status="200"')).toBe(2)
  expect(count('method="POST",route="/v1/chat/completions",status="400"')).toBe(1)
  expect(count('method="GET",route="other",status="404"')).toBe(1)
  const model = 'model="a \\"b\\"\\\\c"'
  expect(values.get(`halfbyte_generation_tokens_total{${model}}`)).toBe(12)
  expect(values.get(`halfbyte_prompt_tokens_total{${model}}`)).toBe(46)
  expect(values.get(`halfbyte_prompt_tokens_cached_total{${model}}`)).toBeGreaterThan(0)
  for (const name of ['time_to_first_token', 'time_per_output_token']) {
    expect(values.get(`halfbyte_${name}_seconds_count{${model}}`)).toBe(2)
    expect(values.get(`halfbyte_${name}_seconds_bucket{${model},le="+Inf"}`)).toBe(2)
  }
  expect(values.get('halfbyte_http_request_duration_seconds_count{route="/v1/chat/completions"}')).toBe(3)
  expect(values.get('halfbyte_requests_running')).toBe(0)
  expect(values.get('halfbyte_requests_limit')).toBe(64)
  expect(values.get(`halfbyte_model_memory_bytes{${model},holds="running_state"}`)).toBe(0)
  expect(values.get('process_resident_memory_bytes')).toBeGreaterThan(1e6)
  expect([...values.keys()].join()).not.toContain('secret')
})

test('a scrape counts the requests in progress', async () => {
  const { engine, begun, release } = await heldEngine()
  const { root } = await serve(engine)
  const held = ask(root)
  await begun
  expect((await scraped(root)).get('halfbyte_requests_running')).toBe(1)
  release()
  await (await held).text()
  expect((await scraped(root)).get('halfbyte_requests_running')).toBe(0)
})

/** The status of a request on a keep-alive connection. */
const statusOn = (agent: Agent, address: string): Promise<number | string> =>
  new Promise((resolve) => {
    get(address, { agent }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode!))
    }).on('error', ({ message }) => resolve(message))
  })

test('stopping lets a running reply finish, accepts nothing else, and frees the port', async () => {
  const { engine, begun, release } = await heldEngine()
  const { serving, root } = await serve(engine)
  const agent = new Agent({ keepAlive: true })
  const held = ask(root)
  await begun
  const stopped = serving.stop(60_000)
  expect(await statusOn(agent, `${root}/health`)).toMatch(/ECONNREFUSED|ECONNRESET|hang up/)
  expect(serving.open).toBe(1)
  release()
  const answer = await held
  expect(answer.headers.get('connection')).toBe('close')
  expect((await answer.json()).choices[0].message.content).toBe('done')
  expect(await stopped).toBe(0)
  agent.destroy()
})

test('a reply that outlasts the stop timeout is aborted', async () => {
  const { engine, begun } = await heldEngine()
  const { serving, root } = await serve(engine)
  const held = ask(root).catch((error: unknown) => error)
  await begun
  expect(await serving.stop(20)).toBe(1)
  expect(await held).toBeInstanceOf(TypeError)
})
