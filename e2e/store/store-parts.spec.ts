// Packs in parts. In: a pack in three files, on a server that fails in the second. Out: the model, with each
// part downloaded once.
import { expect, type Page } from '@playwright/test'
import { openEngine } from '../../test/conformance/testing/node-engine.ts'
import { FRIENDLY, load, MIB, stored, test } from '../golden-server.ts'
import { openLibrary } from '../library-site.ts'
import { splitPack } from '../split-pack.ts'

const { 'whole.hbm': WHOLE, ...PARTS } = await splitPack()
const PROMPT = 'the river goes to the sea'
const OPTIONS = { temperature: 0, maxTokens: 24 } as const
const [FIRST, SECOND, THIRD] = Object.keys(PARTS) as [string, string, string]
/** The text of the unsplit pack. */
let TEXT = ''

test.beforeAll(async () => {
  const engine = await openEngine([new File([new Uint8Array(WHOLE!)], 'whole.hbm')])
  TEXT = await engine.complete(PROMPT, OPTIONS).text()
  await engine.dispose()
})

test.beforeEach(({ server }) => {
  for (const [name, bytes] of Object.entries(PARTS)) server.files.set(name, bytes)
})

/** The reply, or the error's code. */
const reply = async (page: Page, url: string): Promise<string | undefined> => {
  const { text, code } = await load(page, url, PROMPT, OPTIONS)
  return text ?? code
}

/** The requested files in order, each once. */
const asked = (requests: readonly string[]) => [
  ...new Set(requests.map((request) => request.split(' ')[1]?.slice(1))),
]

test('a pack in parts loads by the address of any of them, and then from storage', async ({
  page,
  site,
  server,
}) => {
  await openLibrary(page, site.isolated)
  expect(Object.keys(PARTS)).toHaveLength(3)
  expect(await reply(page, server.address + FIRST)).toBe(TEXT)
  expect(asked(server.requests)).toEqual([FIRST, SECOND, THIRD])
  expect(await stored(page, server.address + FIRST)).toBe(WHOLE?.byteLength)
  server.requests.length = 0
  expect(await reply(page, server.address + THIRD)).toBe(TEXT)
  expect(server.requests).toEqual([])
})

test('a connection lost in the second part is resumed there', async ({ page, site, server }) => {
  await openLibrary(page, site.isolated)
  server.behaviour = { ...FRIENDLY, only: SECOND, cutAfter: MIB, cuts: 3 }
  expect(await reply(page, server.address + FIRST)).toBe(TEXT)
  expect(server.behaviour.cuts).toBe(0)
})

test('a page closed in the second part requests only the missing bytes when it returns', async ({
  page,
  site,
  server,
}) => {
  await openLibrary(page, site.isolated)
  server.behaviour = { ...FRIENDLY, only: SECOND, stallsBefore: 4 * MIB }
  await page.evaluate((url) => void halfbyte.Engine.load(url, { threads: 1 }), server.address + FIRST)
  const sizes = () => page.evaluate(async () => (await halfbyte.storedFiles()).map(({ size }) => size))
  const lastChunk = PARTS[SECOND]!.byteLength - 4 * MIB
  await expect.poll(sizes).toEqual(expect.arrayContaining([PARTS[FIRST]?.byteLength, lastChunk]))
  await page.reload()
  await openLibrary(page, site.isolated)
  server.behaviour = { ...FRIENDLY }
  server.requests.length = 0
  expect(await reply(page, server.address + FIRST)).toBe(TEXT)
  expect(asked(server.requests)).toEqual([SECOND, THIRD])
  expect(server.requests).not.toContainEqual(expect.stringContaining(`/${SECOND} bytes=${4 * MIB}-`))
})

test('a byte corrupted once in the second part is downloaded again in the same load', async ({
  page,
  site,
  server,
}) => {
  await openLibrary(page, site.isolated)
  server.behaviour = { ...FRIENDLY, only: SECOND, flips: 1000, flipTimes: 1 }
  expect(await reply(page, server.address + FIRST)).toBe(TEXT)
  const ranges = server.requests.filter((request) => request.includes(`/${SECOND} bytes=0-`))
  expect(ranges).toHaveLength(2)
})

test('a byte corrupted every time causes an error, and only its chunk is downloaded again', async ({
  page,
  site,
  server,
}) => {
  await openLibrary(page, site.isolated)
  server.behaviour = { ...FRIENDLY, only: SECOND, flips: 1000 }
  expect(await reply(page, server.address + FIRST)).toBe('integrity')
  server.behaviour = { ...FRIENDLY }
  server.requests.length = 0
  expect(await reply(page, server.address + FIRST)).toBe(TEXT)
  // For the other parts, one range request confirms that they are unchanged.
  const ranges = (name: string) => server.requests.filter((request) => request.includes(`/${name} bytes=`))
  expect(ranges(SECOND)).toEqual([`GET /${SECOND} bytes=0-${4 * MIB - 1}`])
  expect([ranges(FIRST).length, ranges(THIRD).length]).toEqual([1, 1])
})

test('a missing part, one that is too short and one from another pack cause errors, and the next load succeeds', async ({
  page,
  site,
  server,
}) => {
  await openLibrary(page, site.isolated)
  const url = server.address + FIRST
  const second = PARTS[SECOND] as Uint8Array
  const swapped = second.slice().reverse()
  for (const [bytes, code] of [
    [undefined, 'network'],
    [second.subarray(0, -64), 'format'],
    [swapped, 'integrity'],
  ] as const) {
    if (bytes === undefined) server.files.delete(SECOND)
    else server.files.set(SECOND, bytes)
    server.behaviour.etag = `"${code}"`
    expect(await reply(page, url)).toBe(code)
  }
  server.files.set(SECOND, second)
  server.behaviour.etag = '"2"'
  expect(await reply(page, url)).toBe(TEXT)
})
