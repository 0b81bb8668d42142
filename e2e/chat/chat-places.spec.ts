// Environments. In: the built chat page without isolation, without a secure context, or offline. Out: whether
// it still answers.
import { networkInterfaces } from 'node:os'
import { expect, type Page, test } from '@playwright/test'
import { answers, ask, openChat, openModels, ready, set } from './chat-page.ts'

/** The configuration's second server does not send COOP and COEP. */
const notIsolated = (baseURL: string | undefined) => {
  const address = new URL(baseURL ?? '')
  address.port = String(Number(address.port) + 1)
  return address.href
}

async function answersHere(page: Page): Promise<void> {
  await set(page, { 'Longest answer': '20' })
  await ask(page, 'Hello!')
  await expect(answers(page).locator('.body')).not.toBeEmpty()
}

test('a page that is not isolated answers with as many workers as are worthwhile', async ({
  page,
  baseURL,
}) => {
  const { problems } = await openChat(page, notIsolated(baseURL))
  expect(await page.evaluate(() => crossOriginIsolated)).toBe(false)
  await expect(page.locator('.stats')).toContainText(/\d threads?,/)
  await answersHere(page)
  expect(problems).toEqual([])
})

test('a page that is not isolated splits the model among the requested number of workers', async ({
  page,
  baseURL,
}) => {
  await openChat(page, notIsolated(baseURL))
  await set(page, { Threads: '3' })
  await page.getByRole('button', { name: 'Reload the model' }).click()
  await ready(page)
  await expect(page.locator('.stats')).toContainText('3 threads,')
  await answersHere(page)
})

test.describe('with its service worker', () => {
  test.use({ serviceWorkers: 'allow' })

  test('after the first visit, it opens and answers offline', async ({ page, context }) => {
    await openChat(page)
    await answersHere(page)
    await page.evaluate(async () => {
      await navigator.serviceWorker.ready
    })
    const kept = (path: string) =>
      page.evaluate(async (name) => (await caches.match(name)) !== undefined, path)
    await expect.poll(() => kept('./index.html')).toBe(true)
    await page.goto('/roofline.html?quick')
    await expect(page.locator('roofline-page h1')).toBeVisible()
    await page.goto('/')
    await ready(page)
    await context.setOffline(true)
    await page.reload()
    await ready(page)
    expect(await page.evaluate(() => crossOriginIsolated), 'cached files keep their headers').toBe(true)
    await ask(page, 'Hello again!')
    await expect(answers(page).last().locator('.body')).not.toBeEmpty()
    await set(page, { Threads: '2' })
    await page.getByRole('button', { name: 'Reload the model' }).click()
    await ready(page)
    await expect(page.locator('.stats')).toContainText('2 threads')
    await page.goto('/roofline.html?quick')
    await expect(page.locator('roofline-page h1')).toBeVisible()
  })
})

test('the files for installing the page exist', async ({ page }) => {
  await openChat(page)
  const address = await page.locator('link[rel=manifest]').evaluate((link: HTMLLinkElement) => link.href)
  const manifest: { icons: { src: string; sizes: string }[] } = await (await page.request.get(address)).json()
  for (const { src, sizes } of manifest.icons) {
    const icon = await page.request.get(new URL(src, address).href)
    expect(icon.ok(), `${src} ${sizes}`).toBe(true)
  }
  expect(manifest.icons.map(({ sizes }) => sizes)).toEqual(expect.arrayContaining(['192x192', '512x512']))
})

/**
 * An address of this machine that is not a secure context, as when a phone opens a page on the local network.
 */
function plainAddress(): string | undefined {
  const found = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  return found.find(({ family, internal }) => family === 'IPv4' && !internal)?.address
}

test('over plain HTTP, without a secure context, it answers and can copy', async ({ page, baseURL }) => {
  const host = plainAddress()
  test.skip(host === undefined, 'this machine has no address other than loopback')
  const { preview } = await import('vite')
  const server = await preview({
    configFile: new URL('../../demo/vite.config.ts', import.meta.url).pathname,
    preview: { host: '0.0.0.0', port: 0 },
    logLevel: 'warn',
  })
  const bound = server.httpServer.address()
  const port = typeof bound === 'object' && bound !== null ? bound.port : new URL(baseURL ?? '').port
  try {
    const { problems } = await openChat(page, `http://${host}:${port}/`)
    expect(await page.evaluate(() => isSecureContext)).toBe(false)
    // The page does not claim to store a model that it cannot store.
    await openModels(page)
    await expect(page.getByRole('dialog')).toContainText('It is downloaded on each visit')
    await expect(page.getByRole('dialog')).not.toContainText('kept on this device')
    await page.keyboard.press('Escape')
    await answersHere(page)
    await page.getByRole('button', { name: 'Copy', exact: true }).last().click()
    await expect(page.getByRole('button', { name: 'Copied' })).toBeVisible()
    expect(problems).toEqual([])
  } finally {
    await server.close()
  }
})
