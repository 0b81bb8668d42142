// Long conversations. In: a toy model behind the real service, wire and client. Out: state that is moved or
// read in advance.
import { describe, expect, test } from 'vitest'
import type { GenerationResult, PrefillProgress } from '../../index.ts'
import { toyModel } from '../testing/toy-model.ts'
import { errorOf, openToy, PLAIN } from './testing/toy-engine.ts'

describe('a session whose oldest messages are removed', () => {
  /** A session with four turns, and its last two. */
  async function talked(overflow: 'error' | 'shift', isFixed = false) {
    const toy = toyModel({ contextLength: 2000, isFixed })
    const session = (await openToy(toy)).createSession({ system: 'Be brief.', overflow })
    for (let turn = 0; turn < 4; turn++) await session.send(`message ${turn} of a few`, PLAIN).result
    return { session, rest: session.messages.slice(4) }
  }

  test('reads only the new message if it may shift', async () => {
    const { session, rest } = await talked('shift')
    session.setMessages(rest)
    const { text, usage } = await session.send('five', PLAIN).result
    expect(text).toBe('You said five')
    expect(usage.promptTokens - usage.cachedTokens).toBeLessThan(30)
    expect(usage.droppedTokens).toBe(0)
    // The next turn continues from there.
    const next = await session.send('six', PLAIN).result
    expect(next.text).toBe('You said six')
    expect(next.usage.promptTokens - next.usage.cachedTokens).toBeLessThan(30)
  })

  test('keeps a system message among them, and reads only the new message', async () => {
    const { session, rest } = await talked('shift')
    const head = { role: 'system', content: 'Answer in verse.' } as const
    session.setMessages([head, ...session.messages])
    await session.send('five', PLAIN).result
    session.setMessages([head, ...rest])
    const { usage } = await session.send('six', PLAIN).result
    expect(usage.promptTokens - usage.cachedTokens).toBeLessThan(30)
  })

  test('reads the rest in idle time if its state cannot be moved', async () => {
    const { session, rest } = await talked('shift', true)
    session.setMessages(rest)
    const read = await session.prefill()
    expect(read.promptTokens - read.cachedTokens).toBeGreaterThan(60)
    const { text, usage } = await session.send('five', PLAIN).result
    expect(text).toBe('You said five')
    expect(usage.cachedTokens).toBe(read.promptTokens)
  })

  test('reads a changed message again, and what follows it', async () => {
    const { session, rest } = await talked('shift')
    session.setMessages([...rest.slice(0, -1), { role: 'assistant', content: 'You said' }])
    const { usage } = await session.send('five', PLAIN).result
    const { cachedTokens, promptTokens } = usage
    expect(cachedTokens).toBeGreaterThan(60)
    expect(promptTokens - cachedTokens).toBeGreaterThan(20)
  })

  test('reads the rest again if it may not, or if other messages were removed', async () => {
    for (const overflow of ['error', 'shift'] as const) {
      const { session, rest } = await talked(overflow)
      session.setMessages(overflow === 'error' ? rest : session.messages.toSpliced(2, 2))
      const { usage } = await session.send('five', PLAIN).result
      expect(usage.promptTokens - usage.cachedTokens).toBeGreaterThan(60)
    }
  })
})

describe('prefill', () => {
  const long = (turn: number) => `message ${turn} ${'x'.repeat(200)}`

  test('reads a conversation, so that a reply reads only the question', async () => {
    const toy = toyModel()
    const session = (await openToy(toy)).createSession({
      system: 'Be brief.',
      messages: [
        { role: 'user', content: long(0) },
        { role: 'assistant', content: 'Fine.' },
      ],
    })
    const seen: PrefillProgress[] = []
    const read = await session.prefill({ onPrefill: (progress) => seen.push(progress) })
    expect(read).toMatchObject({ cachedTokens: 0, droppedTokens: 0, isComplete: true })
    expect(session.contextUsed).toBe(read.promptTokens)
    expect(seen.length).toBeGreaterThan(0)
    for (const { tokens, total } of seen) {
      expect(total).toBe(read.promptTokens)
      expect(tokens).toBeLessThan(total)
    }
    const rows = toy.rows()
    expect(await session.prefill()).toEqual({ ...read, cachedTokens: read.promptTokens })
    expect(toy.rows()).toBe(rows)
    const { text, usage } = await session.send('two', PLAIN).result
    expect(text).toBe('You said two')
    expect(usage.cachedTokens).toBe(read.promptTokens)
    expect(session.messages).toHaveLength(4)
  })

  test('drops the oldest messages if the next one would not fit', async () => {
    const session = (await openToy(toyModel({ contextLength: 600 }))).createSession({ overflow: 'shift' })
    await session.send('one', PLAIN).result
    await session.send(long(1), PLAIN).result
    await session.send('three', PLAIN).result
    expect((await session.prefill({ room: 20 })).droppedTokens).toBe(0)
    const { droppedTokens } = await session.prefill({ room: 300 })
    expect(droppedTokens).toBeGreaterThan(200)
    expect(session.contextUsed).toBeLessThanOrEqual(300)
    const { text, usage } = await session.send('four', PLAIN).result
    expect(text).toBe('You said four')
    expect(usage.droppedTokens).toBe(droppedTokens)
    expect(await errorOf(session.prefill({ room: 0 }))).toMatchObject({ code: 'unsupported' })
  })

  test('ends when a reply is requested, which continues from what it has read', async () => {
    const engine = await openToy()
    const messages = [
      { role: 'user', content: long(0).repeat(10) },
      { role: 'assistant', content: 'Yes.' },
    ] as const
    const session = engine.createSession({ messages })
    let reply: Promise<GenerationResult> | undefined
    const reading = session.prefill({
      onPrefill: () => {
        reply ??= session.send('two', PLAIN).result
      },
    })
    expect((await reading).isComplete).toBe(false)
    const { text, usage } = await reply!
    expect(text).toBe('You said two')
    expect(usage.cachedTokens).toBeGreaterThan(0)
    expect(usage.cachedTokens).toBeLessThan(2000)
  })

  test('rejects with the reason of its signal, and with an error of its callback', async () => {
    const session = (await openToy()).createSession({
      messages: [{ role: 'user', content: long(0).repeat(10) }],
    })
    const stop = new AbortController()
    const aborted = session.prefill({ signal: stop.signal, onPrefill: () => stop.abort('enough') })
    await expect(aborted).rejects.toBe('enough')
    const failing = session.prefill({ onPrefill: () => Promise.reject(new TypeError('no')) })
    await expect(failing).rejects.toThrow('no')
    expect(await session.send('two', PLAIN).text()).toBe('You said two')
  })

  test('of a reply that reads a long prompt is reported, and can be cancelled', async () => {
    const session = (await openToy()).createSession()
    const seen: PrefillProgress[] = []
    const generation = session.send(long(0).repeat(10), {
      ...PLAIN,
      onPrefill: (progress) => {
        seen.push(progress)
        generation.cancel()
      },
    })
    const { text, finishReason } = await generation.result
    expect([text, finishReason]).toEqual(['', 'cancelled'])
    expect(seen.length).toBeLessThan(4)
    expect(seen[0]!.total).toBeGreaterThan(2000)
  })
})
