// Landscape. In: the built chat page on a phone in landscape. Out: whether users can see and use everything
// that fits in portrait.
import { expect, test } from '@playwright/test'
import { endlessModel } from '../endless-model.ts'
import { type ModelServer, serveModels } from '../model-server.ts'
import { violations } from '../violations.ts'
import {
  ask,
  composer,
  loadingLine,
  openChat,
  openModels,
  openSettings,
  overflowing,
  sendButton,
} from './chat-page.ts'

test.use({ viewport: { width: 740, height: 360 }, reducedMotion: 'reduce' })

let server: ModelServer
test.beforeAll(async () => {
  server = await serveModels(endlessModel())
})
test.afterAll(() => server.close())

for (const { name, viewport } of [
  { name: 'a page at 400 %', viewport: { width: 320, height: 256 } },
  { name: 'a phone on its side with a keyboard', viewport: { width: 740, height: 170 } },
]) {
  test(`${name} shows the composer and part of the conversation`, async ({ page }) => {
    await page.setViewportSize(viewport)
    await openChat(page)
    await ask(page, 'Hello!')
    await expect(composer(page)).toBeInViewport({ ratio: 1 })
    await expect(sendButton(page)).toBeInViewport({ ratio: 1 })
    await expect(page.locator('.message.assistant .actions')).toBeInViewport()
    expect(await overflowing(page)).toEqual([])
    await openSettings(page)
    await expect(page.getByRole('button', { name: 'Done' })).toBeInViewport({ ratio: 1 })
    await expect(page.getByLabel('Instructions for the model')).toBeInViewport()
  })
}

test('the welcome screen starts at its top, and nothing is cut off', async ({ page }) => {
  await openChat(page)
  const heading = page.getByRole('heading', { name: 'A language model in this page' })
  await expect(heading).toBeInViewport({ ratio: 1 })
  expect(await page.locator('.log').evaluate(({ scrollTop }) => scrollTop)).toBe(0)
  expect(await overflowing(page)).toEqual([])
  expect(await violations(page)).toEqual([])
  await page.screenshot({ path: 'build/screens/landscape.png' })
  await ask(page, 'Hello!')
  await openSettings(page)
  await page.getByRole('button', { name: 'How it runs' }).click()
  await expect(page.getByRole('dialog', { name: 'How it runs' }).getByRole('table')).toBeVisible()
  await page.screenshot({ path: 'build/screens/landscape-runs.png' })
})

test('a load shows its progress and can be cancelled, without moving anything', async ({ page }) => {
  await openChat(page)
  const place = async () => (await composer(page).boundingBox())?.y
  const before = await place()
  server.bytesPerSecond = 100_000
  await openModels(page)
  await page.getByLabel('From an address').fill(server.address)
  await page.getByRole('button', { name: 'Load', exact: true }).click()
  await expect(loadingLine(page)).toBeVisible()
  await expect(loadingLine(page)).toBeInViewport({ ratio: 1 })
  expect(await place()).toBe(before)
  expect(await overflowing(page)).toEqual([])
  await page.screenshot({ path: 'build/screens/landscape-loading.png' })
  await page.getByRole('button', { name: 'Cancel' }).click()
  await expect(loadingLine(page)).toHaveCount(0)
  expect(await place()).toBe(before)
})
