// Aborts. In: long operations other than replies, and signals. Out: the signal's reason immediately, with
// nothing left behind.
import { expect, test } from 'vitest'
import { patternWork } from '../../core/constrain/refuse.ts'
import { memoryStorage } from '../../core/store/testing/memory-folders.ts'
import type { Session } from '../../index.ts'
import { toyModel } from '../testing/toy-model.ts'
import { errorOf, GREEDY, openToy, PLAIN } from './testing/toy-engine.ts'

const turns = async (count = 50) => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setTimeout(resolve))
}

const asked: [string, (session: Session, signal: AbortSignal) => Promise<unknown>][] = [
  ['fork', (session, signal) => session.fork({ signal })],
  ['save', (session, signal) => session.save({ signal })],
  ['store', (session, signal) => session.store('name', { signal })],
]

test.each(asked)('%s waits for the running reply, and an abort ends the wait', async (_, ask) => {
  const toy = toyModel()
  const session = (await openToy(toy)).createSession()
  const reply = session.send('x'.repeat(300), PLAIN)
  for await (const _ of reply) {
    const controller = new AbortController()
    const asking = ask(session, controller.signal)
    controller.abort('enough')
    expect(await errorOf(asking)).toBe('enough')
    expect(session.messages).toHaveLength(1)
    break
  }
  await reply.result
  expect(await session.send('go on', GREEDY).text()).toBe('You said go on')
  await session.dispose()
  await turns()
  expect(toy.liveBytes()).toBe(0)
})

test.each(asked)('%s with an already aborted signal does nothing', async (_, ask) => {
  const session = (await openToy()).createSession()
  expect(await errorOf(ask(session, AbortSignal.abort('no')))).toBe('no')
})

test('a fork includes the system prompt and the reply that was running when the fork was requested', async () => {
  const session = (await openToy()).createSession({ system: 'Be brief.' })
  const reply = session.send('one', GREEDY)
  const copy = await session.fork()
  expect((await reply.result).text).toBe('You said one')
  expect(copy.messages).toEqual(session.messages)
  expect(copy.contextUsed).toBe(session.contextUsed)
  const left = await session.send('two', PLAIN).result
  const right = await copy.send('two', PLAIN).result
  expect(right.usage.promptTokens).toBe(left.usage.promptTokens)
})

test('a file includes the reply that was running when the file was requested', async () => {
  const engine = await openToy()
  const session = engine.createSession()
  const reply = session.send('one', GREEDY)
  const file = await session.save()
  await reply.result
  expect((await engine.restoreSession(file)).messages).toEqual(session.messages)
})

test('a store that is aborted during writing leaves no file', async () => {
  const folder = memoryStorage()('halfbyte-sessions')
  const toy = toyModel()
  const session = (await openToy(toy)).createSession()
  await session.send('some words that fill many blocks of state. '.repeat(40), GREEDY).result
  const before = toy.liveBytes()
  const controller = new AbortController()
  const storing = session.store('trip', { signal: controller.signal })
  while (folder.entries.size === 0) await turns(1)
  controller.abort('enough')
  expect(await errorOf(storing)).toBe('enough')
  await turns()
  expect([...folder.entries.keys()]).toEqual([])
  expect(toy.liveBytes()).toBe(before)
})

test('a restore that is aborted, before or during reading, leaves no state', async () => {
  const first = (await openToy()).createSession()
  await first.send('some words that fill a block of state and more', GREEDY).result
  const file = await first.save()
  for (const after of [0, 1, 2, 3, 5, 8, 13]) {
    const toy = toyModel()
    const engine = await openToy(toy)
    const controller = new AbortController()
    const restoring = engine.restoreSession(file, { signal: controller.signal }).then(
      async (session) => {
        await session.dispose()
        return 'enough'
      },
      (reason: unknown) => reason,
    )
    await turns(after)
    controller.abort('enough')
    expect(await restoring).toBe('enough')
    await turns()
    expect(toy.liveBytes()).toBe(0)
  }
})

test('scoring and embedding stop when aborted, and release their state', async () => {
  const texts = Array.from({ length: 40 }, (_, index) => `${index} `.repeat(200))
  for (const work of ['score', 'scoreTokens', 'embed'] as const) {
    const toy = toyModel()
    const engine = await openToy(toy)
    const controller = new AbortController()
    const { signal } = controller
    const asking = {
      score: () => engine.score('a', texts, { signal }),
      scoreTokens: () => engine.scoreTokens('a '.repeat(2000), { signal }),
      embed: () => engine.embed(texts, { signal }),
    }[work]()
    await turns(3)
    controller.abort('enough')
    expect(await errorOf(asking)).toBe('enough')
    await turns()
    const rows = toy.rows()
    expect(rows).toBeLessThan(40 * 400)
    await turns()
    expect(toy.rows()).toBe(rows)
    expect(toy.liveBytes()).toBe(0)
  }
  const toy = toyModel()
  await (await openToy(toy)).embed(['a', 'b'])
  expect(toy.liveBytes()).toBe(0)
})

test('an abort while a large grammar compiles ends the reply at once, and then the compilation', async () => {
  const engine = await openToy()
  const pattern = (times: number) => ({ type: 'string', pattern: `^(?!.*x{${times}}[ab]{9}).*a[ab]{9}$` })
  const names = Array.from({ length: 90 }, (_, at) => [`p${at}`, pattern(at + 1)])
  const schema = { type: 'object', properties: Object.fromEntries(names) }
  const controller = new AbortController()
  const reply = engine.complete('a', { ...PLAIN, schema, signal: controller.signal })
  let slices = 0
  const atWork = patternWork.spentUnits
  while (patternWork.spentUnits === atWork || slices < 3) {
    await turns(1)
    slices += 1
  }
  controller.abort('enough')
  expect(await errorOf(reply.result)).toBe('enough')
  await turns(2)
  const { spentUnits } = patternWork
  // The complete compilation takes more than 7,000,000 units.
  expect(spentUnits).toBeLessThan(2e6)
  await turns()
  expect(patternWork.spentUnits).toBe(spentUnits)
  expect(await engine.createSession().send('go on', GREEDY).text()).toBe('You said go on')
})
