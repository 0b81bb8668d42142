// Real chat models. In: TinyLlama-1.1B-Chat and MiniMind2-small, if they are set up. Out: whether they say
// what is known of them, through everything that a conversation can do.
//
// "npm run setup -- tinyllama minimind2" fetches them. Without them the tests are left out.
import { openAsBlob, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { realModel } from '../scripts/models/real-models.mjs'
import type { Engine } from '../src/api/engine.ts'
import type { LoadOptions } from '../src/api/types.ts'
import { validator } from '../src/constrain/testing/validate.ts'
import { type Files, openEngine } from './testing/node-engine.ts'

const GREEDY = { temperature: 0, maxTokens: 24, speculation: 'off' } as const
const PARIS = /Paris/
const tinyllama = realModel('tinyllama')
const minimind = realModel('minimind2')
for (const [name, path] of Object.entries({ tinyllama, minimind2: minimind }))
  if (path === undefined) console.warn(`left out: ${name} is not set up; run "npm run setup -- ${name}"`)

/** A file that is read from disk when it is needed. */
const diskFile = async (path: string): Promise<File> => new File([await openAsBlob(path)], basename(path))

async function filesOf(path: string): Promise<Files> {
  if (path.endsWith('.gguf')) return [await diskFile(path)]
  return Promise.all(readdirSync(path).map((name) => diskFile(join(path, name))))
}

async function withEngine<T>(
  path: string | undefined,
  options: LoadOptions,
  use: (engine: Engine) => Promise<T>,
): Promise<T> {
  const engine = await openEngine(await filesOf(path!), { contextLength: 512, ...options })
  try {
    return await use(engine)
  } finally {
    await engine.dispose()
  }
}

describe.skipIf(tinyllama === undefined)('TinyLlama-1.1B-Chat', () => {
  let engine: Engine
  beforeAll(async () => {
    engine = await openEngine(await filesOf(tinyllama!), { contextLength: 512 })
  }, 300_000)
  afterAll(() => engine?.dispose())

  test('knows a capital, and goes on from there without reading the beginning again', async () => {
    await using session = engine.createSession()
    expect(await session.send('What is the capital of France?', GREEDY).text()).toMatch(PARIS)
    const { text, usage } = await session.send('Which river flows through it?', GREEDY).result
    expect(text).toMatch(/Seine/)
    expect(usage.cachedTokens).toBeGreaterThan(30)
  })

  test('is stopped, and goes on', async () => {
    await using session = engine.createSession()
    const long = session.send('Write a long story about a fox.', { ...GREEDY, maxTokens: 200 })
    for await (const _chunk of long) if (long !== undefined) break
    expect((await long.result).finishReason).toBe('cancelled')
    expect(await session.send('What is the capital of France?', GREEDY).text()).toMatch(PARIS)
  })

  test('is saved, restored and forked, and both go on with the same words', async () => {
    await using session = engine.createSession({ system: 'You answer in one short sentence.' })
    await session.send('What is the capital of France?', GREEDY).result
    const saved = await session.save()
    await using fork = await session.fork()
    await using restored = await engine.restoreSession(saved)
    const replies = []
    for (const each of [session, fork, restored]) {
      const { text, usage } = await each.send('And of Germany?', GREEDY).result
      expect(usage.cachedTokens).toBeGreaterThan(30)
      replies.push(text)
    }
    expect(replies[0]).toMatch(/Berlin/)
    expect(new Set(replies).size).toBe(1)
  })

  test('answers in JSON by a schema', async () => {
    const schema = {
      type: 'object',
      properties: { city: { type: 'string' }, country: { enum: ['France', 'Italy', 'Spain'] } },
      required: ['city', 'country'],
      additionalProperties: false,
    }
    const { text, finishReason } = await engine
      .createSession()
      .send('Name the capital of France and its country.', { ...GREEDY, maxTokens: 64, schema }).result
    expect(finishReason).toBe('stop')
    const value = JSON.parse(text)
    expect(validator(schema)(value)).toBe(true)
    expect(value).toMatchObject({ city: expect.stringMatching(PARIS), country: 'France' })
  })

  test('has a template without tools and says so; a call by schema fills in the arguments', async () => {
    const add = {
      name: 'add',
      description: 'Adds two numbers.',
      parameters: { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'integer' } } },
    }
    const refused = engine.createSession().send('What is 12 plus 30?', { ...GREEDY, tools: [add] }).result
    await expect(refused).rejects.toMatchObject({ code: 'unsupported' })
    const schema = {
      type: 'object',
      properties: {
        name: { const: 'add' },
        arguments: { ...add.parameters, required: ['a', 'b'], additionalProperties: false },
      },
      required: ['name', 'arguments'],
      additionalProperties: false,
    }
    const system = `You call functions by writing JSON. The function is ${JSON.stringify(add)}. Example: {"name": "add", "arguments": {"a": 1, "b": 2}}`
    const { text } = await engine
      .createSession({ system })
      .send('What is 12 plus 30?', { ...GREEDY, maxTokens: 64, schema }).result
    expect(JSON.parse(text)).toEqual({ name: 'add', arguments: { a: 12, b: 30 } })
  })

  test('says the same with n-gram drafts, and takes some of them', async () => {
    const prompt = 'Repeat this three times: the quick brown fox jumps over the lazy dog.'
    const options = { ...GREEDY, maxTokens: 48 }
    const plain = await engine.createSession().send(prompt, options).result
    const drafted = await engine.createSession().send(prompt, { ...options, speculation: 'lookup' }).result
    expect(drafted.text).toBe(plain.text)
  })

  test.each<[string, LoadOptions]>([
    ['8-bit weights', { weights: 'w8' }],
    ['4-bit weights', { weights: 'w4' }],
    ['int8 keys and values', { kvCache: { k: 'int8', v: 'int8' } }],
    ['two shards, without shared memory', { pool: 'shards', threads: 2 }],
    ['two threads', { threads: 2 }],
    ['the build without relaxed SIMD', { build: 'simd128' }],
  ])('knows the capital with %s', async (_name, options) => {
    await withEngine(tinyllama, options, async (other) => {
      expect(await other.createSession().send('What is the capital of France?', GREEDY).text()).toMatch(PARIS)
    })
  })
})

describe.skipIf(minimind === undefined)('MiniMind2-small', () => {
  test.each<[string, LoadOptions]>([
    ['its own weights', {}],
    ['8-bit weights', { weights: 'w8' }],
    ['int8 keys and values', { kvCache: { k: 'int8', v: 'int8' } }],
    ['two shards, without shared memory', { pool: 'shards', threads: 2 }],
  ])('knows the capital by its ChatML template, with %s', async (_name, options) => {
    await withEngine(minimind, options, async (engine) => {
      const session = engine.createSession()
      const { text, finishReason } = await session.send('What is the capital of France?', GREEDY).result
      expect(text).toMatch(PARIS)
      expect(finishReason).toBe('stop')
      const { usage } = await session.send('And of Italy?', GREEDY).result
      expect(usage.cachedTokens).toBeGreaterThan(10)
    })
  })
})
