// Real models. In: SmolLM2-135M-Instruct, Gemma 3 270M, Qwen2.5-Coder-0.5B-Instruct and MiniMind2-small,
// which "npm run setup -- smollm2 gemma3-270m qwen2.5-coder-0.5b minimind2" downloads, and
// TinyLlama-1.1B-Chat if it is set up. Out: whether they give the expected answers in every kind of
// conversation.
import { openAsBlob, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { realModel, requireModel } from '../../../scripts/models/real-models.mjs'
import { openai } from '../../../src/adapters/openai.ts'
import { validator } from '../../../src/core/constrain/testing/validate.ts'
import type { Engine } from '../../../src/engine/api/engine.ts'
import type { LoadOptions } from '../../../src/engine/api/types.ts'
import type { Message } from '../../../src/engine/types/conversation.ts'
import { type Files, openEngine } from '../testing/node-engine.ts'

const GREEDY = { temperature: 0, maxTokens: 24, speculation: 'off' } as const
const PARIS = /Paris/
const CAPITAL = 'What is the capital of France?'
const RIVER = 'Which river flows through it?'
const CAPITALS = [
  ['France', 'Paris'],
  ['Germany', 'Berlin'],
  ['Italy', 'Rome'],
  ['Spain', 'Madrid'],
  ['Japan', 'Tokyo'],
] as const
const smollm2 = requireModel('smollm2')
const minimind = requireModel('minimind2')
/**
 * Tests only what a larger model adds to the others, with a download of 319 MB, so no command downloads it
 * automatically.
 */
const tinyllama = realModel('tinyllama')

/** A file that is read from disk on demand. */
const diskFile = async (path: string): Promise<File> => new File([await openAsBlob(path)], basename(path))

async function filesOf(path: string): Promise<Files> {
  if (path.endsWith('.gguf')) return [await diskFile(path)]
  return Promise.all(readdirSync(path).map((name) => diskFile(join(path, name))))
}

async function withEngine<T>(
  path: string,
  options: LoadOptions,
  use: (engine: Engine) => Promise<T>,
): Promise<T> {
  const engine = await openEngine(await filesOf(path), { contextLength: 512, ...options })
  try {
    return await use(engine)
  } finally {
    await engine.dispose()
  }
}

/** The reply of a new session to these messages. */
async function replyTo(engine: Engine, earlier: readonly Message[], question: string): Promise<string> {
  await using session = engine.createSession({ messages: earlier })
  return await session.send(question, GREEDY).text()
}

const CITY = {
  type: 'object',
  properties: { city: { type: 'string', maxLength: 20 } },
  required: ['city'],
} as const
const WEATHER = {
  type: 'function',
  function: { name: 'weather', description: 'Tells the weather of a city.', parameters: CITY },
} as const
const CALLING = { tools: [WEATHER], temperature: 0, max_completion_tokens: 64 }

/** The arguments of the `weather` call, which must be the whole reply. */
async function requiredCall(engine: Engine, content: string): Promise<unknown> {
  const { choices } = await openai(engine).chat.completions.create({
    messages: [{ role: 'user', content }],
    ...CALLING,
    tool_choice: 'required',
  })
  const { message, finish_reason } = choices[0]!
  expect(finish_reason).toBe('tool_calls')
  expect(message.tool_calls).toMatchObject([{ function: { name: 'weather' } }])
  return JSON.parse(message.tool_calls![0]!.function.arguments)
}

/** llama.cpp's greedy text. Its first choices are at least a tenth more likely than its second ones. */
const BY_LLAMA_CPP = [
  [
    'Write a haiku about a cat.\n\nUse three lines.',
    "In the night, a cat's silky fur,\nA gentle breeze, a gentle sigh,\nA cat's",
  ],
  [
    'What does `SELECT * FROM users WHERE id = 1;` do?',
    'The `SELECT * FROM users WHERE id = 1;` SQL query is used to retrieve all rows from a table',
  ],
] as const
/** llama.cpp's log-probabilities of capitals after "The capital of France is". */
const CAPITALS_BY_LLAMA_CPP = { ' Paris': -0.268, ' London': -4.329, ' Berlin': -6.972, ' Rome': -7.688 }
/** Both engines round activations to 8 bits, in different ways. */
const ROUNDING = 0.5

describe('SmolLM2-135M-Instruct', () => {
  test.each<[string, LoadOptions]>([
    ['one thread', {}],
    ['two threads', { threads: 2 }],
    ['the build without relaxed SIMD', { build: 'simd128' }],
    ['int8 keys and values', { kvCache: { k: 'int8', v: 'int8' } }],
    ['two shards, without shared memory', { pool: 'shards', threads: 2 }],
  ])("gives llama.cpp's text, with %s", async (_name, options) => {
    await withEngine(smollm2, options, async (engine) => {
      for (const [question, answer] of BY_LLAMA_CPP) expect(await replyTo(engine, [], question)).toBe(answer)
      const words = Object.keys(CAPITALS_BY_LLAMA_CPP)
      const scores = await engine.score('The capital of France is', words)
      for (const [index, theirs] of Object.values(CAPITALS_BY_LLAMA_CPP).entries())
        expect(Math.abs(scores[index]!.logProbability - theirs), words[index]).toBeLessThan(ROUNDING)
    })
  })

  test('stops by itself, keeps its state, and answers in JSON that matches a schema', async () => {
    await withEngine(smollm2, {}, async (engine) => {
      await using session = engine.createSession()
      const sum = await session.send('What is 2 + 2?', GREEDY).result
      expect(sum).toMatchObject({ finishReason: 'stop', text: expect.stringContaining('4') })
      const { usage } = await session.send('And what is 3 + 3?', GREEDY).result
      expect(usage.cachedTokens).toBeGreaterThan(40)
      const schema = {
        type: 'object',
        properties: {
          city: { type: 'string', maxLength: 20 },
          country: { enum: ['France', 'Italy', 'Spain'] },
        },
        required: ['city', 'country'],
        additionalProperties: false,
      }
      const question = 'Name the capital of France and its country.'
      const text = await engine
        .createSession()
        .send(question, { ...GREEDY, maxTokens: 64, schema })
        .text()
      expect(JSON.parse(text)).toEqual({ city: 'Paris', country: 'France' })
    })
  })

  test('makes a required call with the requested city', async () => {
    await withEngine(smollm2, {}, async (engine) => {
      for (const city of ['Paris', 'Tokyo', 'New York'])
        expect(await requiredCall(engine, `What is the weather in ${city}?`)).toEqual({ city })
    })
  })
})

/**
 * The same log-probabilities for two more models. Gemma gives the other words too little probability to
 * compare.
 */
const OTHERS_BY_LLAMA_CPP = [
  ['gemma3-270m', { ' Paris': -2.519, ' London': -6.865 }],
  ['qwen2.5-coder-0.5b', { ' Paris': -0.096, ' London': -4.368, ' Berlin': -8.213, ' Rome': -7.561 }],
] as const

describe.each(OTHERS_BY_LLAMA_CPP)('%s', (name, words) => {
  test.each<[string, LoadOptions]>([
    ['one thread', {}],
    ['two threads and int8 keys and values', { threads: 2, kvCache: { k: 'int8', v: 'int8' } }],
  ])('gives capitals llama.cpp’s probabilities, with %s', async (_name, options) => {
    await withEngine(requireModel(name), options, async (engine) => {
      const scores = await engine.score('The capital of France is', Object.keys(words))
      for (const [index, theirs] of Object.values(words).entries())
        expect(Math.abs(scores[index]!.logProbability - theirs), `word ${index}`).toBeLessThan(ROUNDING)
    })
  })
})

describe.skipIf(tinyllama === undefined)('TinyLlama-1.1B-Chat', () => {
  let engine: Engine
  beforeAll(async () => {
    engine = await openEngine(await filesOf(tinyllama!), { contextLength: 512 })
  }, 300_000)
  afterAll(() => engine?.dispose())

  test('knows a capital and a river with its chat template, stops by itself, and processes only new tokens', async () => {
    await using session = engine.createSession()
    const first = await session.send(CAPITAL, GREEDY).result
    expect(first.text).toMatch(PARIS)
    expect(first.finishReason).toBe('stop')
    const { messages } = session
    const { text, usage } = await session.send(RIVER, GREEDY).result
    expect(text).toMatch(/Seine/)
    expect(usage.cachedTokens).toBeGreaterThan(30)
    expect(text).toBe(await replyTo(engine, messages, RIVER))
  })

  test('can be stopped, and continues its text', async () => {
    await using session = engine.createSession()
    const long = session.send('Write a long story about a fox.', { ...GREEDY, maxTokens: 200 })
    let chunks = 0
    for await (const _chunk of long) if (++chunks === 8) break
    expect((await long.result).finishReason).toBe('cancelled')
    const { messages } = session
    expect(messages.at(-1)).toMatchObject({ role: 'assistant', content: expect.stringMatching(/\w/) })
    const { text, usage } = await session.send('Give the fox a name.', GREEDY).result
    expect(usage.cachedTokens).toBeGreaterThan(20)
    expect(text).toBe(await replyTo(engine, messages, 'Give the fox a name.'))
  })

  test('stops before a stop text', async () => {
    const { text, finishReason } = await engine.createSession().send(CAPITAL, { ...GREEDY, stop: [' Paris'] })
      .result
    expect(text).toMatch(/ is$/)
    expect(finishReason).toBe('stop')
  })

  test('can be saved, restored and forked, and all continue with the same words', async () => {
    const system = 'You answer in one short sentence.'
    await using session = engine.createSession({ system })
    await session.send(CAPITAL, GREEDY).result
    const saved = await session.save()
    await using fork = await session.fork()
    await using restored = await engine.restoreSession(saved)
    await using anew = engine.createSession({ system, messages: session.messages })
    const replies = []
    for (const each of [session, fork, restored, anew]) {
      const { text, usage } = await each.send('And of Germany?', GREEDY).result
      if (each !== anew) expect(usage.cachedTokens).toBeGreaterThan(30)
      replies.push(text)
    }
    expect(replies[0]).toMatch(/German/)
    expect(new Set(replies).size).toBe(1)
  })

  test('answers in JSON that matches a schema', async () => {
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

  test('reports that its template has no tools; a call constrained by a schema fills in the arguments', async () => {
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

  test('gives the same text with n-gram drafts, and accepts some of them', async () => {
    const prompt = 'Repeat this three times: the quick brown fox jumps over the lazy dog.'
    const options = { ...GREEDY, maxTokens: 48 }
    const plain = await engine.createSession().send(prompt, options).result
    const drafted = await engine.createSession().send(prompt, { ...options, speculation: 'lookup' }).result
    expect(drafted.text).toBe(plain.text)
    expect(plain.usage.acceptedTokens).toBe(0)
    expect(drafted.usage.acceptedTokens).toBeGreaterThan(0)
  })

  test.each<[string, LoadOptions]>([
    ['two threads', { threads: 2 }],
    ['the build without relaxed SIMD', { build: 'simd128' }],
  ])(
    'gives exactly the same text with %s, where both turns are processed in one step',
    async (_name, options) => {
      await using session = engine.createSession()
      await session.send(CAPITAL, GREEDY).result
      const { messages } = session
      const usual = await session.send(RIVER, GREEDY).text()
      await withEngine(tinyllama!, options, async (other) => {
        expect(await replyTo(other, messages, RIVER)).toBe(usual)
      })
    },
  )

  test.each<[string, LoadOptions]>([
    ['8-bit weights', { weights: 'w8' }],
    ['4-bit weights', { weights: 'w4' }],
    ['int8 keys and values', { kvCache: { k: 'int8', v: 'int8' } }],
    ['two shards, without shared memory', { pool: 'shards', threads: 2 }],
  ])('prefers the right capital with %s', async (_name, options) => {
    await withEngine(tinyllama!, options, async (other) => {
      for (const [country, capital] of CAPITALS) {
        const scores = await other.score(
          `The capital of ${country} is`,
          CAPITALS.map(([, name]) => ` ${name}`),
        )
        const likely = scores.map(({ logProbability }) => logProbability)
        expect(CAPITALS[likely.indexOf(Math.max(...likely))]).toEqual([country, capital])
      }
      expect(await replyTo(other, [], CAPITAL)).toMatch(/France/)
    })
  })
})

describe('MiniMind2-small', () => {
  test.each<[string, LoadOptions]>([
    ['its own weights', {}],
    ['8-bit weights', { weights: 'w8' }],
    ['int8 keys and values', { kvCache: { k: 'int8', v: 'int8' } }],
    ['two shards, without shared memory', { pool: 'shards', threads: 2 }],
  ])('knows the capital with its ChatML template, with %s', async (_name, options) => {
    await withEngine(minimind, options, async (engine) => {
      const session = engine.createSession()
      const { text, finishReason } = await session.send(CAPITAL, GREEDY).result
      expect(text).toMatch(PARIS)
      expect(finishReason).toBe('stop')
      const { usage } = await session.send('And of Italy?', GREEDY).result
      expect(usage.cachedTokens).toBeGreaterThan(10)
    })
  })

  test('can be stopped, saved, restored and forked, and continues with the same words', async () => {
    await withEngine(minimind, {}, async (engine) => {
      await using session = engine.createSession()
      const long = session.send('Write a story about a fox.', { ...GREEDY, maxTokens: 200 })
      let chunks = 0
      for await (const _chunk of long) if (++chunks === 8) break
      expect((await long.result).finishReason).toBe('cancelled')
      const earlier = session.messages
      await using fork = await session.fork()
      await using restored = await engine.restoreSession(await session.save())
      const replies = [await replyTo(engine, earlier, CAPITAL)]
      for (const each of [session, fork, restored]) {
        const { text, usage } = await each.send(CAPITAL, GREEDY).result
        expect(usage.cachedTokens).toBeGreaterThan(20)
        replies.push(text)
      }
      expect(replies[0]).toMatch(/\w/)
      expect(new Set(replies).size).toBe(1)
    })
  })

  // It has not learnt to call: after `{"name":"weather","arguments":{"city":"` it gives `{` a probability of
  // 0.75, also in transformers. The constraint guarantees a call that the schema allows, but not a city.
  test('sees tools through its template, makes a required call, and reads the result', async () => {
    await withEngine(minimind, {}, async (engine) => {
      const { completions } = openai(engine).chat
      const content = 'What is the weather in Paris?'
      const made = (await requiredCall(engine, content)) as { city: string }
      expect(validator(CITY)(made)).toBe(true)
      const { choices, usage } = await completions.create({
        messages: [
          { role: 'user', content },
          {
            role: 'assistant',
            content: null,
            tool_calls: [
              { id: 'a', type: 'function', function: { name: 'weather', arguments: JSON.stringify(made) } },
            ],
          },
          { role: 'tool', tool_call_id: 'a', content: '{"sky": "sunny", "degrees": 21}' },
        ],
        ...CALLING,
      })
      expect(choices[0]!.message.content).toMatch(/\w/)
      expect(usage!.prompt_tokens_details!.cached_tokens).toBeGreaterThan(250)
    })
  })

  test('answers in JSON that matches a schema', async () => {
    const schema = {
      type: 'object',
      properties: { city: { type: 'string', maxLength: 20 }, isLarge: { type: 'boolean' } },
      required: ['city', 'isLarge'],
      additionalProperties: false,
    }
    await withEngine(minimind, {}, async (engine) => {
      const question = 'Name the capital of France.'
      const { text, finishReason } = await engine
        .createSession()
        .send(question, { ...GREEDY, maxTokens: 64, schema }).result
      expect(finishReason).toBe('stop')
      expect(validator(schema)(JSON.parse(text))).toBe(true)
    })
  })
})
