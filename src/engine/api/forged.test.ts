// Forged arguments. In: every public method, with invalid values anywhere in its arguments. Out:
// a result or a typed error that is not `internal`, and an engine that keeps working.
import { describe, expect, test } from 'vitest'
import { Engine } from '../../index.ts'
import { createService } from '../service.ts'
import { toyModel } from '../testing/toy-model.ts'
import { localConnection } from '../wire/connection.ts'
import { holds, methodOf } from './testing/forged.ts'
import { errorOf, GREEDY, openToy } from './testing/toy-engine.ts'

const signal = new AbortController().signal
const tool = { name: 'f', description: 'does', parameters: { type: 'object', properties: {} } }
const call = { id: 'call00001', name: 'f', arguments: { at: 1 } }
const messages = [
  { role: 'user', content: 'a' },
  { role: 'assistant', content: '', toolCalls: [call] },
  { role: 'tool', content: '1', toolCallId: 'call00001', name: 'f' },
  { role: 'user', content: 'b' },
]
const reply = {
  maxTokens: 3,
  stop: ['x'],
  temperature: 0.5,
  topK: 4,
  topP: 0.9,
  minP: 0.1,
  seed: 1,
  logprobs: 2,
  logitBias: { 3: 1 },
  repeatPenalty: 1.1,
  repeatLastN: 8,
  frequencyPenalty: 0.1,
  presencePenalty: 0.1,
  priority: 'background',
  speculation: 'lookup',
  negativePrompt: 'no',
  schema: { type: 'string', maxLength: 3 },
  signal,
}
const load = {
  threads: 1,
  pool: 'single',
  contextLength: 64,
  stateBytes: 1e6,
  weights: 'f32',
  cache: 'none',
  build: 'auto',
  kvCache: { k: 'f32', v: 'f32' },
  hub: { baseUrl: 'https://hub.example/', token: 't' },
  signal,
  assets: { worker: '/w.js', compute: '/c.js', wasm: '/w/' },
  lora: [{ source: 'a.gguf', scale: 1 }],
  draft: 'd.gguf',
}

/** Runs replies to their end. */
const answerOf = (generation: unknown) => (generation as { result: Promise<unknown> }).result

describe('of an engine', () => {
  test.each<[string, readonly unknown[], boolean]>([
    ['complete', ['abc', reply], true],
    ['countTokens', ['abc'], false],
    ['countTokens', [messages], false],
    ['tokenize', ['abc'], false],
    ['detokenize', [[97, 98]], false],
    ['complete', [[97, 98], reply], true],
    ['score', ['a', [' b', ' c'], { signal }], false],
    ['scoreTokens', ['abc', { top: 2, signal }], false],
    ['scoreTokens', [[97, 98], { top: 2, signal }], false],
    ['embed', [['a', 'b'], { pooling: 'mean', normalize: true, signal }], false],
    ['restoreSession', [new Blob(['x']), { signal }], false],
    ['restoreSession', ['name', { signal }], false],
  ])('%s', async (name, valid, isReply) => {
    const engine = await openToy()
    await holds(valid, (...args) => {
      const given = methodOf(engine, name)(...args)
      return isReply ? answerOf(given) : given
    })
    expect(await engine.createSession().send('still here', GREEDY).text()).toBe('You said still here')
  })

  test('createSession, and the first message of a session', async () => {
    const engine = await openToy()
    const options = { system: 's', messages: messages.slice(0, 1), overflow: 'shift', keep: 2 }
    await holds([options], async (...args) => {
      const session = methodOf(engine, 'createSession')(...args) as ReturnType<Engine['createSession']>
      try {
        await session.send('a', { maxTokens: 2 }).result
      } finally {
        await session.dispose()
      }
    })
  })
})

describe('of a session', () => {
  test.each<[string, readonly unknown[], boolean]>([
    ['send', ['abc', { ...reply, tools: [tool], prefix: 'p' }], true],
    ['send', [messages, { ...reply, schema: undefined, choices: ['a', 'b'] }], true],
    ['send', [messages[0], { ...reply, schema: undefined, pattern: '[ab]+' }], true],
    ['send', ['a', { ...reply, schema: undefined, grammar: 'root ::= "a"' }], true],
    ['edit', [0, 'b', reply], true],
    ['regenerate', [{ ...reply, prefix: 'p' }], true],
    ['setMessages', [messages], false],
    ['fork', [{ signal }], false],
    ['save', [{ signal }], false],
    ['store', ['name', { signal }], false],
  ])('%s', async (name, valid, isReply) => {
    const engine = await openToy()
    await holds(valid, async (...args) => {
      const session = engine.createSession({ messages: [{ role: 'user', content: 'a' }] })
      try {
        const given = methodOf(session, name)(...args)
        await (isReply ? answerOf(given) : given)
        if (name === 'setMessages') await session.regenerate({ maxTokens: 2 }).result
      } finally {
        await session.dispose()
      }
    })
    expect(await engine.createSession().send('still here', GREEDY).text()).toBe('You said still here')
  })
})

describe('of loading', () => {
  test('load, and the data sent to the worker, reject forged values', async () => {
    const open = async (source: unknown, options: unknown) => {
      const connection = localConnection(createService(async () => toyModel()))
      const engine = await Engine.open(connection, source as never, options as never)
      await engine.dispose()
    }
    await holds(['model.gguf', { ...load, onProgress: () => undefined }], open)
    await holds([{ repo: 'owner/name', file: 'm.gguf', revision: 'main' }, load], open)
    await holds([[new File(['x'], 'm.gguf')], load], open)
  })

  test.each(['load', 'probe'])('%s, before there is a worker', async (name) => {
    await holds(['model.gguf', load], methodOf(Engine, name))
  })

  test('prepare', async () => {
    await holds([{ assets: load.assets }], methodOf(Engine, 'prepare'))
  })

  test('an impossible number of threads is rejected at once', async () => {
    for (const threads of [300_000, 1e9, 2 ** 53, Number.NaN, -1, '4'])
      expect(await errorOf(Engine.load('model.gguf', { threads: threads as number }))).toMatchObject({
        code: 'unsupported',
        message: expect.stringMatching(/^threads is .* must be a whole number from 1 to \d+;/),
      })
  })

  test.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('of the page')
      },
    ],
    ['rejects', async () => Promise.reject(new Error('of the page'))],
  ])('an onProgress that %s ends the load with its error', async (_, onProgress) => {
    let isAborted = false
    const service = createService(async (_request, { signal, onProgress }) => {
      onProgress({ phase: 'compile' })
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
      isAborted = true
      throw signal.reason
    })
    const load = Engine.open(localConnection(service), 'model.gguf', { onProgress } as never)
    expect(await errorOf(load)).toMatchObject({ message: 'of the page' })
    await expect.poll(() => isAborted).toBe(true)
  })
})
