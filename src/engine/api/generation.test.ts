// Generations. In: a feed that records its commands. Out: iteration, credit, and exactly one cancel.
import { expect, test } from 'vitest'
import type { Outcome } from '../types/reply.ts'
import type { Sink } from '../wire/reply-stream.ts'
import { startGeneration } from './generation.ts'

const OUTCOME: Outcome = {
  text: 'abc',
  tokens: [1, 2, 3],
  finishReason: 'stop',
  usage: {
    promptTokens: 1,
    cachedTokens: 0,
    droppedTokens: 0,
    completionTokens: 3,
    reasoningTokens: 0,
    draftedTokens: 0,
    acceptedTokens: 0,
  },
  timings: {
    firstTokenMs: 1,
    prefillMs: 1,
    decodeMs: 1,
    prefillTokensPerSecond: 1,
    decodeTokensPerSecond: 1,
  },
}
const CANCELLED: Outcome = { ...OUTCOME, finishReason: 'cancelled' }
const chunk = (text: string) => ({ text, tokens: 1 })

/** A generation whose worker is this test. */
async function begun(signal?: AbortSignal) {
  const asked: string[] = []
  let sink!: Sink
  const generation = startGeneration(signal, async (its) => {
    sink = its
    return { credit: (count) => asked.push(`credit ${count}`), cancel: () => asked.push('cancel') }
  })
  // The feed arrives shortly after the generation was created.
  await Promise.resolve()
  return { generation, asked, sink }
}

test('a loop gets every chunk, returns a credit for each, and ends', async () => {
  const { generation, asked, sink } = await begun()
  for (const text of 'abc') sink.chunk(chunk(text))
  sink.end(OUTCOME, 4)
  const seen: string[] = []
  for await (const { text } of generation) seen.push(text)
  expect(seen).toEqual(['a', 'b', 'c'])
  expect(await generation.text()).toBe('abc')
  expect(asked).toEqual([])
})

test('a taken chunk returns one credit while the reply continues', async () => {
  const { generation, asked, sink } = await begun()
  const iterator = generation[Symbol.asyncIterator]()
  sink.chunk(chunk('a'))
  expect(await iterator.next()).toEqual({ done: false, value: chunk('a') })
  expect(asked).toEqual(['credit 1'])
  const waiting = iterator.next()
  sink.chunk(chunk('b'))
  expect(await waiting).toEqual({ done: false, value: chunk('b') })
  expect(asked).toEqual(['credit 1', 'credit 1'])
  sink.chunk(chunk('c'))
  await Promise.resolve()
  expect(asked).toHaveLength(2)
})

test('leaving the loop cancels exactly once', async () => {
  const { generation, asked, sink } = await begun()
  sink.chunk(chunk('a'))
  sink.chunk(chunk('b'))
  for await (const _ of generation) break
  generation.cancel()
  await generation[Symbol.asyncIterator]().return?.()
  expect(asked.filter((what) => what === 'cancel')).toHaveLength(1)
  sink.end(CANCELLED, 4)
  expect(await generation.result).toEqual(CANCELLED)
})

test('a finished loop does not cancel anything', async () => {
  const { generation, asked, sink } = await begun()
  sink.end(OUTCOME, 4)
  for await (const _ of generation) expect.unreachable()
  generation.cancel()
  expect(asked).toEqual([])
})

test('awaiting the result gives credit for present and future chunks', async () => {
  const { generation, asked, sink } = await begun()
  sink.chunk(chunk('a'))
  sink.chunk(chunk('b'))
  const text = generation.text()
  sink.chunk(chunk('c'))
  expect(asked).toEqual(['credit 2', 'credit 1'])
  sink.end(OUTCOME, 4)
  expect(await text).toBe('abc')
})

test('cancel resolves the result and keeps the given reason', async () => {
  const { generation, sink } = await begun()
  generation.cancel('enough')
  sink.end(CANCELLED, 4)
  expect(await generation.result).toEqual({ ...CANCELLED, reason: 'enough' })
})

test('a generation that is cancelled before its turn does not start', async () => {
  let release!: () => void
  const turn = new Promise<void>((resolve) => {
    release = resolve
  })
  let started = false
  const generation = startGeneration(undefined, async (_, isWanted) => {
    await turn
    started = isWanted()
    return undefined
  })
  generation.cancel()
  expect(await generation.result).toMatchObject({ text: '', finishReason: 'cancelled', tokens: [] })
  release()
  await turn
  expect(started).toBe(false)
})

test('an abort rejects at once with the same reason, and notifies the worker', async () => {
  const controller = new AbortController()
  const { generation, asked, sink } = await begun(controller.signal)
  sink.chunk(chunk('a'))
  const reason = { why: 'left' }
  controller.abort(reason)
  await expect(generation.result).rejects.toBe(reason)
  await expect(generation[Symbol.asyncIterator]().next()).rejects.toBe(reason)
  expect(asked).toEqual(['cancel'])
  sink.end(CANCELLED, 4)
  await expect(generation.text()).rejects.toBe(reason)
})

test('a signal that is already aborted prevents the start', async () => {
  let started = false
  const generation = startGeneration(AbortSignal.abort('no'), async () => {
    started = true
    return undefined
  })
  await expect(generation.result).rejects.toBe('no')
  expect(started).toBe(false)
})

test('a failure reaches the loop after the chunks before it', async () => {
  const { generation, sink } = await begun()
  sink.chunk(chunk('a'))
  const failure = new Error('broken')
  sink.fail(failure)
  const seen: string[] = []
  const loop = async () => {
    for await (const { text } of generation) seen.push(text)
  }
  await expect(loop()).rejects.toBe(failure)
  expect(seen).toEqual(['a'])
})

test('an unawaited result does not cause an unhandled rejection', async () => {
  const unhandled: unknown[] = []
  const record = (reason: unknown) => unhandled.push(reason)
  process.on('unhandledRejection', record)
  const { generation, sink } = await begun()
  sink.fail(new Error('broken'))
  await expect(generation[Symbol.asyncIterator]().next()).rejects.toThrow('broken')
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', record)
  expect(unhandled).toEqual([])
})
