// Tests of calls. In: a service behind a channel. Out: its answers and errors as if it were here, whatever else passes on the line.
import { afterEach, expect, test } from 'vitest'
import { HalfbyteError } from '../base/errors.ts'
import { answerCalls, callService } from './calls.ts'

const service = {
  held: 5,
  add: (a: number, b: number) => a + b,
  async later(text: string): Promise<string> {
    await new Promise((resolve) => setTimeout(resolve, 5))
    return text
  },
  self(): number {
    return this.held
  },
  fail(): never {
    throw new HalfbyteError('storage-full', 'needs 5 and has 3', { size: 5 })
  },
  async abort(): Promise<void> {
    throw new DOMException('enough', 'AbortError')
  },
  slip(): never {
    throw new RangeError('a slip')
  },
  mere(): never {
    throw 'a text'
  },
  closure: () => () => 1,
  echo(port: MessagePort): void {
    port.onmessage = ({ data }) => port.postMessage(data)
  },
}

const opened: MessagePort[] = []
afterEach(() => {
  for (const port of opened.splice(0)) port.close()
})

function connected() {
  const { port1, port2 } = new MessageChannel()
  opened.push(port1, port2)
  answerCalls(service, port2)
  return { calls: callService<typeof service>(port1), port1, port2 }
}

test('answers go to the calls that asked, in any order', async () => {
  const { calls } = connected()
  const slow = calls.later('slow')
  expect(await calls.add(2, 3)).toBe(5)
  expect(await calls.self()).toBe(5)
  expect(await slow).toBe('slow')
})

test('errors keep class, code and detail; what is not ours is internal and names its class', async () => {
  const { calls } = connected()
  await expect(calls.fail()).rejects.toMatchObject({ code: 'storage-full', detail: { size: 5 } })
  const aborted = await calls.abort().catch((error) => error)
  expect(aborted).toBeInstanceOf(DOMException)
  expect(aborted).toMatchObject({ name: 'AbortError', message: 'enough' })
  await expect(calls.slip()).rejects.toMatchObject({ code: 'internal', detail: { name: 'RangeError' } })
  await expect(calls.slip()).rejects.toThrow('a slip')
  await expect(calls.mere()).rejects.toThrow('a text')
})

test('what cannot be cloned rejects, on its way there and back, and the line stays in order', async () => {
  const { calls } = connected()
  await expect(calls.closure()).rejects.toThrow(/could not be cloned/)
  await expect(calls.later((() => 1) as unknown as string)).rejects.toThrow(/could not be cloned/)
  expect(await calls.add(1, 1)).toBe(2)
})

test('a method that is not there is an error and no silence', async () => {
  const { calls } = connected()
  const absent = calls as unknown as { absent(): Promise<void> }
  await expect(absent.absent()).rejects.toMatchObject({ code: 'internal' })
})

test('ports are handed over', async () => {
  const { calls } = connected()
  const { port1, port2 } = new MessageChannel()
  opened.push(port1)
  await calls.echo(port2)
  const answer = new Promise((resolve) => {
    port1.onmessage = ({ data }) => resolve(data)
  })
  port1.postMessage('back')
  expect(await answer).toBe('back')
})

test('other messages on the same line are nobody’s calls', async () => {
  const { calls, port1, port2 } = connected()
  for (const port of [port1, port2]) {
    for (const message of [{ type: 'ping' }, undefined, null, 'text', 7]) port.postMessage(message)
  }
  expect(await calls.add(1, 2)).toBe(3)
})
