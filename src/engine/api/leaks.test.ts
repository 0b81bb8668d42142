// Leaks. In: disposed engines, aborted waits. Out: none of their objects are left after garbage collection.
import { queryObjects } from 'node:v8'
import { expect, test } from 'vitest'
import { createService } from '../service.ts'
import { toyModel } from '../testing/toy-model.ts'
import { EngineClient } from '../wire/client.ts'
import { localConnection } from '../wire/connection.ts'
import { Engine } from './engine.ts'
import { errorOf, PLAIN } from './testing/toy-engine.ts'

/** The number of reachable objects of a class. Finalised objects may release more in the next collection. */
async function count(kind: abstract new (...how: never[]) => object): Promise<number> {
  let found = 0
  for (let collection = 0; collection < 3; collection++) {
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
    found = queryObjects(kind as never, { format: 'count' }) as unknown as number
  }
  return found
}

const openToy = () => Engine.open(localConnection(createService(async () => toyModel())), 'toy')

const ROUNDS = 12
/** Objects of the last round may still be on the stack. */
const MAX_LEFT = 3

/**
 * How many more objects of a class exist after each of ROUNDS rounds than after the first few, which create
 * one-time objects.
 */
async function growth(kind: Parameters<typeof count>[0], round: () => Promise<void>): Promise<number> {
  const rounds = async (times: number) => {
    for (let time = 0; time < times; time++) await round()
  }
  await rounds(3)
  const before = await count(kind)
  await rounds(ROUNDS)
  return (await count(kind)) - before
}

test('disposed engines are collected, even in the middle of a reply', async () => {
  const round = async () => {
    const engine = await openToy()
    const running = engine.createSession().send('x'.repeat(300), PLAIN)
    await Promise.all([engine.dispose(), errorOf(running.result)])
  }
  expect(await growth(EngineClient, round)).toBeLessThan(MAX_LEFT)
})

test('loads that failed are collected', async () => {
  const round = async () => {
    const refused = localConnection(createService(() => Promise.reject(new Error('no'))))
    await errorOf(Engine.open(refused, 'toy'))
  }
  expect(await growth(EngineClient, round)).toBeLessThan(MAX_LEFT)
})

test('a request aborted before its turn leaves no port', async () => {
  const engine = await openToy()
  const session = engine.createSession()
  const round = async () => {
    const running = session.send('x'.repeat(300), PLAIN)
    const abort = new AbortController()
    const forking = session.fork({ signal: abort.signal })
    abort.abort('enough')
    expect(await errorOf(forking)).toBe('enough')
    running.cancel()
    await running.result
    session.setMessages([])
  }
  expect(await growth(MessagePort, round)).toBeLessThan(MAX_LEFT)
  await engine.dispose()
})
