// The fake engine. In: replies from a test. Out: what an app observes through the library's own sessions.
import { afterEach, expect, test } from 'vitest'
import { HalfbyteError } from '../../../core/base/errors.ts'
import type { Engine } from '../engine.ts'
import { errorOf } from '../testing/toy-engine.ts'
import { fakeEngine } from './fake-engine.ts'

let engine: Engine

afterEach(() => engine.dispose())

test('replies arrive in order, word by word, and a session keeps them', async () => {
  engine = await fakeEngine(['One two three.', { text: ['a', 'bc'], reasoning: 'Hm, so' }])
  const session = engine.createSession({ system: 'Be brief.' })
  const chunks: string[] = []
  for await (const { text } of session.send('Count.')) chunks.push(text)
  expect(chunks).toEqual(['One', ' two', ' three.'])
  const second = await session.send('Again.').result
  expect(second).toMatchObject({ text: 'abc', reasoning: 'Hm, so', finishReason: 'stop' })
  expect(second.usage).toMatchObject({ completionTokens: 4, reasoningTokens: 2 })
  expect(session.messages.map(({ role, content }) => `${role}: ${content}`)).toEqual([
    'user: Count.',
    'assistant: One two three.',
    'user: Again.',
    'assistant: abc',
  ])
  expect(await errorOf(session.send('More.').result)).toMatchObject({
    code: 'unsupported',
    message: expect.stringContaining('has 2 replies but was asked for number 3 ("More.")'),
  })
})

test('a function sees the conversation, the tools and the options', async () => {
  engine = await fakeEngine(({ messages, prompt, tools, options, prefix }) =>
    JSON.stringify([
      messages.map(({ role }) => role),
      prompt,
      tools.map(({ name }) => name),
      options.maxTokens,
      prefix,
    ]),
  )
  const session = engine.createSession({ system: 'S' })
  const reply = await session.send('Hi', { tools: [{ name: 'clock' }], maxTokens: 9, prefix: '> ' }).text()
  expect(JSON.parse(reply)).toEqual([['system', 'user'], 'Hi', ['clock'], 9, '> '])
  expect(session.messages.at(-1)?.content).toBe(`> ${reply}`)
})

test('tool calls have ids, and the tool’s result is sent back', async () => {
  engine = await fakeEngine(({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? 'It is noon.'
      : { toolCalls: [{ name: 'clock', arguments: { zone: 'UTC' } }] },
  )
  const session = engine.createSession()
  const { toolCalls } = await session.send('What time is it?', { tools: [{ name: 'clock' }] }).result
  expect(toolCalls).toEqual([{ id: 'call_1', name: 'clock', arguments: { zone: 'UTC' } }])
  const answer = { role: 'tool', content: '12:00', toolCallId: 'call_1' } as const
  expect(await session.send(answer).text()).toBe('It is noon.')
})

test('a tool with execute runs, and the reply continues from its result', async () => {
  engine = await fakeEngine([{ toolCalls: [{ name: 'clock', arguments: {} }] }, 'It is noon.'])
  const tool = { name: 'clock', execute: async () => '12:00' }
  const session = engine.createSession()
  expect(await session.send('What time is it?', { tools: [tool] }).text()).toBe('It is noon.')
  expect(session.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
})

test('maxTokens and stop texts end a reply as in a real engine', async () => {
  engine = await fakeEngine(() => 'one two three four')
  expect(await engine.complete('x', { maxTokens: 2 }).result).toMatchObject({
    text: 'one two',
    finishReason: 'length',
  })
  expect(await engine.complete('x', { stop: ['ee f'] }).result).toMatchObject({
    text: 'one two thr',
    finishReason: 'stop',
  })
})

test('a reply can be cancelled during a pause, and a signal rejects with its reason', async () => {
  let ended = 0
  engine = await fakeEngine(async function* () {
    try {
      yield 'begun'
      await new Promise(() => undefined)
    } finally {
      ended++
    }
  })
  const session = engine.createSession()
  const generation = session.send('Go on.')
  for await (const { text } of generation) {
    expect(text).toBe('begun')
    generation.cancel('enough')
  }
  expect(await generation.result).toMatchObject({
    text: 'begun',
    finishReason: 'cancelled',
    reason: 'enough',
  })
  const abort = new AbortController()
  const second = session.send('Again.', { signal: abort.signal })
  for await (const _ of second) {
    abort.abort(new Error('left'))
    break
  }
  expect(await errorOf(second.result)).toMatchObject({ message: 'left' })
  expect(ended).toBeLessThanOrEqual(2)
})

test('errors keep their code, before and within a reply', async () => {
  const lost = new HalfbyteError('network', 'the server did not answer', { address: 'x' })
  engine = await fakeEngine([
    lost,
    (async function* () {
      yield 'half'
      throw new HalfbyteError('out-of-memory', 'no room')
    })(),
    'whole again',
  ])
  const session = engine.createSession()
  expect(await errorOf(session.send('1').result)).toMatchObject({ code: 'network', detail: { address: 'x' } })
  const seen: string[] = []
  const failed = (async () => {
    for await (const { text } of session.send('2')) seen.push(text)
  })()
  expect(await errorOf(failed)).toMatchObject({ code: 'out-of-memory' })
  expect(seen).toEqual(['half'])
  expect(await session.send('3').text()).toBe('whole again')
  expect(session.messages).toHaveLength(2)
})

test('an invalid option or a prompt that is too long is rejected as by a real engine', async () => {
  engine = await fakeEngine(() => 'x', { model: { contextLength: 3, id: 'small' } })
  expect(engine.model).toMatchObject({ id: 'small', contextLength: 3 })
  expect(await errorOf(engine.complete('x', { maxTokens: -1 }).result)).toMatchObject({ code: 'unsupported' })
  expect(await errorOf(engine.complete('a b c d').result)).toMatchObject({
    code: 'context-overflow',
    detail: { tokens: 4, contextLength: 3 },
  })
})

test('tokens are words, and sessions are saved and restored', async () => {
  engine = await fakeEngine(['one', 'two'])
  const ids = await engine.tokenize(' to be or  not to be\n')
  expect(await engine.detokenize(ids)).toBe(' to be or  not to be\n')
  expect(new Set(ids).size).toBe(ids.length - 2)
  expect(await engine.countTokens('a b c')).toBe(3)
  expect(await errorOf(engine.detokenize([999]))).toMatchObject({ code: 'format' })
  const session = engine.createSession()
  await session.send('1').text()
  const restored = await engine.restoreSession(await session.save())
  expect(restored.messages).toEqual(session.messages)
  await session.store('mine')
  expect(await (await engine.restoreSession('mine')).send('2').text()).toBe('two')
  expect(await errorOf(engine.restoreSession('other'))).toMatchObject({ code: 'unsupported' })
  const [cat, cats, dog] = await engine.embed(['a cat', 'a cat', 'dogs'])
  expect(cat).toEqual(cats)
  expect(cat).not.toEqual(dog)
})

test('a disposed engine ends its replies', async () => {
  engine = await fakeEngine(() => new Promise<string>(() => undefined))
  const pending = errorOf(engine.complete('x').result)
  await engine.dispose()
  expect(await pending).toMatchObject({ code: 'disposed' })
})
