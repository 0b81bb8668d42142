// Tests that all bytes arrive over a link at the requested speed, and none arrive once it is cut.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { type HttpServer, openServer } from '../../../../test/helpers/http-server.ts'
import { turns } from '../../../../test/helpers/turns.ts'
import { type LinkTime, openLink } from './link.ts'

const BODY = Uint8Array.from({ length: 200_000 }, (_, at) => at % 251)
const FREE = { bytesPerSecond: Number.POSITIVE_INFINITY, roundTripMs: 0 }

let server: HttpServer
beforeAll(async () => {
  // The connection ends while most of the body is still in transit.
  server = await openServer((_, response) => response.setHeader('Connection', 'close').end(BODY))
})
afterAll(() => server.close())

/** Advances to the next due timer, one per turn, until it is stopped. */
class SteppedClock implements LinkTime {
  #ms = 0
  #isStopped = false
  #due: { readonly at: number; readonly wake: () => void }[] = []

  now = () => this.#ms
  sleep = (ms: number) =>
    new Promise<void>((wake) => {
      this.#due.push({ at: this.#ms + ms, wake })
    })

  /** Starts once `waiting` timers are pending at the same time. */
  async run(waiting: number): Promise<void> {
    while (this.#due.length < waiting) await turns(1)
    while (!this.#isStopped) {
      const next = this.#due.sort((one, other) => one.at - other.at).shift()
      this.#ms = Math.max(this.#ms, next?.at ?? 0)
      next?.wake()
      await turns(1)
    }
  }

  stop(): void {
    this.#isStopped = true
  }
}

const read = async (address: string) => new Uint8Array(await (await fetch(address)).arrayBuffer())

test('the same bytes arrive and are counted', async () => {
  const link = await openLink(server.port, FREE)
  expect(await read(link.address)).toEqual(BODY)
  expect(link.bytes).toBeGreaterThan(BODY.length)
  expect(link.bytes).toBeLessThan(BODY.length + 1000)
  link.cut()
})

test('connections share the speed, and each waits for its round trips', async () => {
  const clock = new SteppedClock()
  const link = await openLink(server.port, { bytesPerSecond: 1_000_000, roundTripMs: 100 }, clock)
  const reading = Promise.all([read(link.address), read(link.address)])
  const running = clock.run(2)
  expect(await reading).toEqual([BODY, BODY])
  clock.stop()
  await running
  // 400 kB at 1 MB/s, a round trip to connect and one to ask.
  expect(clock.now()).toBeGreaterThan(599)
  link.cut()
})

test('cutting a link ends connections in progress and refuses new ones', async () => {
  const link = await openLink(server.port, { bytesPerSecond: 100_000, roundTripMs: 0 })
  const response = await fetch(link.address)
  link.cut()
  await expect(response.arrayBuffer()).rejects.toThrow()
  await expect(fetch(link.address)).rejects.toThrow()
})
