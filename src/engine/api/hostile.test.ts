// Hostile callers. In: arguments that an untyped page may pass. Out: a typed error that names the argument,
// never an internal failure, and an engine that keeps working.
import { describe, expect, test } from 'vitest'
import { isHalfbyteError } from '../../core/base/errors.ts'
import type { Engine, Session } from '../../index.ts'
import { toyModel } from '../testing/toy-model.ts'
import { connectToy, errorOf, GREEDY, openToy } from './testing/toy-engine.ts'

/** As seen by an untyped page. */
type Loose = {
  readonly [K in keyof Session | keyof Engine]: (...args: unknown[]) => { text(): Promise<unknown> }
}

const loose = (object: unknown): Loose => object as Loose
const user = (content: unknown) => ({ role: 'user', content })
const withCalls = (toolCalls: unknown) => ({ role: 'assistant', content: '', toolCalls })

describe('messages', () => {
  test.each<[string, unknown, RegExp]>([
    ['a number', user(3), /message 0 is \{"role":"user","content":3\} but must be a role/],
    ['nothing', user(null), /message 0 is/],
    [
      'a video',
      user([{ type: 'video', data: 'x' }]),
      /message 0 is .*"type":"video".* but must be .*parts of the type text or image/,
    ],
    ['a part without text', user([{ type: 'text', text: 3 }]), /message 0 is/],
    ['an image given by its address', user([{ type: 'image', data: 'a.png' }]), /images as Blobs/],
    ['a role that no template supports', { role: 'robot', content: 'x' }, /"role":"robot"/],
    ['no role', { content: 'x' }, /message 0 is/],
    ['a name that is not text', { ...user('x'), name: 4 }, /message 0 is/],
  ])('that contain %s are rejected', async (_, message, sentence) => {
    const engine = await openToy()
    const session = engine.createSession()
    const refusal = { code: 'unsupported', message: expect.stringMatching(sentence) }
    expect(await errorOf(loose(session).send(message, GREEDY).text())).toMatchObject(refusal)
    expect(session.messages).toEqual([])
    expect(await errorOf(engine.countTokens([message] as never))).toMatchObject(refusal)
    expect(await session.send('go on', GREEDY).text()).toBe('You said go on')
  })

  test.each<[string, unknown]>([
    ['no list', 'x'],
    ['calls without a name', [{ id: '1', arguments: {} }]],
    ['arguments that are not an object', [{ id: '1', name: 'f', arguments: '{}' }]],
  ])('whose calls are %s are rejected with their index', async (_, calls) => {
    const messages = [user('a'), withCalls(calls)] as never
    const session = (await openToy()).createSession({ messages })
    const error = await errorOf(session.send('b', GREEDY).result)
    expect(error).toMatchObject({ code: 'unsupported', message: expect.stringMatching(/^message 1 is/) })
  })

  test('with a system prompt that is not text, and an edit without text, are rejected', async () => {
    const engine = await openToy()
    const wrong = engine.createSession({ system: 3 as never }).send('a', GREEDY).result
    expect(await errorOf(wrong)).toMatchObject({ code: 'unsupported' })
    const session = engine.createSession()
    await session.send('a', GREEDY).result
    expect(await errorOf(loose(session).edit(0, undefined, GREEDY).text())).toMatchObject({
      code: 'unsupported',
    })
    expect(await errorOf(session.edit(Number.NaN, 'x').result)).toMatchObject({
      code: 'unsupported',
      message: expect.stringMatching(/index is NaN but must be from 0 and below 2/),
    })
  })

  test('do not change when the caller changes its own copy', async () => {
    const calls = [{ id: 'call00001', name: 'f', arguments: { at: 1 } }]
    const messages = [user('a'), withCalls(calls), user('b')] as never
    const session = (await openToy()).createSession({ messages })
    calls[0]!.arguments.at = 2
    expect(session.messages[1]!.toolCalls![0]!.arguments).toEqual({ at: 1 })
  })
})

describe('options', () => {
  test.each<[string, object, RegExp]>([
    ['tools that are not a list', { tools: 'f' }, /tools is "f" but must be a list/],
    ['tools that are null', { tools: null }, /tools is null/],
    ['tool functions that are not functions', { tools: [{ name: 'f', execute: 'f' }] }, /must be a function/],
    [
      'tools with functions elsewhere',
      { tools: [{ name: 'f', run() {} }] },
      /only accepts plain data: .*run/,
    ],
  ])('%s are rejected', async (_, options, sentence) => {
    const session = (await openToy()).createSession()
    const error = await errorOf(session.send('a', { ...GREEDY, ...options }).result)
    expect(error).toMatchObject({ code: 'unsupported', message: expect.stringMatching(sentence) })
    expect(await session.send('b', GREEDY).text()).toBe('You said b')
  })

  test.each([
    [{ overflow: 'drop' }, /overflow is "drop" but must be error or shift/],
    [{ overflow: 'shift', keep: -1 }, /keep is -1 but must be a whole number from 0/],
  ])('of a session %o are rejected with its first message', async (options, sentence) => {
    const session = (await openToy()).createSession(options as never)
    const error = await errorOf(session.send('a', GREEDY).result)
    expect(error).toMatchObject({ code: 'unsupported', message: expect.stringMatching(sentence) })
  })
})

describe('values that nest too deeply', () => {
  /**
   * Between 1,500 and 3,500 levels, messages can be sent but not received; beyond that they cannot be sent.
   */
  const nested = (levels: number): Record<string, unknown> => {
    let value: Record<string, unknown> = {}
    for (let level = 0; level < levels; level++) value = { properties: { value } }
    return value
  }
  const refusal = { code: 'unsupported', message: expect.stringMatching(/nested more than \d+ levels/) }

  test.each([70, 150, 1000, 1300, 5000, 100_000])('as a schema of %i levels is rejected', async (levels) => {
    const session = (await openToy()).createSession()
    const work = session.send('a', { ...GREEDY, schema: nested(levels) })
    expect(await errorOf(work.result)).toMatchObject(refusal)
    expect(await session.send('b', GREEDY).text()).toBe('You said b')
  })

  test.each([200, 1300, 100_000])('as call arguments of %i levels is rejected', async (levels) => {
    const engine = await openToy()
    const messages = [withCalls([{ id: '1', name: 'f', arguments: nested(levels) }]), user('b')] as never
    expect(await errorOf((async () => engine.countTokens(messages))())).toMatchObject(refusal)
    expect(() => engine.createSession().setMessages(messages)).toThrow(/nested more than/)
  })

  test('ends pending calls if it could not be read', async () => {
    const { engine, connection } = await connectToy()
    const reply = errorOf(engine.createSession().send('a', GREEDY).result)
    connection.endpoint.postMessage(nested(1200))
    expect(await reply).toMatchObject({
      code: 'internal',
      message: expect.stringMatching(/could not be read/),
    })
    expect(await errorOf(engine.countTokens('a'))).toMatchObject({ code: 'disposed' })
  })
})

test.each<[string, (engine: Engine) => Promise<unknown>]>([
  ['one text as the continuations', (engine) => engine.score('a', 'b' as never)],
  ['more tokens than can be listed', (engine) => engine.scoreTokens('a', { top: 101 })],
  ['ids outside the vocabulary', (engine) => engine.scoreTokens([97, 258])],
  ['ids outside the vocabulary to continue', (engine) => engine.complete([-1]).result],
  ['a text without tokens', (engine) => engine.scoreTokens('')],
  ['one text as the list of texts', (engine) => engine.embed('abc' as never)],
  ['a pooling method that does not exist', (engine) => engine.embed(['a'], { pooling: 'max' as never })],
])('%s are rejected', async (_, ask) => {
  const error = await errorOf(ask(await openToy()))
  expect(isHalfbyteError(error) && error.code).toBe('unsupported')
})

test('ids in a typed array are accepted', async () => {
  const engine = await openToy()
  const ids = await engine.tokenize('hello')
  expect(await engine.detokenize(Uint32Array.from(ids) as never)).toBe('hello')
  expect(await engine.scoreTokens(Uint32Array.from(ids) as never)).toHaveLength(5)
  expect(await engine.complete(Uint32Array.from(ids) as never, { ...GREEDY, maxTokens: 1 }).text()).toBe('p')
})

test('priorities reach the scheduler', async () => {
  const toy = toyModel()
  const seen: unknown[] = []
  const { scheduler } = toy
  const spied = Object.assign(Object.create(toy) as typeof toy, {
    scheduler: {
      get isOver() {
        return scheduler.isOver
      },
      forward: (request) => scheduler.forward(request),
      generate: (request) => {
        seen.push(request.priority)
        return scheduler.generate(request)
      },
    } satisfies typeof scheduler,
  })
  const engine = await openToy(spied)
  await engine.complete('a', { ...GREEDY, maxTokens: 1, priority: 'background' }).result
  await engine.complete('a', { ...GREEDY, maxTokens: 1 }).result
  expect(seen).toEqual(['background', undefined])
})
