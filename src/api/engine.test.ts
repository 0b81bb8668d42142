// Engines. In: a toy model behind the real service, wire and client, in one thread. Out: what callers are promised.
import { afterEach, describe, expect, expectTypeOf, test } from 'vitest'
import { HalfbyteError, isHalfbyteError } from '../base/errors.ts'
import { type Connection, localConnection } from '../engine/connection.ts'
import type { ModelLoader } from '../engine/loaded-model.ts'
import { createService } from '../engine/service.ts'
import { STREAM_CREDITS } from '../engine/stream.ts'
import { DEAD_POOL, NAN_LOGITS, type ToyModel, toyModel } from '../engine/testing/toy-model.ts'
import type { GenerationResult, LoadProgress, Message, Session, TextChunk } from '../index.ts'
import { Engine } from './engine.ts'

const GREEDY = { temperature: 0 } as const
/** How much is drafted depends on time. */
const PLAIN = { ...GREEDY, speculation: 'off' } as const
const opened: { engine: Engine; connection: Connection }[] = []

async function open(toy: ToyModel = toyModel()): Promise<Engine> {
  const connection = localConnection(createService(async () => toy))
  const engine = await Engine.open(connection, 'toy')
  opened.push({ engine, connection })
  return engine
}

afterEach(async () => {
  for (const { engine } of opened.splice(0)) await engine.dispose()
})

async function collect(chunks: AsyncIterable<TextChunk>): Promise<TextChunk[]> {
  const all: TextChunk[] = []
  for await (const chunk of chunks) all.push(chunk)
  return all
}

const errorOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => expect.unreachable(),
    (error: unknown) => error,
  )

const turns = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('a generation', () => {
  test('streams whole code points that add up to its text', async () => {
    const session = (await open()).createSession()
    const reply = session.send('héllo 👩‍🚀!', GREEDY)
    const chunks = await collect(reply)
    const result = await reply.result
    expect(result.text).toBe('You said héllo 👩‍🚀!')
    expect(result.finishReason).toBe('stop')
    expect(chunks.map(({ text }) => text).join('')).toBe(result.text)
    for (const { text } of chunks) expect(text !== '' && !/\p{Surrogate}|\ufffd/u.test(text)).toBe(true)
    expect(chunks.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(result.usage.completionTokens)
    expect(result.tokens).toHaveLength(result.usage.completionTokens)
  })

  test('reports usage, timings and the seed', async () => {
    const { result } = (await open()).createSession().send('hi', { ...GREEDY, seed: 11 })
    const { usage, timings, seed } = await result
    expect(usage).toMatchObject({ promptTokens: 20, cachedTokens: 0, droppedTokens: 0, completionTokens: 3 })
    expect(seed).toBe(11)
    expect(timings.firstTokenMs).toBeGreaterThan(0)
    expect(timings.decodeTokensPerSecond).toBeCloseTo((2 * 1000) / timings.decodeMs)
  })

  test('stops before a stop text, which never shows', async () => {
    const engine = await open()
    const reply = engine.createSession().send('one, two, three', { ...GREEDY, stop: [', three', 'two'] })
    expect((await collect(reply)).map(({ text }) => text).join('')).toBe('You said one, ')
    expect(await reply.result).toMatchObject({ text: 'You said one, ', finishReason: 'stop' })
  })

  test('ends at maxTokens and at the end of the context', async () => {
    const engine = await open(toyModel({ contextLength: 100 }))
    expect(await engine.complete('abc', { ...GREEDY, maxTokens: 2 }).result).toMatchObject({
      text: 'de',
      finishReason: 'length',
    })
    const { usage, finishReason } = await engine.complete('abc', GREEDY).result
    expect(finishReason).toBe('length')
    expect(usage.promptTokens + usage.completionTokens).toBe(100)
  })

  test('drops half a character at its end', async () => {
    const reply = (await open()).createSession().send('aé', { ...GREEDY, maxTokens: 3 })
    expect(await reply.text()).toBe('You said a')
  })

  test('is held back when nobody reads, and goes on when somebody does', async () => {
    const toy = toyModel()
    const reply = (await open(toy)).complete('a', { ...GREEDY, maxTokens: 100 })
    let rows: number
    do {
      rows = toy.rows()
      for (let turn = 0; turn < 50; turn++) await turns()
    } while (toy.rows() !== rows || rows === 0)
    expect(rows).toBe(STREAM_CREDITS)
    expect((await collect(reply)).map(({ text }) => text).join('')).toBe((await reply.result).text)
    expect((await reply.result).usage.completionTokens).toBe(100)
  })

  test('with only its result awaited is never held back', async () => {
    const { usage } = await (await open()).complete('a', { ...GREEDY, maxTokens: 5 * STREAM_CREDITS }).result
    expect(usage.completionTokens).toBe(5 * STREAM_CREDITS)
  })

  test('cancelled, resolves with the text so far and frees the engine', async () => {
    const toy = toyModel()
    const engine = await open(toy)
    const reply = engine.complete('a', GREEDY)
    const seen: string[] = []
    for await (const { text } of reply) {
      seen.push(text)
      if (seen.length === 5) reply.cancel()
    }
    const result = await reply.result
    expect(result.finishReason).toBe('cancelled')
    expect(seen.join('')).toBe(result.text)
    expect(result.usage.completionTokens).toBeLessThan(5 + 2 * STREAM_CREDITS)
    expect(result.timings.firstTokenMs).toBeGreaterThan(0)
    const rows = toy.rows()
    for (let turn = 0; turn < 20; turn++) await turns()
    expect(toy.rows()).toBe(rows)
    expect(toy.liveBytes()).toBe(0)
  })

  test('left by break, is cancelled', async () => {
    const reply = (await open()).complete('a', GREEDY)
    for await (const _ of reply) break
    expect((await reply.result).finishReason).toBe('cancelled')
  })

  test('aborted, rejects with the reason of the signal', async () => {
    const engine = await open()
    const controller = new AbortController()
    const reply = engine.complete('a', { ...GREEDY, signal: controller.signal })
    const loop = (async () => {
      for await (const _ of reply) controller.abort()
    })()
    const error = await errorOf(loop)
    expect(error).toMatchObject({ name: 'AbortError' })
    expect(error).toBe(controller.signal.reason)
    await expect(reply.result).rejects.toBe(error)
    expect(await engine.complete('a', { ...GREEDY, maxTokens: 1 }).text()).toBe('b')
  })

  test('of the same seed is the same', async () => {
    const engine = await open()
    const text = (seed: number) =>
      engine.complete('a', { seed, maxTokens: 40, temperature: 40, topK: 0, topP: 1, minP: 0 }).result
    const [first, second, other] = [await text(3), await text(3), await text(4)]
    expect(second.tokens).toEqual(first.tokens)
    expect(other.tokens).not.toEqual(first.tokens)
  })
})

describe('a session', () => {
  test('keeps its conversation, and a second turn only reads what is new', async () => {
    const toy = toyModel()
    const session = (await open(toy)).createSession({ system: 'Be brief.' })
    const first = await session.send('one', GREEDY).result
    expect(session.messages).toEqual([
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'You said one' },
    ])
    const rows = toy.rows()
    const second = await session.send('two', { ...GREEDY, speculation: 'off' }).result
    expect(second.text).toBe('You said two')
    // All of the first turn but its end-of-turn token, which was sampled and never run.
    expect(second.usage.cachedTokens).toBe(first.usage.promptTokens + first.usage.completionTokens)
    expect(toy.rows() - rows).toBe(
      second.usage.promptTokens - second.usage.cachedTokens + second.usage.completionTokens,
    )
    expect(session.contextUsed).toBe(second.usage.promptTokens + second.usage.completionTokens + 1)
  })

  test('edits a message and keeps the state before it', async () => {
    const session = (await open()).createSession()
    await session.send('one', GREEDY).result
    const second = await session.send('two', GREEDY).result
    const edited = await session.edit(2, 'three', GREEDY).result
    expect(edited.text).toBe('You said three')
    expect(session.messages.map(({ content }) => content)).toEqual([
      'one',
      'You said one',
      'three',
      'You said three',
    ])
    expect(edited.usage.cachedTokens).toBeGreaterThanOrEqual(second.usage.cachedTokens)
  })

  test('answers again from the state of the question', async () => {
    const session = (await open()).createSession()
    const first = await session.send('one', GREEDY).result
    const again = await session.regenerate(GREEDY).result
    expect(again.text).toBe(first.text)
    expect(again.usage.cachedTokens).toBe(first.usage.promptTokens - 1)
    expect(session.messages).toHaveLength(2)
  })

  test('takes other messages and keeps what they have in common', async () => {
    const session = (await open()).createSession()
    const first = await session.send('one', GREEDY).result
    session.setMessages([...session.messages.slice(0, 1), { role: 'assistant', content: 'Fine.' }])
    const next = await session.send('two', GREEDY).result
    expect(next.text).toBe('You said two')
    expect(next.usage.cachedTokens).toBe(first.usage.promptTokens)
  })

  test('starts from messages', async () => {
    const messages: Message[] = [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'b' },
    ]
    const session = (await open()).createSession({ messages })
    const counted = (await open()).countTokens([...messages, { role: 'user', content: 'c' }])
    const { text, usage } = await session.send('c', GREEDY).result
    expect(text).toBe('You said c')
    expect(usage.promptTokens).toBe(await counted)
  })

  test('lets a second send wait its turn', async () => {
    const session = (await open()).createSession()
    const order: string[] = []
    const first = session.send('one', GREEDY)
    const second = session.send('two', GREEDY)
    first.result.then(() => order.push(`first, then ${session.messages.length}`))
    second.result.then(() => order.push('second'))
    expect(await second.text()).toBe('You said two')
    expect(order).toEqual(['first, then 2', 'second'])
    expect(session.messages.map(({ content }) => content)).toEqual([
      'one',
      'You said one',
      'two',
      'You said two',
    ])
  })

  test('keeps a cancelled reply and goes on from it', async () => {
    const session = (await open()).createSession()
    const reply = session.send('x'.repeat(200), GREEDY)
    for await (const _ of reply) break
    const { text } = await reply.result
    expect(session.messages.at(-1)).toEqual({ role: 'assistant', content: text })
    const next = await session.send('two', GREEDY).result
    expect(next.text).toBe('You said two')
    expect(next.usage.cachedTokens).toBeGreaterThan(200)
  })

  test('forgets a send that was aborted or failed', async () => {
    const session = (await open()).createSession()
    await session.send('one', GREEDY).result
    const before = session.messages
    const controller = new AbortController()
    const aborted = session.send('y'.repeat(100), { ...GREEDY, signal: controller.signal })
    const loop = (async () => {
      for await (const _ of aborted) {
        expect(session.messages).toHaveLength(3)
        controller.abort('left')
      }
    })()
    await expect(loop).rejects.toBe('left')
    expect(session.messages).toBe(before)
    await errorOf(session.send(`x${NAN_LOGITS}`, GREEDY).result)
    expect(session.messages).toBe(before)
    expect(await session.send('three', GREEDY).text()).toBe('You said three')
  })

  test('as a fork goes its own way from the same state', async () => {
    const session = (await open()).createSession()
    const first = await session.send('one', GREEDY).result
    const copy = await session.fork()
    const [left, right] = await Promise.all([
      session.send('left', GREEDY).result,
      copy.send('right', GREEDY).result,
    ])
    expect([left.text, right.text]).toEqual(['You said left', 'You said right'])
    for (const { usage } of [left, right]) {
      expect(usage.cachedTokens).toBe(first.usage.promptTokens + first.usage.completionTokens)
    }
  })

  test('that begins as another did reads only what differs, whether the other lives, was edited, or has ended', async () => {
    const toy = toyModel()
    const engine = await open(toy)
    const system = 'You are brief, and you never say more than you were asked to say.'
    const first = engine.createSession({ system })
    await first.send('one', GREEDY).result
    const common = `<system>${system}<end><user>`.length - '<end>'.length + 1
    const second = await engine.createSession({ system }).send('two', GREEDY).result
    expect(second.usage.cachedTokens).toBe(common)
    await first.edit(0, 'zero', GREEDY).result
    await first.dispose()
    const again = await engine.createSession({ system }).send('one', GREEDY).result
    expect(again.text).toBe('You said one')
    expect(again.usage.cachedTokens).toBe(again.usage.promptTokens - 1)
    const memory = await engine.memory()
    expect(memory.keptBytes).toBeGreaterThan(0)
  })

  test('that outgrows its context fails by default', async () => {
    const session = (await open(toyModel({ contextLength: 100 }))).createSession()
    await session.send('a'.repeat(20), GREEDY).result
    const error = await errorOf(session.send('b'.repeat(60), GREEDY).result)
    expect(error).toMatchObject({ code: 'context-overflow' })
    expect((error as Error).message).toMatch(
      /needs \d+ tokens and one for the reply, but the context holds 100/,
    )
    expect(session.messages).toHaveLength(2)
  })

  test('that drops the oldest goes on behind what it keeps, from the state it has', async () => {
    const engine = await open(toyModel({ contextLength: 200 }))
    const session = engine.createSession({ system: 'Be brief.', overflow: 'shift' })
    let dropped = 0
    for (let turn = 0; turn < 12; turn++) {
      const { text, usage } = await session.send(`message ${turn}`, GREEDY).result
      expect(text).toBe(`You said message ${turn}`)
      expect(session.contextUsed).toBeLessThanOrEqual(201)
      // Nothing is read twice, whether or not something was dropped now.
      if (turn > 0) expect(usage.promptTokens - usage.droppedTokens - usage.cachedTokens).toBeLessThan(45)
      dropped = Math.max(dropped, usage.droppedTokens)
    }
    expect(dropped).toBeGreaterThan(300)
    expect(session.messages).toHaveLength(24)
    const copy = await session.fork()
    expect(await copy.send('end', GREEDY).text()).toBe('You said end')
    const edited = await session.edit(22, 'other', GREEDY).result
    expect(edited.text).toBe('You said other')
    expect(edited.usage.cachedTokens).toBeGreaterThan(60)
  })

  test('that drops the oldest goes on in the middle of a reply', async () => {
    const engine = await open(toyModel({ contextLength: 100 }))
    const session = engine.createSession({ overflow: 'shift', keep: 2 })
    const long = 'x'.repeat(60)
    const { text, finishReason, usage } = await session.send(long, GREEDY).result
    expect(usage.promptTokens).toBeLessThan(100)
    expect(text.startsWith('You said xxx')).toBe(true)
    expect(finishReason).toBe('length')
    expect(usage.completionTokens).toBe(100)
    const wrong = engine.createSession({ overflow: 'shift', keep: 1.5 }).send('one', GREEDY).result
    expect(await errorOf(wrong)).toMatchObject({ code: 'unsupported' })
  })

  test('saved and restored in another engine goes on without reading anything again', async () => {
    const first = (await open()).createSession({ system: 'Be brief.' })
    await first.send('one', GREEDY).result
    const before = await first.send('a longer question, over more than one block of state', GREEDY).result
    const file = await first.save()
    const session = await (await open()).restoreSession(file)
    expect(session.messages).toEqual(first.messages)
    expect(session.contextUsed).toBe(first.contextUsed)
    const [left, right] = [await first.send('two', PLAIN).result, await session.send('two', PLAIN).result]
    expect(right.text).toBe(left.text)
    expect(right.usage).toEqual(left.usage)
    expect(right.usage.cachedTokens).toBe(before.usage.promptTokens + before.usage.completionTokens)
    await (await (await open()).restoreSession(await session.save())).dispose()
  })

  test('that never spoke, and one that dropped its oldest, are restored too', async () => {
    const small = () => open(toyModel({ contextLength: 200 }))
    const silent = (await small()).createSession({ system: 'Be brief.', messages: [] })
    const again = await (await small()).restoreSession(await silent.save())
    expect(await again.send('one', GREEDY).text()).toBe('You said one')
    const long = (await small()).createSession({ overflow: 'shift' })
    for (let turn = 0; turn < 8; turn++) await long.send(`message ${turn}`, GREEDY).result
    const restored = await (await small()).restoreSession(await long.save())
    const [left, right] = [await long.send('two', PLAIN).result, await restored.send('two', PLAIN).result]
    expect(right.usage).toEqual(left.usage)
    expect(right.usage.droppedTokens).toBeGreaterThan(0)
  })

  test('is not restored from another model, a damaged file or something else, and leaves nothing behind', async () => {
    const session = (await open()).createSession()
    await session.send('some words that fill a block of state and more', GREEDY).result
    const bytes = new Uint8Array(await (await session.save()).arrayBuffer())
    const toy = toyModel()
    const engine = await open(toy)
    const codeOf = async (file: Blob) => ((await errorOf(engine.restoreSession(file))) as HalfbyteError).code
    for (const at of [20, 300, bytes.length - 200, bytes.length - 90, bytes.length - 20]) {
      const wrong = bytes.slice()
      wrong[at]! ^= 1
      expect(await codeOf(new Blob([wrong]))).toBe('integrity')
    }
    for (const length of [bytes.length - 1, bytes.length - 400]) {
      expect(await codeOf(new Blob([bytes.slice(0, length)]))).toBe('integrity')
    }
    for (const wrong of [new Blob([]), new Blob(['x'.repeat(500)])])
      expect(await codeOf(wrong)).toBe('format')
    expect(toy.liveBytes()).toBe(0)
    const other = await open(toyModel({ fingerprint: 'another' }))
    expect(await errorOf(other.restoreSession(new Blob([bytes])))).toMatchObject({ code: 'unsupported' })
    const small = await open(toyModel({ contextLength: 40 }))
    expect(await errorOf(small.restoreSession(new Blob([bytes])))).toMatchObject({ code: 'context-overflow' })
  })

  test('disposed, gives its state back and refuses more', async () => {
    const toy = toyModel()
    const session = (await open(toy)).createSession()
    await session.send('one', GREEDY).result
    expect(toy.liveBytes()).toBeGreaterThan(0)
    const running = session.send('z'.repeat(300), GREEDY)
    await session.dispose()
    expect((await running.result).finishReason).toBe('cancelled')
    expect(toy.liveBytes()).toBe(0)
    expect(await errorOf(session.send('two').result)).toMatchObject({ code: 'disposed' })
    expect(await errorOf(session.fork())).toMatchObject({ code: 'disposed' })
  })

  test.each<[string, (session: Session) => unknown]>([
    ['nothing to answer', (session) => session.send([]).result],
    ['a message that is not there', (session) => session.edit(4, 'x').result],
    [
      'messages replaced under a running generation',
      async (session) => {
        session.send('one')
        session.setMessages([])
      },
    ],
  ])('refuses %s as unsupported', async (_, ask) => {
    const session = (await open()).createSession()
    expect(await errorOf(Promise.resolve(ask(session)))).toMatchObject({ code: 'unsupported' })
  })
})

describe('errors', () => {
  test('keep class, code and detail across the wire', async () => {
    const session = (await open(toyModel({ contextLength: 64 }))).createSession()
    const error = await errorOf(session.send('x'.repeat(100), GREEDY).result)
    expect(error).toBeInstanceOf(HalfbyteError)
    expect(error).toMatchObject({ code: 'context-overflow', detail: { needed: 119, contextLength: 64 } })
    expect(session.messages).toEqual([])
  })

  test('of a call keep them too', async () => {
    const engine = await open()
    const role = 'critic' as 'user'
    const error = await errorOf(engine.countTokens([{ role, content: '' }]))
    expect(error).toBeInstanceOf(HalfbyteError)
    expect(error).toMatchObject({ code: 'unsupported' })
  })

  test('of logits that are not numbers end one generation and no more', async () => {
    const session = (await open()).createSession()
    expect(await errorOf(session.send(`a${NAN_LOGITS}`, GREEDY).result)).toMatchObject({ code: 'internal' })
    expect(await session.send('b', GREEDY).text()).toBe('You said b')
  })

  test('of a dead pool end everything that runs', async () => {
    const engine = await open()
    const other = engine.complete('a', GREEDY)
    for await (const _ of other) {
      const fatal = engine.createSession().send(DEAD_POOL, GREEDY)
      expect(await errorOf(fatal.result)).toMatchObject({ code: 'internal' })
      break
    }
    expect(await errorOf(engine.complete('b', GREEDY).result)).toMatchObject({ code: 'disposed' })
  })

  test.each<[object, RegExp]>([
    [{ topP: 2 }, /topP is 2/],
    [{ maxTokens: 0 }, /maxTokens is 0/],
    [{ stop: [''] }, /stop text is empty/],
    [{ colour: 1 }, /colour is not an option/],
  ])('name what is wrong with %o', async (options, message) => {
    const error = await errorOf((await open()).complete('a', options).result)
    expect(error).toMatchObject({ code: 'unsupported', message: expect.stringMatching(message) })
  })
})

describe('a load', () => {
  const load = (loader: ModelLoader, options = {}) =>
    Engine.open(localConnection(createService(loader)), 'toy', options)

  test('reports progress and tells what was loaded', async () => {
    const seen: LoadProgress[] = []
    const toy = toyModel()
    const engine = await load(
      async (_, { onProgress }) => {
        onProgress({ phase: 'download', loaded: 1, total: 2, cached: false })
        onProgress({ phase: 'warmup' })
        return toy
      },
      { onProgress: (progress: LoadProgress) => seen.push(progress) },
    )
    expect(seen.map(({ phase }) => phase)).toEqual(['download', 'warmup'])
    expect(engine).toMatchObject({ model: { id: 'toy' }, threads: 1, build: 'simd128' })
    expect(await engine.memory()).toEqual(toy.memory())
    await engine.dispose()
    expect(toy.isDisposed()).toBe(true)
  })

  test('that fails rejects with the typed error', async () => {
    const error = await errorOf(
      load(async () => {
        throw new HalfbyteError('architecture', 'what is gpt-9?', { architecture: 'gpt-9' })
      }),
    )
    expect(error).toBeInstanceOf(HalfbyteError)
    expect(error).toMatchObject({ code: 'architecture', detail: { architecture: 'gpt-9' } })
  })

  test('that is aborted rejects with the reason and reaches the loader', async () => {
    const controller = new AbortController()
    let seen: Promise<unknown> | undefined
    const loading = load(
      (_, { signal }) => {
        const loaded = new Promise<never>((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
        })
        seen = loaded.catch((reason: unknown) => reason)
        controller.abort('stop')
        return loaded
      },
      { signal: controller.signal },
    )
    await expect(loading).rejects.toBe('stop')
    expect(await seen).toMatchObject({ name: 'AbortError' })
  })

  test('passes a DOMException on as one', async () => {
    const error = await errorOf(
      load(async () => {
        throw new DOMException('gone', 'NotFoundError')
      }),
    )
    expect(error).toBeInstanceOf(DOMException)
    expect(error).toMatchObject({ name: 'NotFoundError', message: 'gone' })
  })

  test.each([{ threads: 0 }, { contextLength: 1.5 }])('refuses %o', async (options) => {
    expect(await errorOf(load(async () => toyModel(), options))).toMatchObject({ code: 'unsupported' })
  })
})

describe('the end of an engine', () => {
  test('by dispose rejects what is pending and what comes later with disposed', async () => {
    const toy = toyModel()
    const engine = await open(toy)
    const session = engine.createSession()
    const running = session.send('x'.repeat(500), GREEDY)
    for await (const _ of running) {
      await engine.dispose()
      break
    }
    expect(await errorOf(running.result)).toMatchObject({ code: 'disposed' })
    for (const later of [
      engine.memory(),
      engine.countTokens('a'),
      session.send('b').result,
      session.fork(),
    ]) {
      expect(await errorOf(later)).toMatchObject({ code: 'disposed' })
    }
    expect(toy.isDisposed()).toBe(true)
    await session.dispose()
    await engine.dispose()
  })

  test('by the death of its worker rejects what is pending with internal, what comes later with disposed', async () => {
    const engine = await open()
    const { connection } = opened.at(-1)!
    const running = engine.complete('a', GREEDY)
    for await (const _ of running) break
    const session = engine.createSession()
    const stuck = session.send('x'.repeat(500), GREEDY)
    for await (const _ of stuck) {
      const counted = engine.countTokens('abc')
      const waiting = session.send('b', GREEDY).result
      connection.close()
      expect(await errorOf(counted)).toMatchObject({ code: 'internal' })
      expect(await errorOf(waiting)).toMatchObject({ code: 'internal' })
      break
    }
    expect(await errorOf(stuck.result)).toMatchObject({ code: 'internal' })
    const later = await errorOf(engine.memory())
    expect(isHalfbyteError(later) && later.code).toBe('disposed')
  })
})

test('the public types say what the tests above rely on', () => {
  expectTypeOf<Engine>().toExtend<AsyncDisposable>()
  expectTypeOf<Session>().toExtend<AsyncDisposable>()
  expectTypeOf<ReturnType<Engine['complete']>>().toExtend<AsyncIterable<TextChunk>>()
  expectTypeOf<GenerationResult['finishReason']>().toEqualTypeOf<'stop' | 'length' | 'cancelled'>()
  expectTypeOf<Parameters<Session['send']>[0]>().toEqualTypeOf<string | Message | readonly Message[]>()
  expectTypeOf<Session['messages']>().toEqualTypeOf<readonly Message[]>()
  expectTypeOf<HalfbyteError['code']>().not.toEqualTypeOf<string>()
  expectTypeOf(Engine.load).parameter(0).toExtend<string | URL | File | readonly File[] | { repo: string }>()
})
