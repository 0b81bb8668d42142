// The first visit. In: the built chat page and a server that counts bytes. Out: whether a first visit
// downloads what it needs once and early.
import { gzipSync } from 'node:zlib'
import { expect, type Page, test } from '@playwright/test'
import { ask, openChat, ready, set } from '../chat-page.ts'
import { type CountedSite, countedSite } from './counted-site.ts'

/**
 * Maximum bytes in total, as a multiple of the needed files: allows for the headers of revalidations that
 * found nothing new.
 */
const MAX_BYTES = 1.05
/** Maximum bytes of the page's own scripts before the first message, compressed. */
const MAX_SCRIPT = 120 * 1024

test.use({ serviceWorkers: 'allow' })

let site: CountedSite

test.beforeEach(async () => {
  site = await countedSite()
})
test.afterEach(() => site.close())

/** Waits until the service worker has cached the page. */
async function keptOffline(page: Page): Promise<void> {
  await expect
    .poll(() =>
      page.evaluate(async () => {
        const names = await caches.keys()
        const kept = await Promise.all(
          names.map(async (name) => (await (await caches.open(name)).keys()).length),
        )
        return Math.max(0, ...kept)
      }),
    )
    .toBeGreaterThan(10)
  await expect
    .poll(() => page.evaluate(async () => (await caches.match('./index.html')) !== undefined))
    .toBe(true)
}

test('a first visit transfers each file once, and only the engine build in use', async ({ page }, info) => {
  await openChat(page, site.address)
  await set(page, { 'Longest answer': '10' })
  expect(site.asked, 'before the first answer').not.toContain('/sw.js')
  await ask(page, 'Hello!')
  await keptOffline(page)
  await page.waitForTimeout(500)
  const largest = new Map<string, number>()
  for (const { path, bytes } of site.answers) largest.set(path, Math.max(bytes, largest.get(path) ?? 0))
  const needed = [...largest.values()].reduce((sum, bytes) => sum + bytes, 0)
  const sent = site.answers.reduce((sum, { bytes }) => sum + bytes, 0)
  const text = `${sent} bytes sent, ${needed} needed: ${(sent / needed).toFixed(3)}`
  info.annotations.push({ type: 'first visit', description: text })
  console.log(`first visit: ${text}`)
  expect(sent / needed, site.answers.map(({ path, bytes }) => `${path} ${bytes}`).join('\n')).toBeLessThan(
    MAX_BYTES,
  )
  const paths = [...largest.keys()]
  expect(paths.filter((path) => path.endsWith('.wasm'))).toHaveLength(1)
  expect(paths.filter((path) => path.endsWith('.hbm'))).toHaveLength(1)
  expect(paths.filter((path) => path.includes('roofline'))).toEqual([])
})

test('the model and the module are requested in parallel with the engine’s worker, not after it', async ({
  page,
}) => {
  const both = Promise.withResolvers<void>()
  site.hold = (path) => {
    const isThere = ['.wasm', '.hbm'].every((end) => site.asked.some((asked) => asked.endsWith(end)))
    if (isThere) both.resolve()
    return path.includes('engine.worker') ? both.promise : undefined
  }
  await openChat(page, site.address)
  expect(site.asked.filter((path) => path.includes('engine.worker')).length).toBeGreaterThan(0)
})

test('the scripts of the page before the first message are small', async ({ page }, info) => {
  const scripts = new Map<string, number>()
  page.on('response', async (response) => {
    const isPart = response.request().resourceType() === 'script' && !response.url().includes('worker')
    if (!isPart) return
    scripts.set(new URL(response.url()).pathname, gzipSync(await response.body()).byteLength)
  })
  await openChat(page, site.address)
  await page.waitForTimeout(2000)
  const bytes = [...scripts.values()].reduce((sum, size) => sum + size, 0)
  info.annotations.push({ type: 'scripts, gzip', description: `${bytes} bytes` })
  console.log(`page scripts: ${bytes} bytes with gzip`)
  expect(scripts.size).toBeGreaterThan(5)
  expect(bytes).toBeLessThan(MAX_SCRIPT)
})

test('the entry imports no script but the early ones, so that the model is requested at once', async ({
  page,
  request,
}) => {
  await page.goto(site.address)
  const entry = await page.locator('script[type=module][src]').getAttribute('src')
  const code = await (await request.get(new URL(entry ?? '', site.address).href)).text()
  expect([...code.matchAll(/(?:from|import)\s*"\.\/([a-z-]+?)-[^"]*"/g)].map(([, name]) => name)).toEqual([
    'early',
  ])
})

test('a second visit reads the model and the module from storage', async ({ page }) => {
  await openChat(page, site.address)
  await set(page, { 'Longest answer': '10' })
  await ask(page, 'Hello!')
  await keptOffline(page)
  site.answers.length = 0
  await page.reload()
  await ready(page)
  const bytes = site.answers.reduce((sum, answer) => sum + answer.bytes, 0)
  expect(bytes, site.answers.map(({ path, bytes: size }) => `${path} ${size}`).join('\n')).toBeLessThan(
    20_000,
  )
})
