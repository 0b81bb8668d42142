// Sessions. In: a toy model behind the real service, wire and client. Out: conversations that keep their
// state.
import { describe, expect, test } from 'vitest'
import type { HalfbyteError } from '../../core/base/errors.ts'
import type { Message, Session } from '../../index.ts'
import { NAN_LOGITS, toyModel } from '../testing/toy-model.ts'
import { errorOf, GREEDY, openToy, PLAIN } from './testing/toy-engine.ts'

describe('a session', () => {
  test('keeps its conversation, and a second turn only reads new text', async () => {
    const toy = toyModel()
    const session = (await openToy(toy)).createSession({ system: 'Be brief.' })
    const first = await session.send('one', GREEDY).result
    expect(session.messages).toEqual([
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'You said one' },
    ])
    const rows = toy.rows()
    const second = await session.send('two', { ...GREEDY, speculation: 'off' }).result
    expect(second.text).toBe('You said two')
    // All of the first turn except its end-of-turn token, which was sampled but never run.
    expect(second.usage.cachedTokens).toBe(first.usage.promptTokens + first.usage.completionTokens)
    expect(toy.rows() - rows).toBe(
      second.usage.promptTokens - second.usage.cachedTokens + second.usage.completionTokens,
    )
    expect(session.contextUsed).toBe(second.usage.promptTokens + second.usage.completionTokens + 1)
  })

  test('edits a message and keeps the state before it', async () => {
    const session = (await openToy()).createSession()
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

  test('regenerates an answer from the state after the question', async () => {
    const session = (await openToy()).createSession()
    const first = await session.send('one', GREEDY).result
    const again = await session.regenerate(GREEDY).result
    expect(again.text).toBe(first.text)
    expect(again.usage.cachedTokens).toBe(first.usage.promptTokens - 1)
    expect(session.messages).toHaveLength(2)
  })

  test('continues a reply that was cut off without processing it again', async () => {
    const session = (await openToy()).createSession()
    const cut = await session.send('one', { ...PLAIN, maxTokens: 3 }).result
    expect(cut).toMatchObject({ text: 'You said on', finishReason: 'length' })
    const rest = await session.regenerate({ ...PLAIN, prefix: cut.text }).result
    expect(rest).toMatchObject({ text: 'e', finishReason: 'stop' })
    // The reply keeps its ids; only the last one was never run.
    expect(rest.usage.promptTokens).toBe(cut.usage.promptTokens + 3)
    expect(rest.usage.cachedTokens).toBe(cut.usage.promptTokens + 2)
    expect(session.messages.at(-1)).toEqual({ role: 'assistant', content: 'You said one' })
    const next = await session.send('two', PLAIN).result
    expect(next.usage.cachedTokens).toBe(rest.usage.promptTokens + 1)
  })

  test('begins a reply with the given text, and rejects anything else', async () => {
    const session = (await openToy()).createSession()
    const reply = await session.send('three', { ...PLAIN, prefix: 'xx' }).result
    expect(reply.text).toBe('hree')
    expect(session.messages.at(-1)?.content).toBe('xxhree')
    const error = await errorOf(session.send('two', { prefix: 7 as never }).result)
    expect(error).toMatchObject({ code: 'unsupported', message: expect.stringContaining('prefix') })
  })

  test('accepts other messages and keeps the state of their common prefix', async () => {
    const session = (await openToy()).createSession()
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
    const session = (await openToy()).createSession({ messages })
    const counted = (await openToy()).countTokens([...messages, { role: 'user', content: 'c' }])
    const { text, usage } = await session.send('c', GREEDY).result
    expect(text).toBe('You said c')
    expect(usage.promptTokens).toBe(await counted)
  })

  test('makes a second send wait for its turn', async () => {
    const session = (await openToy()).createSession()
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

  test('keeps a cancelled reply and continues from it', async () => {
    const session = (await openToy()).createSession()
    const reply = session.send('x'.repeat(200), GREEDY)
    for await (const _ of reply) break
    const { text } = await reply.result
    expect(session.messages.at(-1)).toEqual({ role: 'assistant', content: text })
    const next = await session.send('two', GREEDY).result
    expect(next.text).toBe('You said two')
    expect(next.usage.cachedTokens).toBeGreaterThan(200)
  })

  test('forgets a send that was aborted or failed', async () => {
    const session = (await openToy()).createSession()
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

  test('and its fork diverge from the same state', async () => {
    const session = (await openToy()).createSession()
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

  test('that begins like another processes only the difference, whether the other is live, was edited, or has ended', async () => {
    const toy = toyModel()
    const engine = await openToy(toy)
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

  test('with more text than fits in its context fails before processing it', async () => {
    const session = (await openToy(toyModel({ contextLength: 100 }))).createSession()
    const error = await errorOf(session.send('b'.repeat(501), GREEDY).result)
    expect(error).toMatchObject({ code: 'context-overflow', detail: { contextLength: 100 } })
    expect((error as Error).message).toMatch(/has 5\d\d characters, but .* has room for at most 500/)
    const shifting = (await openToy(toyModel({ contextLength: 100 }))).createSession({ overflow: 'shift' })
    expect((await shifting.send('b'.repeat(501), GREEDY).result).usage.droppedTokens).toBeGreaterThan(400)
  })

  test('that outgrows its context fails by default', async () => {
    const session = (await openToy(toyModel({ contextLength: 100 }))).createSession()
    await session.send('a'.repeat(20), GREEDY).result
    const error = await errorOf(session.send('b'.repeat(60), GREEDY).result)
    expect(error).toMatchObject({ code: 'context-overflow' })
    expect((error as Error).message).toMatch(
      /needs \d+ tokens and one for the reply, but the context has room for 100/,
    )
    expect(session.messages).toHaveLength(2)
  })

  test('that drops the oldest tokens continues after the kept ones, from existing state', async () => {
    const engine = await openToy(toyModel({ contextLength: 200 }))
    const session = engine.createSession({ system: 'Be brief.', overflow: 'shift' })
    let dropped = 0
    for (let turn = 0; turn < 12; turn++) {
      const { text, usage } = await session.send(`message ${turn}`, GREEDY).result
      expect(text).toBe(`You said message ${turn}`)
      expect(session.contextUsed).toBeLessThanOrEqual(201)
      // Nothing is processed twice, whether or not something was dropped now.
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

  test('that drops the oldest tokens continues in the middle of a reply', async () => {
    const engine = await openToy(toyModel({ contextLength: 100 }))
    const session = engine.createSession({ overflow: 'shift', keep: 2 })
    const long = 'x'.repeat(60)
    const { text, finishReason, usage } = await session.send(long, GREEDY).result
    expect(usage.promptTokens).toBeLessThan(100)
    expect(text.startsWith('You said xxx')).toBe(true)
    expect(finishReason).toBe('length')
    expect(usage.completionTokens).toBe(100)
    const beyond = engine.createSession({ overflow: 'shift' }).send(long, { ...GREEDY, maxTokens: 150 })
    expect((await beyond.result).usage.completionTokens).toBe(150)
    const wrong = engine.createSession({ overflow: 'shift', keep: 1.5 }).send('one', GREEDY).result
    expect(await errorOf(wrong)).toMatchObject({ code: 'unsupported' })
  })

  test('saved and restored in another engine continues without processing anything again', async () => {
    const first = (await openToy()).createSession({ system: 'Be brief.' })
    await first.send('one', GREEDY).result
    const before = await first.send('a longer question, over more than one block of state', GREEDY).result
    const file = await first.save()
    const session = await (await openToy()).restoreSession(file)
    expect(session.messages).toEqual(first.messages)
    expect(session.contextUsed).toBe(first.contextUsed)
    const left = await first.send('two', PLAIN).result
    const right = await session.send('two', PLAIN).result
    expect(right.text).toBe(left.text)
    expect(right.usage).toEqual(left.usage)
    expect(right.usage.cachedTokens).toBe(before.usage.promptTokens + before.usage.completionTokens)
    await (await (await openToy()).restoreSession(await session.save())).dispose()
  })

  test('without any turns, or with dropped tokens, is restored too', async () => {
    const small = () => openToy(toyModel({ contextLength: 200 }))
    const silent = (await small()).createSession({ system: 'Be brief.', messages: [] })
    const again = await (await small()).restoreSession(await silent.save())
    expect(await again.send('one', GREEDY).text()).toBe('You said one')
    const long = (await small()).createSession({ overflow: 'shift' })
    for (let turn = 0; turn < 8; turn++) await long.send(`message ${turn}`, GREEDY).result
    const restored = await (await small()).restoreSession(await long.save())
    const left = await long.send('two', PLAIN).result
    const right = await restored.send('two', PLAIN).result
    expect(right.usage).toEqual(left.usage)
    expect(right.usage.droppedTokens).toBeGreaterThan(0)
  })

  test('is not restored from another model, a damaged file or something else, and leaves nothing behind', async () => {
    const session = (await openToy()).createSession()
    await session.send('some words that fill a block of state and more', GREEDY).result
    const bytes = new Uint8Array(await (await session.save()).arrayBuffer())
    const toy = toyModel()
    const engine = await openToy(toy)
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
    const other = await openToy(toyModel({ fingerprint: 'another' }))
    expect(await errorOf(other.restoreSession(new Blob([bytes])))).toMatchObject({ code: 'unsupported' })
    const small = await openToy(toyModel({ contextLength: 40 }))
    expect(await errorOf(small.restoreSession(new Blob([bytes])))).toMatchObject({ code: 'context-overflow' })
  })

  test('that is disposed releases its state and rejects further calls', async () => {
    const toy = toyModel()
    const session = (await openToy(toy)).createSession()
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
    ['a message that does not exist', (session) => session.edit(4, 'x').result],
    [
      'messages replaced during a generation',
      async (session) => {
        session.send('one')
        session.setMessages([])
      },
    ],
  ])('rejects %s as unsupported', async (_, ask) => {
    const session = (await openToy()).createSession()
    expect(await errorOf(Promise.resolve(ask(session)))).toMatchObject({ code: 'unsupported' })
  })
})
