// Models of the store over HTTP. In: requests by name, at the same time, aborted, for unknown models. Out:
// the model that answers, and how many are in memory at once.
import { expect, test } from 'vitest'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { openToy } from '../../../engine/api/testing/toy-engine.ts'
import { toyModel } from '../../../engine/testing/toy-model.ts'
import { testServers } from '../testing/servers.ts'
import { StoredEngines } from './stored-engines.ts'

const start = testServers()

/** A server of toys, and what happened to them. */
async function served(names: readonly string[] = ['a/a', 'b'], broken = '') {
  const events: string[] = []
  let inMemory = 0
  let most = 0
  const models = new StoredEngines({
    list: async () => names,
    find: async (name) => names.find((each) => each === name || each.endsWith(`/${name}`)),
    async load(name) {
      if (name === broken) throw new HalfbyteError('format', 'it is damaged')
      const engine = await openToy(toyModel())
      events.push(`load ${name}`)
      most = Math.max(most, ++inMemory)
      const dispose = engine.dispose.bind(engine)
      engine.dispose = async () => {
        events.push(`dispose ${name}`)
        inMemory--
        await dispose()
      }
      return engine
    },
  })
  const { address } = await start(models)
  const say = (model: string | undefined, content = 'hello', more: object = {}, init: RequestInit = {}) =>
    fetch(`${address}/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model, messages: [{ role: 'user', content }], temperature: 0, ...more }),
      ...init,
    })
  return { address, say, events, most: () => most, models }
}

test('a request loads the model that it names, under that name, and the next one replaces it', async () => {
  const { say, events, most } = await served()
  for (const [name, listed] of [
    ['a/a', 'a/a'],
    ['a', 'a/a'],
    ['b', 'b'],
  ]) {
    const answer = await (await say(name)).json()
    expect(answer).toMatchObject({ model: listed, choices: [{ message: { content: 'You said hello' } }] })
  }
  expect(events).toEqual(['load a/a', 'dispose a/a', 'load b'])
  expect(most()).toBe(1)
})

test('a request without a name goes to the model in memory, at first to the one used last', async () => {
  const { say, events } = await served()
  expect((await (await say(undefined)).json()).model).toBe('a/a')
  await say('b')
  expect((await (await say(undefined)).json()).model).toBe('b')
  expect(events).toEqual(['load a/a', 'dispose a/a', 'load b'])
})

test('requests for several models at once are all answered, with one model in memory', async () => {
  const { say, events, most } = await served()
  const asked = Array.from({ length: 8 }, (_, at) => (at % 3 === 0 ? 'b' : 'a/a'))
  const answers = await Promise.all(
    asked.map(async (name, at) => (await say(name, `number ${at}`, { stream: at % 2 === 0 })).text()),
  )
  for (const [at, answer] of answers.entries()) expect(answer).toContain(`"model":"${asked[at]}"`)
  expect(most()).toBe(1)
  expect(events.filter((event) => event.startsWith('load')).length).toBeLessThanOrEqual(8)
})

test('requests that share a model are answered together, and a stream is finished before it is replaced', async () => {
  const { say, events } = await served()
  const stream = await say('a/a', 'a long story', { stream: true })
  const other = say('b')
  const text = await stream.text()
  expect(text).toContain('data: [DONE]')
  expect((await (await other).json()).model).toBe('b')
  expect(events).toEqual(['load a/a', 'dispose a/a', 'load b'])
})

test('a client that leaves in the middle of a stream frees the model', async () => {
  const { say, events } = await served()
  const gone = new AbortController()
  const stream = await say('a/a', 'word '.repeat(200), { stream: true }, { signal: gone.signal })
  await stream.body?.getReader().read()
  gone.abort()
  expect((await (await say('b')).json()).model).toBe('b')
  expect(events).toEqual(['load a/a', 'dispose a/a', 'load b'])
})

test('an unknown model gets 404 and the names, and the list has them all', async () => {
  const { address, say, events } = await served()
  const answer = await say('c')
  expect(answer.status).toBe(404)
  expect((await answer.json()).error).toMatchObject({
    code: 'model_not_found',
    param: 'model',
    message: 'the model "c" is not served here; use a/a or b',
  })
  expect((await say(5 as never)).status).toBe(404)
  const list = await (await fetch(`${address}/models`)).json()
  expect(list.data.map(({ id }: { id: string }) => id)).toEqual(['a/a', 'b'])
  for (const path of ['models/a%2Fa', 'models/a/a'])
    expect(await (await fetch(`${address}/${path}`)).json()).toMatchObject({ id: 'a/a', object: 'model' })
  expect((await fetch(`${address}/models/c`)).status).toBe(404)
  for (const method of ['GET', 'POST'])
    expect((await fetch(`${address}/nothing`, { method })).status).toBe(404)
  expect(events).toEqual([])
})

test('a model that cannot be loaded gets its error, and the others still answer', async () => {
  const { say } = await served(['a', 'b'], 'b')
  const answer = await say('b')
  expect(answer.status).toBe(500)
  expect((await answer.json()).error.message).toBe('it is damaged')
  expect((await say('a')).status).toBe(200)
  expect((await fetch((await served()).address.replace('/v1', '/metrics'))).status).toBe(200)
})

test('an invalid body gets 400', async () => {
  const { address, models } = await served()
  const answer = await fetch(`${address}/chat/completions`, { method: 'POST', body: '{' })
  expect(answer.status).toBe(400)
  expect(await models.memory()).toEqual([])
})
