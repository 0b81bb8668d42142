// An example's page. In: its URL. Out: whether it answers, even after a failure, and loads nothing before the
// first question.
import { expect as baseExpect, type Page } from '@playwright/test'

const expect = baseExpect.configure({ timeout: 45_000 })

const send = (page: Page) => page.getByRole('button', { name: 'Send' })

/** Resolves when the reply is complete. */
async function reply(page: Page): Promise<void> {
  await send(page).click()
  await expect(page.locator('#out')).toHaveText(/^\s*[A-Z].{100,}/s)
  await expect(send(page)).toBeEnabled()
  await expect(page.getByRole('alert').filter({ hasText: /./ })).toHaveCount(0)
}

export async function tryExample(page: Page, address: string, isIsolated = true): Promise<void> {
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(error.message))
  let downloads = 0
  page.context().on('request', (request) => {
    if (request.url().includes('.hbm')) downloads++
  })
  await page.goto(address)
  expect(await page.evaluate(() => crossOriginIsolated)).toBe(isIsolated)
  await expect(send(page)).toBeEnabled()
  expect(downloads, 'before the first question').toBe(0)

  await page.context().route(/\.hbm/, (route) => route.fulfill({ status: 404 }))
  await send(page).click()
  await expect(page.getByRole('alert').filter({ hasText: '404' })).toBeVisible()
  await page.context().unroute(/\.hbm/)
  await reply(page)

  const toggle = page.getByRole('button', { name: 'Close the chat' })
  if ((await toggle.count()) > 0) {
    const before = downloads
    await send(page).click()
    await expect(page.locator('#out')).not.toBeEmpty()
    await toggle.click()
    await expect(page.locator('#out')).toHaveCount(0)
    await page.getByRole('button', { name: 'Open the chat' }).click()
    await reply(page)
    expect(downloads, 'after the chat was opened again').toBe(before)
  }
  expect(problems).toEqual([])
}
