// Shared engines. In: several tabs in one process, each with the real service over a toy model. Out: whether
// one engine answers all of them, and what happens when it is lost.
import { afterEach, expect, test, vi } from 'vitest'
import { turns } from '../../../../test/helpers/turns.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { givenPlace } from '../../../core/formats/names/named-files.ts'
import { createService } from '../../service.ts'
import { DEAD_POOL, toyModel } from '../../testing/toy-model.ts'
import { type Connection, localConnection } from '../../wire/connection.ts'
import { Engine } from '../engine.ts'
import { errorOf, PLAIN } from '../testing/toy-engine.ts'
import { localHost } from './local-host.ts'
import { readMessage, TABS_VERSION, type TabMessage } from './tab-messages.ts'
import { endingWith, TabService } from './tab-service.ts'

const REQUEST = {
  source: givenPlace('toy'),
  threads: 1,
  build: 'auto',
  weights: 'auto',
  cache: 'none',
  assets: {},
} as const

/** Every token is about as likely as any other. */
const FLAT = { temperature: 100, topK: 0, topP: 1, minP: 0, repeatPenalty: 1, speculation: 'off' } as const

let names = 0
const tabs: TabService[] = []

afterEach(() => {
  for (const tab of tabs.splice(0)) tab.leave()
  vi.restoreAllMocks()
})

interface Tab {
  readonly engine: Engine
  readonly tab: TabService
}

/** Loading a model takes several turns of the event loop, during which requests arrive. */
async function slowToy(): Promise<ReturnType<typeof toyModel>> {
  await turns(50)
  return toyModel()
}

/** A connection to a worker that can be killed. */
function mortal(connection: Connection): { readonly connection: Connection; kill(): void } {
  const listeners: ((why: string) => void)[] = []
  return {
    connection: { ...connection, onDeath: (listener) => void listeners.push(listener) },
    kill: () => {
      for (const listener of listeners) listener('it ended')
    },
  }
}

/**
 * Opens tabs one after the other; `loads` counts loaded models. `shift`: added to the seeds with each load,
 * so that a later engine draws differently. `kill` ends the worker of the last load.
 */
function site({ load = slowToy, shift = 0 } = {}) {
  const name = `test ${names++}`
  const loads: number[] = []
  let kill = () => {}
  const open = async (): Promise<Tab> => {
    const index = tabs.length
    const tab = new TabService(name, (onProgress, onDeath) => {
      loads.push(index)
      const worker = mortal(localConnection(createService(load)))
      kill = worker.kill
      const host = localHost(worker.connection, REQUEST, { onProgress, onDeath, onNeed: () => undefined })
      const added = shift * loads.length
      return {
        ...host,
        generate: (request, sink) => {
          const { seed = 0 } = request.options
          return host.generate({ ...request, options: { ...request.options, seed: seed + added } }, sink)
        },
      }
    })
    tabs.push(tab)
    return { tab, engine: await Engine.open(endingWith(localConnection(tab.service), tab), 'toy') }
  }
  return { open, loads, name, kill: () => kill() }
}

const reply = ({ engine }: Tab, maxTokens = 12) =>
  engine.createSession().send('hello world', { ...PLAIN, maxTokens })

test('two tabs load one model, and both get the same answers', async () => {
  const { open, loads } = site()
  const first = await open()
  const second = await open()
  expect(loads).toHaveLength(1)
  expect(second.engine.model).toEqual(first.engine.model)
  const texts = await Promise.all([reply(first).text(), reply(second).text()])
  expect(texts[0]).not.toBe('')
  expect(texts[1]).toBe(texts[0])
  expect(await second.engine.countTokens('hello')).toBe(await first.engine.countTokens('hello'))
  expect((await second.engine.embed(['hello']))[0]).toEqual((await first.engine.embed(['hello']))[0])
})

test('sessions of two tabs with the same number do not interfere', async () => {
  const { open } = site()
  const first = await open()
  const second = await open()
  const mine = first.engine.createSession()
  const theirs = second.engine.createSession()
  await mine.send('hello world', { ...PLAIN, maxTokens: 4 }).result
  await theirs.send('the river goes to the sea', { ...PLAIN, maxTokens: 4 }).result
  const again = await (await open()).engine
    .createSession({ messages: [...mine.messages] })
    .send('the sea', { ...PLAIN, maxTokens: 6 })
    .text()
  expect(await mine.send('the sea', { ...PLAIN, maxTokens: 6 }).text()).toBe(again)
})

test('when the leader leaves, the next tab loads the model and answers', async () => {
  const { open, loads } = site()
  const first = await open()
  const second = await open()
  const third = await open()
  const text = await reply(second).text()
  first.tab.leave()
  expect(await reply(second).text()).toBe(text)
  expect(await reply(third).text()).toBe(text)
  expect(loads).toHaveLength(2)
})

test('a running reply continues where it stopped when the leader leaves', async () => {
  const { open, loads } = site()
  const first = await open()
  const second = await open()
  const options = { maxTokens: 60, temperature: 1, seed: 5, speculation: 'off' } as const
  const whole = await first.engine.createSession().send('hello world', options).text()
  const generation = second.engine.createSession().send('hello world', options)
  let text = ''
  for await (const chunk of generation) {
    text += chunk.text
    if (loads.length === 1 && text.length > 3) first.tab.leave()
  }
  expect(loads).toHaveLength(2)
  expect(text).toBe(whole)
  expect((await generation.result).text).toBe(whole)
})

test('a reply that the next leader would continue differently fails with a typed error', async () => {
  const { open } = site({ shift: 1 })
  const first = await open()
  const second = await open()
  const options = { ...FLAT, maxTokens: 60, seed: 5 } as const
  const generation = second.engine.createSession().send('hello world', options)
  const taken: string[] = []
  const run = (async () => {
    for await (const { text } of generation) {
      taken.push(text)
      if (taken.length === 3) first.tab.leave()
    }
  })()
  expect(await errorOf(run)).toMatchObject({ code: 'disposed', message: expect.stringMatching(/ask again$/) })
})

test('a reply that kills the engine fails alone, and the next tab loads the model for all', async () => {
  const { open, loads } = site()
  const tabs = [await open(), await open(), await open()] as const
  const text = await reply(tabs[0]).text()
  const deadly = tabs[1].engine.createSession().send(`hello ${DEAD_POOL}`, { ...PLAIN, maxTokens: 12 })
  expect(await errorOf(deadly.result)).toMatchObject({ code: 'internal' })
  for (const tab of tabs) expect(await reply(tab).text()).toBe(text)
  expect(loads).toEqual([0, 1])
  tabs[1].tab.leave()
  expect(await reply(tabs[0]).text()).toBe(text)
  expect(await reply(tabs[2]).text()).toBe(text)
  expect(loads).toHaveLength(3)
})

test('each time its worker dies, a single tab loads the model again on the next request', async () => {
  const { open, loads, kill } = site()
  const only = await open()
  const text = await reply(only).text()
  for (const count of [1, 2]) {
    const session = only.engine.createSession()
    const running = session.send('hello world', { ...PLAIN, maxTokens: 400 })
    for await (const _ of running) {
      kill()
      break
    }
    expect(await errorOf(running.result)).toMatchObject({ code: 'internal' })
    await session.dispose()
    expect(loads, 'nobody has asked').toHaveLength(count)
    expect(await reply(only).text()).toBe(text)
    expect(loads).toHaveLength(count + 1)
  }
})

test('other tabs learn from the next engine that a worker died between replies', async () => {
  const { open, loads, kill } = site()
  const tabs = [await open(), await open()] as const
  const text = await reply(tabs[1]).text()
  kill()
  expect(await Promise.all(tabs.map((tab) => reply(tab).text()))).toEqual([text, text])
  expect(loads).toHaveLength(2)
})

test('a tab that could not take over tries again on the next request', async () => {
  let isOnline = true
  const load = async () => {
    if (!isOnline) throw new HalfbyteError('network', 'nobody answers')
    return slowToy()
  }
  const { open, loads } = site({ load })
  const first = await open()
  const second = await open()
  const text = await reply(second).text()
  isOnline = false
  first.tab.leave()
  expect(await errorOf(reply(second).result)).toMatchObject({ code: 'network' })
  isOnline = true
  expect(await reply(second).text()).toBe(text)
  expect(loads).toHaveLength(3)
})

test('a failed load is reported to every waiting tab, with its code', async () => {
  const load = async () => {
    throw new HalfbyteError('out-of-memory', 'the model needs more than there is')
  }
  const { open } = site({ load })
  const errors = await Promise.all([errorOf(open()), errorOf(open())])
  for (const error of errors) expect(error).toMatchObject({ name: 'HalfbyteError', code: 'out-of-memory' })
})

test('a worker that the browser rejects is reported with its code, and nothing hangs', async () => {
  const tab = new TabService(`test ${names++}`, () => {
    throw new HalfbyteError('worker', 'the browser refused to start a worker')
  })
  tabs.push(tab)
  const opening = Engine.open(endingWith(localConnection(tab.service), tab), 'toy')
  expect(await errorOf(opening)).toMatchObject({ code: 'worker' })
})

test('an aborted call of another tab rejects with the reason, and cancelling reaches the leader', async () => {
  const { open } = site()
  await open()
  const second = await open()
  const generation = reply(second, 400)
  for await (const _ of generation) break
  expect((await generation.result).finishReason).toBe('cancelled')
  const stop = new AbortController()
  const embedding = second.engine.embed(['hello'.repeat(20)], { signal: stop.signal })
  stop.abort(new Error('enough'))
  expect(await errorOf(embedding)).toMatchObject({ message: 'enough' })
})

const channelOf = (name: string) => new BroadcastChannel(`halfbyte tabs ${TABS_VERSION} ${name}`)

test('whatever is sent on the channel, the tabs keep answering, and there are no uncaught errors', async () => {
  const { open, name } = site()
  const first = await open()
  const second = await open()
  const text = await reply(first).text()
  const channel = channelOf(name)
  const garbage: unknown[] = [
    null,
    5,
    'x',
    [],
    {},
    { type: 'who' },
    { from: 'x' },
    { from: {}, type: 'call' },
  ]
  for (const type of ['call', 'abort', 'answer', 'refused', 'progress', 'generate', 'command', 'report'])
    garbage.push({ from: 'x', type }, { from: 'x', type, id: 1 }, { from: 'x', type, id: {} })
  for (const message of garbage) channel.postMessage(message)
  expect(await reply(second).text()).toBe(text)
  expect(await reply(first).text()).toBe(text)
  channel.close()
})

test('a request that cannot be read is rejected with a reason', async () => {
  const { open, name } = site()
  await open()
  const channel = channelOf(name)
  const heard = (id: number) =>
    new Promise<TabMessage>((resolve) =>
      channel.addEventListener('message', ({ data }) => data.to === 'x' && data.id === id && resolve(data)),
    )
  const both = [heard(1), heard(2)]
  channel.postMessage({ from: 'x', type: 'call', id: 1, name: 'fork', args: ['a'] })
  channel.postMessage({ from: 'x', type: 'generate', id: 2, request: 5 })
  const failure = { type: 'halfbyte', error: { code: 'unsupported' } }
  expect(await Promise.all(both)).toMatchObject([
    { type: 'refused', failure },
    { type: 'report', report: { type: 'failed', failure } },
  ])
  channel.close()
})

test('a malformed answer rejects, and does not reach the caller', async () => {
  const { open, name } = site()
  const [, second] = [await open(), await open()]
  const channel = channelOf(name)
  channel.onmessage = ({ data }: MessageEvent<TabMessage>) => {
    if (data.type === 'call')
      channel.postMessage({ type: 'answer', from: data.to, to: data.from, id: data.id, value: 'x' })
  }
  expect(await errorOf(second.engine.countTokens('hello'))).toMatchObject({ code: 'internal' })
  channel.close()
})

test('a tab of a different version is neither asked nor waited for', async () => {
  const { open, name, loads } = site()
  const older = new BroadcastChannel(`halfbyte ${name}`)
  let heard = 0
  older.onmessage = () => heard++
  const held = Promise.withResolvers<void>()
  void navigator.locks.request(`halfbyte ${name}`, () => held.promise)
  expect(await reply(await open()).text()).not.toBe('')
  expect({ loads: loads.length, heard }).toEqual({ loads: 1, heard: 0 })
  held.resolve()
  older.close()
})

test('a leader that has lost its lock answers nobody, and its own calls go to the next leader', async () => {
  const { open, name, loads } = site()
  const first = await open()
  const second = await open()
  const text = await reply(first).text()
  const generation = reply(first, 40)
  const whole = generation.text()
  // What a tab does if a frozen tab does not answer its request.
  void navigator.locks
    .request(`halfbyte tabs ${TABS_VERSION} ${name}`, { steal: true }, () => undefined)
    .catch(() => undefined)
  expect(await reply(second).text()).toBe(text)
  expect((await whole).startsWith(text)).toBe(true)
  expect(loads).toHaveLength(2)
})

test.each([
  ['stands still', () => 7],
  ['jumps ahead at each reading', (reading: number) => 3_600_000 * reading],
  ['goes backwards', (reading: number) => -3_600_000 * reading],
  ['says nonsense', (reading: number) => (reading % 2 === 0 ? Number.NaN : Number.POSITIVE_INFINITY)],
])('tabs are answered, and the next one leads, on a clock that %s', async (_, clock) => {
  let readings = 0
  vi.spyOn(performance, 'now').mockImplementation(() => clock(readings++))
  const { open, loads } = site()
  const first = await open()
  const second = await open()
  const text = await reply(second).text()
  expect(text).toBe(await reply(first).text())
  first.tab.leave()
  expect(await reply(second).text()).toBe(text)
  expect(loads).toHaveLength(2)
})

test('a message has ids of at most 64 characters', () => {
  const id = 'x'.repeat(64)
  expect(readMessage({ type: 'ping', from: id, to: id })).toMatchObject({ type: 'ping' })
  for (const wrong of [`${id}x`, '', 7]) {
    expect(readMessage({ type: 'ping', from: wrong })).toBeUndefined()
    expect(readMessage({ type: 'ping', from: id, to: wrong })).toBeUndefined()
  }
})
