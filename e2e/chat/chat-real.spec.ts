// In: the built chat page, TinyLlama-1.1B-Chat and MiniMind2-small if they are set up. Out: whether a real
// chat model downloads, answers over several turns, is stopped, and goes on after a reload, with and without
// isolation.
//
// "npm run setup -- tinyllama minimind2" fetches them. Without them these tests are left out.
import { createReadStream, existsSync, statSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, join } from 'node:path'
import { expect, type Page, test } from '@playwright/test'
import { realModel } from '../../scripts/models/real-models.mjs'
import {
  answers,
  keptNames,
  loadingLine,
  openChat,
  openModels,
  readTokens,
  sendButton,
  set,
  watch,
} from './chat-page.ts'

/** Loading 322 MB and decoding on a busy machine. */
const PATIENCE_MS = 600_000
/** Bytes by a reload: small files beside the weights, and the one that tells whether these are the same. */
const MOST_FETCHED = 2_000_000
const MODELS = { tinyllama: realModel('tinyllama'), minimind2: realModel('minimind2') }

test.describe.configure({ timeout: 1_200_000 })
// A trace would hold every byte of the models.
test.use({ trace: 'off' })

let server: Server
let address: string
/** Bytes of the models that the page has fetched. */
let fetched = 0
test.beforeAll(async () => {
  server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://models')
    const [, name = '', rest = ''] = pathname.split('/')
    const home = MODELS[name as keyof typeof MODELS]
    const path = home?.endsWith('.gguf') && rest === basename(home) ? home : join(home ?? '', rest)
    if (home === undefined || !existsSync(path)) {
      return void response.writeHead(404, { 'Access-Control-Allow-Origin': '*' }).end()
    }
    const { size } = statSync(path)
    const [, from = '0', to = String(size - 1)] =
      /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? []
    const [start, end] = [Number(from), Math.min(Number(to), size - 1)]
    fetched += end - start + 1
    response.writeHead(request.headers.range === undefined ? 200 : 206, {
      'Access-Control-Allow-Origin': '*',
      'Access-Control-Expose-Headers': 'Content-Range, ETag',
      'Content-Length': end - start + 1,
      'Content-Range': `bytes ${start}-${end}/${size}`,
      ETag: `"${rest}"`,
    })
    createReadStream(path, { start, end }).pipe(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
})
test.afterAll(() => server.close())

const leaveOutWithout = (name: keyof typeof MODELS) =>
  test.skip(MODELS[name] === undefined, `left out: ${name} is not set up; run "npm run setup -- ${name}"`)
/** Waits until no model is on its way and nothing is being answered. */
async function settled(page: Page): Promise<void> {
  await expect(loadingLine(page)).toHaveCount(0, { timeout: PATIENCE_MS })
  await expect(sendButton(page)).toBeEnabled({ timeout: PATIENCE_MS })
}
/** Waits until a later turn than `earlier` is stored, and returns its name. */
async function keptAfter(page: Page, earlier?: string): Promise<string> {
  const later = async () => (await keptNames(page)).filter((name) => name !== earlier)
  await expect.poll(async () => (await later()).length, { timeout: 120_000 }).toBe(1)
  return (await later())[0]!
}

const last = (page: Page) => answers(page).last().locator('.body')

/** `fits`: what is said before the download. */
async function load(page: Page, place: string, name: string, fits: string): Promise<void> {
  await openModels(page)
  await page.getByLabel('From an address').fill(`${address}${place}`)
  await page.getByRole('button', { name: 'Load', exact: true }).click()
  await expect(page.getByRole('status').filter({ hasText: fits })).toBeVisible({ timeout: 60_000 })
  await settled(page)
  await expect(page.locator('.bar .model')).toContainText(name)
}

const loadTinyLlama = (page: Page) => {
  const file = basename(MODELS.tinyllama!)
  return load(page, `tinyllama/${file}`, file, `${file} fits: it needs 1.`)
}

async function askSlowly(page: Page, text: string): Promise<void> {
  const before = await answers(page).count()
  await page.getByRole('textbox', { name: 'Message' }).fill(text)
  await sendButton(page).click()
  await expect(answers(page)).toHaveCount(before + 1, { timeout: 60_000 })
  await settled(page)
}

/** Stops a long answer, waits until its state is stored, and opens the page again with `model`. */
async function stopAndReload(page: Page, model: string, stored: string): Promise<void> {
  await set(page, { 'Longest answer': '400' })
  await watch(page, 30)
  await askSlowly(page, 'Write a long story about a fox.')
  await expect(page.locator('.ending')).toHaveText('Stopped')
  const before = await answers(page).count()
  await keptAfter(page, stored)

  fetched = 0
  await page.reload()
  await settled(page)
  await expect(page.locator('.bar .model')).toContainText(model)
  await expect(answers(page)).toHaveCount(before)
  await set(page, { 'Longest answer': '16' })
}

test('TinyLlama downloads, answers, is stopped, and goes on after a reload without reading again', async ({
  page,
}) => {
  leaveOutWithout('tinyllama')
  const { problems } = await openChat(page)
  await set(page, { 'Longest answer': '24', 'Context length': '512', Temperature: '0' })
  await loadTinyLlama(page)
  await askSlowly(page, 'What is the capital of France?')
  await expect(last(page)).toContainText('Paris')
  let stored = await keptAfter(page)
  await askSlowly(page, 'Which river flows through it?')
  await expect(last(page)).toContainText('Seine')
  stored = await keptAfter(page, stored)

  await stopAndReload(page, 'tinyllama', stored)
  await askSlowly(page, 'What is the capital of Italy?')
  // It speaks of Italy, not always of Rome.
  await expect(last(page)).toContainText(/Rome|Ital/)
  const [read, all] = await readTokens(page)
  expect(all).toBeGreaterThan(100)
  expect(read).toBeLessThan(50)
  expect(fetched, 'the weights come from the device').toBeLessThan(MOST_FETCHED)
  expect(problems).toEqual([])
})

test('where the page is not isolated, shards of TinyLlama answer', async ({ page, baseURL }) => {
  leaveOutWithout('tinyllama')
  const place = new URL(baseURL ?? '')
  place.port = String(Number(place.port) + 1)
  await openChat(page, place.href)
  await set(page, { 'Longest answer': '16', 'Context length': '512', Temperature: '0', Threads: '2' })
  await loadTinyLlama(page)
  await expect(page.locator('.stats')).toContainText('2 threads,')
  await askSlowly(page, 'What is the capital of France?')
  await expect(last(page)).toContainText('Paris')
})

test('MiniMind2 downloads, answers, is stopped, and goes on after a reload without reading again', async ({
  page,
}) => {
  leaveOutWithout('minimind2')
  const { problems } = await openChat(page)
  await set(page, { 'Longest answer': '24', 'Context length': '512', Temperature: '0' })
  await load(page, 'minimind2/', 'minimind2', 'fits: it needs')
  await askSlowly(page, 'What is the capital of France?')
  await expect(last(page)).toContainText('Paris')
  const stored = await keptAfter(page)

  await stopAndReload(page, 'minimind2', stored)
  await askSlowly(page, 'What is the capital of France?')
  await expect(last(page)).toContainText(/\w/)
  const [read, all] = await readTokens(page)
  expect(all).toBeGreaterThan(60)
  expect(read).toBeLessThan(40)
  expect(fetched, 'the weights come from the device').toBeLessThan(MOST_FETCHED)
  expect(problems).toEqual([])
})
