// Replies. In: a toy model behind the real service, wire and client. Out: the guarantees that a generation
// gives its callers.
import { describe, expect, test } from 'vitest'
import type { TextChunk } from '../../index.ts'
import { toyModel } from '../testing/toy-model.ts'
import { STREAM_CREDITS } from '../wire/reply-stream.ts'
import { errorOf, GREEDY, openToy } from './testing/toy-engine.ts'

async function collect(chunks: AsyncIterable<TextChunk>): Promise<TextChunk[]> {
  const all: TextChunk[] = []
  for await (const chunk of chunks) all.push(chunk)
  return all
}

const turns = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('a generation', () => {
  test('streams whole code points that add up to its text', async () => {
    const session = (await openToy()).createSession()
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
    const { result } = (await openToy()).createSession().send('hi', { ...GREEDY, seed: 11 })
    const { usage, timings, seed } = await result
    expect(usage).toMatchObject({ promptTokens: 20, cachedTokens: 0, droppedTokens: 0, completionTokens: 3 })
    expect(seed).toBe(11)
    expect(timings.firstTokenMs).toBeGreaterThan(0)
    expect(timings.decodeTokensPerSecond).toBeCloseTo((2 * 1000) / timings.decodeMs)
  })

  test('stops before a stop text, which is never shown', async () => {
    const engine = await openToy()
    const reply = engine.createSession().send('one, two, three', { ...GREEDY, stop: [', three', 'two'] })
    expect((await collect(reply)).map(({ text }) => text).join('')).toBe('You said one, ')
    expect(await reply.result).toMatchObject({ text: 'You said one, ', finishReason: 'stop' })
  })

  test('ends at maxTokens and at the end of the context', async () => {
    const engine = await openToy(toyModel({ contextLength: 100 }))
    expect(await engine.complete('abc', { ...GREEDY, maxTokens: 2 }).result).toMatchObject({
      text: 'de',
      finishReason: 'length',
    })
    const { usage, finishReason } = await engine.complete('abc', GREEDY).result
    expect(finishReason).toBe('length')
    expect(usage.promptTokens + usage.completionTokens).toBe(100)
  })

  test('drops an incomplete character at its end', async () => {
    const reply = (await openToy()).createSession().send('aé', { ...GREEDY, maxTokens: 3 })
    expect(await reply.text()).toBe('You said a')
  })

  test('is held back while nobody reads, and continues when somebody does', async () => {
    const toy = toyModel()
    const reply = (await openToy(toy)).complete('a', { ...GREEDY, maxTokens: 100 })
    let rows: number
    do {
      rows = toy.rows()
      for (let turn = 0; turn < 50; turn++) await turns()
    } while (toy.rows() !== rows || rows === 0)
    expect(rows).toBe(STREAM_CREDITS)
    expect((await collect(reply)).map(({ text }) => text).join('')).toBe((await reply.result).text)
    expect((await reply.result).usage.completionTokens).toBe(100)
  })

  test('is never held back if only its result is awaited', async () => {
    const { usage } = await (await openToy()).complete('a', { ...GREEDY, maxTokens: 5 * STREAM_CREDITS })
      .result
    expect(usage.completionTokens).toBe(5 * STREAM_CREDITS)
  })

  test('that is cancelled resolves with the text so far and frees the engine', async () => {
    const toy = toyModel()
    const engine = await openToy(toy)
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

  test('is cancelled if its loop is left with break', async () => {
    const reply = (await openToy()).complete('a', GREEDY)
    for await (const _ of reply) break
    expect((await reply.result).finishReason).toBe('cancelled')
  })

  test('that is aborted rejects with the signal’s reason', async () => {
    const engine = await openToy()
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

  test('with the same seed is the same', async () => {
    const engine = await openToy()
    const text = (seed: number) =>
      engine.complete('a', { seed, maxTokens: 40, temperature: 40, topK: 0, topP: 1, minP: 0 }).result
    const first = await text(3)
    const second = await text(3)
    const other = await text(4)
    expect(second.tokens).toEqual(first.tokens)
    expect(other.tokens).not.toEqual(first.tokens)
  })
})
