// In: the built chat page, TinyLlama-1.1B-Chat if it is set up. Out: whether a real chat model downloads,
// answers over several turns, is stopped, and goes on after a reload, with and without isolation.
//
// "npm run setup -- tinyllama" fetches it. Without it these tests are left out.
import { createReadStream, statSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, type Page, test } from '@playwright/test'
import { realModel } from '../../scripts/models/real-models.mjs'
import { answers, kept, openChat, openModels, readTokens, sendButton, set, watch } from './chat-page.ts'

const path = realModel('tinyllama')
/** Loading 322 MB and decoding on a busy machine. */
const PATIENCE_MS = 240_000

test.skip(path === undefined, 'left out: TinyLlama is not set up; run "npm run setup -- tinyllama"')
test.describe.configure({ timeout: 600_000 })

let server: Server
let address: string
test.beforeAll(async () => {
  if (path === undefined) return
  const { size } = statSync(path)
  server = createServer((request, response) => {
    const [, from = '0', to = String(size - 1)] =
      /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? []
    const [start, end] = [Number(from), Math.min(Number(to), size - 1)]
    response.writeHead(request.headers.range === undefined ? 200 : 206, {
      'Access-Control-Allow-Origin': '*',
      'Access-Control-Expose-Headers': 'Content-Range, ETag',
      'Content-Length': end - start + 1,
      'Content-Range': `bytes ${start}-${end}/${size}`,
      ETag: '"tinyllama"',
    })
    createReadStream(path, { start, end }).pipe(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/tinyllama.gguf`
})
test.afterAll(() => server?.close())

const settled = (page: Page) => expect(sendButton(page)).toBeEnabled({ timeout: PATIENCE_MS })
const last = (page: Page) => answers(page).last().locator('.body')

async function load(page: Page): Promise<void> {
  await openModels(page)
  await page.getByLabel('From an address').fill(address)
  await page.getByRole('button', { name: 'Load', exact: true }).click()
  await expect(page.locator('.notice')).toContainText('tinyllama.gguf fits: it needs 1.', { timeout: 60_000 })
  await settled(page)
  await expect(page.locator('.bar .model')).toContainText('tinyllama.gguf')
}

async function askSlowly(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Message' }).fill(text)
  await sendButton(page).click()
  await expect(page.getByRole('button', { name: 'Stop' })).toBeVisible()
  await settled(page)
}

test('it downloads, answers, is stopped, and goes on after a reload without reading again', async ({
  page,
}) => {
  const { problems } = await openChat(page)
  await set(page, { 'Longest answer': '24', 'Context length': '512', Temperature: '0' })
  await load(page)
  await askSlowly(page, 'What is the capital of France?')
  await expect(last(page)).toContainText('Paris')
  await askSlowly(page, 'Which river flows through it?')
  await expect(last(page)).toContainText('Seine')

  await set(page, { 'Longest answer': '400' })
  await watch(page, 30)
  await askSlowly(page, 'Write a long story about a fox.')
  await expect(page.locator('.ending')).toHaveText('Stopped')
  const before = await answers(page).count()
  await expect.poll(() => kept(page), { timeout: 60_000 }).toBe(1)

  await page.reload()
  await settled(page)
  await expect(page.locator('.bar .model')).toContainText('tinyllama.gguf')
  await expect(answers(page)).toHaveCount(before)
  await set(page, { 'Longest answer': '16' })
  await askSlowly(page, 'What is the capital of Italy?')
  // It speaks of Italy, not always of Rome.
  await expect(last(page)).toContainText(/Rome|Ital/)
  const [read, all] = await readTokens(page)
  expect(all).toBeGreaterThan(100)
  expect(read).toBeLessThan(50)
  expect(problems).toEqual([])
})

test('where the page is not isolated, shards answer with the same words', async ({ page, baseURL }) => {
  const place = new URL(baseURL ?? '')
  place.port = String(Number(place.port) + 1)
  await openChat(page, place.href)
  await set(page, { 'Longest answer': '16', 'Context length': '512', Temperature: '0', Threads: '2' })
  await load(page)
  await expect(page.locator('.stats')).toContainText('2 threads,')
  await askSlowly(page, 'What is the capital of France?')
  await expect(last(page)).toContainText('Paris')
})
