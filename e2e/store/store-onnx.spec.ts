// ONNX from an address. In: a graph with external data, on a server that stalls. Out: the reply, with each
// part of the data downloaded once.
import { basename } from 'node:path'
import { expect } from '@playwright/test'
import { openEngine } from '../../test/conformance/testing/node-engine.ts'
import { FRIENDLY, load, MIB, test } from '../golden-server.ts'
import { openLibrary } from '../library-site.ts'
import { tinyOnnx } from '../small-models.ts'

const PROMPT = 'the river'
const OPTIONS = { temperature: 0, maxTokens: 16 } as const
const FILES = new Map<string, Uint8Array<ArrayBuffer>>()
let DATA = ''
let TEXT = ''

test.beforeAll(async () => {
  for (const file of await tinyOnnx()) FILES.set(`onnx/${file.name}`, await file.bytes())
  DATA = [...FILES.keys()].find((name) => name.endsWith('.data'))!
  // Padding after the tensors makes the same data span several chunks.
  const long = new Uint8Array(11 * MIB)
  long.set(FILES.get(DATA)!)
  FILES.set(DATA, long)
  const engine = await openEngine([...FILES].map(([name, bytes]) => new File([bytes], basename(name))))
  TEXT = await engine.complete(PROMPT, OPTIONS).text()
  await engine.dispose()
})

test.beforeEach(({ server }) => {
  for (const [name, bytes] of FILES) server.files.set(name, bytes)
})

test('a page closed while downloading the data requests only the rest when it returns', async ({
  page,
  site,
  server,
}) => {
  const address = `${server.address}onnx/model.onnx`
  await openLibrary(page, site.isolated)
  server.behaviour = { ...FRIENDLY, only: DATA, stallsBefore: 8 * MIB }
  await page.evaluate((url) => void halfbyte.Engine.load(url, { threads: 1 }), address)
  const sizes = () => page.evaluate(async () => (await halfbyte.storedFiles()).map(({ size }) => size))
  await expect.poll(sizes).toContainEqual(3 * MIB)
  await page.reload()
  await openLibrary(page, site.isolated)
  server.behaviour = { ...FRIENDLY }
  server.requests.length = 0
  expect(await load(page, address, PROMPT, OPTIONS)).toEqual({ text: TEXT })
  const ranges = server.requests.filter((request) => request.includes(`/${DATA} bytes=`))
  expect(ranges.length).toBeGreaterThan(0)
  expect(ranges.filter((request) => request.includes(`bytes=${8 * MIB}-`))).toEqual([])
  server.requests.length = 0
  expect(await load(page, address, PROMPT, OPTIONS)).toEqual({ text: TEXT })
  expect(server.requests.filter((request) => request.includes(DATA))).toEqual([])
})

test('a connection lost in the data is resumed there', async ({ page, site, server }) => {
  await openLibrary(page, site.isolated)
  server.behaviour = { ...FRIENDLY, only: DATA, cutAfter: MIB, cuts: 3 }
  expect(await load(page, `${server.address}onnx/model.onnx`, PROMPT, OPTIONS)).toEqual({ text: TEXT })
  expect(server.behaviour.cuts).toBe(0)
})
