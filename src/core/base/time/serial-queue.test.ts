import { expect, test } from 'vitest'
import { SerialQueue } from './serial-queue.ts'

/** Work that ends on request, and a log of events. */
function watched(queue: SerialQueue) {
  const events: string[] = []
  const gates = new Map<string, ReturnType<typeof Promise.withResolvers<string>>>()
  const run = (name: string, signal?: AbortSignal) =>
    queue.run(() => {
      events.push(`${name} begins`)
      const gate = Promise.withResolvers<string>()
      gates.set(name, gate)
      return gate.promise.finally(() => events.push(`${name} ends`))
    }, signal)
  return { events, run, gate: (name: string) => gates.get(name)! }
}

/** Lets every reaction to a settled promise run. */
const reactions = () => new Promise((resolve) => setImmediate(resolve))

test('work runs one piece at a time, in the order of the requests', async () => {
  const { events, run, gate } = watched(new SerialQueue())
  const both = [run('first'), run('second')]
  await reactions()
  expect(events).toEqual(['first begins'])
  gate('first').resolve('1')
  await reactions()
  expect(events).toEqual(['first begins', 'first ends', 'second begins'])
  gate('second').resolve('2')
  expect(await Promise.all(both)).toEqual(['1', '2'])
})

test('work that rejects or throws does not stop what comes after it', async () => {
  const queue = new SerialQueue()
  const failed = [
    queue.run(() => Promise.reject(new Error('rejected'))),
    queue.run(() => {
      throw new Error('thrown')
    }),
  ]
  const last = queue.run(() => 3)
  expect(await Promise.allSettled(failed)).toMatchObject([
    { reason: { message: 'rejected' } },
    { reason: { message: 'thrown' } },
  ])
  expect(await last).toBe(3)
})

test('an abort rejects waiting work at once, which then never begins', async () => {
  const { events, run, gate } = watched(new SerialQueue())
  const first = run('first')
  const abort = new AbortController()
  const waiting = run('waiting', abort.signal)
  const last = run('last')
  await reactions()
  abort.abort(new Error('not wanted'))
  await expect(waiting).rejects.toThrow('not wanted')
  expect(events).toEqual(['first begins'])
  gate('first').resolve('1')
  await first
  await reactions()
  gate('last').resolve('3')
  expect(await last).toBe('3')
  expect(events).toEqual(['first begins', 'first ends', 'last begins', 'last ends'])
})

test('a signal that is already aborted rejects without waiting', async () => {
  const { run, gate } = watched(new SerialQueue())
  const first = run('first')
  await reactions()
  await expect(run('second', AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late')
  gate('first').resolve('1')
  await first
})

test('work that is aborted while it runs keeps its place until it ends', async () => {
  const { events, run, gate } = watched(new SerialQueue())
  const abort = new AbortController()
  const first = run('first', abort.signal)
  const second = run('second')
  await reactions()
  abort.abort(new Error('not wanted'))
  await expect(first).rejects.toThrow('not wanted')
  expect(events).toEqual(['first begins'])
  gate('first').resolve('1')
  await reactions()
  gate('second').resolve('2')
  await second
  expect(events).toEqual(['first begins', 'first ends', 'second begins', 'second ends'])
})

test('later work waits for added work to settle, whether it succeeds or fails', async () => {
  const queue = new SerialQueue()
  const added = Promise.withResolvers<void>()
  queue.add(added.promise)
  let hasBegun = false
  const after = queue.run(() => {
    hasBegun = true
  })
  await reactions()
  expect(hasBegun).toBe(false)
  added.reject(new Error('failed'))
  await after
  expect(hasBegun).toBe(true)
})

test('a place in the queue stays taken until its holder releases it', async () => {
  const { events, run, gate } = watched(new SerialQueue())
  const queue = new SerialQueue()
  const leave = await queue.enter()
  const after = queue.run(() => run('after'))
  await reactions()
  expect(events).toEqual([])
  leave()
  await reactions()
  gate('after').resolve('done')
  expect(await after).toBe('done')
})

test('an abort releases a place that is still waiting', async () => {
  const queue = new SerialQueue()
  const leave = await queue.enter()
  const abort = new AbortController()
  const entered = queue.enter(abort.signal)
  const after = queue.run(() => 'after')
  abort.abort(new Error('not wanted'))
  await expect(entered).rejects.toThrow('not wanted')
  leave()
  expect(await after).toBe('after')
})

test('settled waits for the work so far but not for later work', async () => {
  const { run, gate } = watched(new SerialQueue())
  const queue = new SerialQueue()
  const first = queue.run(() => run('first'))
  let isSettled = false
  const settled = queue.settled().then(() => {
    isSettled = true
  })
  const never = Promise.withResolvers<void>()
  void queue.run(() => never.promise)
  await reactions()
  expect(isSettled).toBe(false)
  gate('first').reject(new Error('failed'))
  await expect(first).rejects.toThrow('failed')
  await settled
})
