// Streams. In: both ends of a channel. Out: credit that limits the worker, and ends that arrive exactly once.
import { expect, test } from 'vitest'
import { HalfbyteError } from '../../core/base/errors.ts'
import type { Outcome, PrefillProgress, TextChunk } from '../types/reply.ts'
import { openFeed, openOutlet, STREAM_CREDITS } from './reply-stream.ts'

const OUTCOME: Outcome = {
  text: 'x',
  tokens: [1],
  finishReason: 'stop',
  usage: {
    promptTokens: 1,
    cachedTokens: 0,
    droppedTokens: 0,
    completionTokens: 1,
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
const CHUNK: TextChunk = { text: 'x', tokens: 1 }

function pair() {
  const { port1, port2 } = new MessageChannel()
  const chunks: TextChunk[] = []
  const { promise, resolve, reject } = settle<{ outcome: Outcome; contextUsed: number }>()
  const outlet = openOutlet(port2)
  const progress: PrefillProgress[] = []
  const feed = openFeed(port1, {
    prefill: (read) => progress.push(read),
    chunk: (chunk) => chunks.push(chunk),
    end: (outcome, contextUsed) => resolve({ outcome, contextUsed }),
    fail: reject,
  })
  return { outlet, feed, progress, chunks, ended: promise }
}

function settle<T>() {
  let resolve!: (value: T) => void
  let reject!: (error: unknown) => void
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}

test('the worker may be exactly that many chunks ahead', async () => {
  const { outlet, feed, progress, chunks, ended } = pair()
  // Progress needs no credit.
  outlet.prefill({ tokens: 64, total: 100 })
  for (let sent = 1; sent < STREAM_CREDITS; sent++) expect(outlet.send(CHUNK)).toBeUndefined()
  const held = outlet.send(CHUNK)
  expect(held).toBeInstanceOf(Promise)
  feed.credit(1)
  await held
  const again = outlet.send(CHUNK)
  expect(again).toBeInstanceOf(Promise)
  feed.credit(STREAM_CREDITS)
  await again
  outlet.end(OUTCOME, 0)
  await ended
  expect(chunks).toHaveLength(STREAM_CREDITS + 1)
  expect(progress).toEqual([{ tokens: 64, total: 100 }])
})

test('a cancel aborts the signal and releases a waiting worker', async () => {
  const { outlet, feed } = pair()
  let held: Promise<void> | undefined
  while (held === undefined) held = outlet.send(CHUNK)
  feed.cancel()
  await held
  expect(outlet.signal.aborted).toBe(true)
  expect(outlet.send(CHUNK)).toBeUndefined()
  outlet.end(OUTCOME, 0)
})

test('the end carries the outcome and the session’s token count', async () => {
  const { outlet, ended } = pair()
  outlet.end(OUTCOME, 7)
  expect(await ended).toEqual({ outcome: OUTCOME, contextUsed: 7 })
})

test('a failure keeps its class, code and detail', async () => {
  const { outlet, ended } = pair()
  outlet.fail(new HalfbyteError('out-of-memory', 'too much', { neededBytes: 5 }))
  const error = await ended.catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(HalfbyteError)
  expect(error).toMatchObject({ code: 'out-of-memory', message: 'too much', detail: { neededBytes: 5 } })
})

test('an unknown error becomes internal and keeps its message', async () => {
  const { outlet, ended } = pair()
  outlet.fail(new TypeError('x is not a function'))
  await expect(ended).rejects.toMatchObject({
    code: 'internal',
    message: expect.stringContaining('TypeError: x is not a function'),
  })
})
