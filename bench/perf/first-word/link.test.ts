// Tests that all bytes arrive over a link as slowly as was asked, and none once it is cut.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { type HttpServer, openServer } from '../../../test/helpers/http-server.ts'
import { openLink } from './link.ts'

const BODY = Uint8Array.from({ length: 200_000 }, (_, at) => at % 251)
const FREE = { bytesPerSecond: Number.POSITIVE_INFINITY, roundTripMs: 0 }

let server: HttpServer
beforeAll(async () => {
  // The connection ends while most of the body is still on its way.
  server = await openServer((_, response) => response.setHeader('Connection', 'close').end(BODY))
})
afterAll(() => server.close())

const read = async (address: string) => new Uint8Array(await (await fetch(address)).arrayBuffer())

test('the same bytes arrive and are counted', async () => {
  const link = await openLink(server.port, FREE)
  expect(await read(link.address)).toEqual(BODY)
  expect(link.bytes).toBeGreaterThan(BODY.length)
  expect(link.bytes).toBeLessThan(BODY.length + 1000)
  link.cut()
})

test('connections share the speed, and each waits for its round trips', async () => {
  const link = await openLink(server.port, { bytesPerSecond: 1_000_000, roundTripMs: 100 })
  const started = performance.now()
  const bodies = await Promise.all([read(link.address), read(link.address)])
  expect(bodies).toEqual([BODY, BODY])
  // 400 kB at 1 MB/s, a round trip to connect and one to ask.
  expect(performance.now() - started).toBeGreaterThan(590)
  link.cut()
})

test('a link that is cut ends what is under way and refuses the next', async () => {
  const link = await openLink(server.port, { bytesPerSecond: 100_000, roundTripMs: 0 })
  const response = await fetch(link.address)
  link.cut()
  await expect(response.arrayBuffer()).rejects.toThrow()
  await expect(fetch(link.address)).rejects.toThrow()
})
