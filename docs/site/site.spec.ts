// In: the built site in a browser. Out: whether a reader can find pages, in light and dark mode, and can try
// the chat.
import { expect, type Page, test } from '@playwright/test'
import { violations } from '../../e2e/violations.ts'

/** What the page reports as errors, and every request to another site. */
function watch(page: Page): string[] {
  const seen: string[] = []
  page.on('console', (message) => message.type() === 'error' && seen.push(message.text()))
  page.on('pageerror', (error) => seen.push(error.message))
  page.on('request', (request) => {
    const { protocol, hostname } = new URL(request.url())
    if (protocol.startsWith('http') && hostname !== '127.0.0.1') seen.push(request.url())
  })
  return seen
}

test('the search finds an option, and its page states the default', async ({ page }) => {
  const seen = watch(page)
  await page.goto('/')
  await page.getByRole('button', { name: 'Search' }).click()
  // Queries by role do not find the contents of VitePress's search dialog.
  await page.locator('#localsearch-input').fill('contextLength')
  await page.locator('.VPLocalSearchBox .result').filter({ hasText: 'LoadOptions' }).first().click()
  await expect(page).toHaveURL(/LoadOptions/)
  await expect(page.getByRole('row').filter({ hasText: 'contextLength' }).first()).toContainText('Default')
  expect(seen).toEqual([])
})

test('the search for another library finds the page that compares them', async ({ page }) => {
  const seen = watch(page)
  await page.goto('/')
  await page.getByRole('button', { name: 'Search' }).click()
  await page.locator('#localsearch-input').fill('web-llm')
  await page.locator('.VPLocalSearchBox .result').filter({ hasText: 'Compared with' }).first().click()
  await expect(page).toHaveURL(/compared/)
  await expect(page.getByRole('row').filter({ hasText: 'wllama 3' }).first()).toContainText('MB')
  expect(seen).toEqual([])
})

test('the examples’ code is shown, and a link of the guide works', async ({ page }) => {
  const seen = watch(page)
  await page.goto('/examples.html')
  await expect(page.getByRole('heading', { level: 2, name: /plain-page/ })).toBeVisible()
  await expect(page.locator('pre').filter({ hasText: 'Engine.load' }).first()).toBeVisible()
  await page.getByRole('main').getByRole('link', { name: 'docs/guide/bundlers.md' }).click()
  await expect(page).toHaveURL(/guide\/bundlers/)
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
  expect(seen).toEqual([])
})

test('nothing is wider than the screen, and axe finds no violations', async ({ page }) => {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    for (const path of ['/', '/start.html', '/guide/widget.html', '/api/halfbyte/classes/Engine.html']) {
      await page.goto(path)
      await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
      const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      expect(beyond, path).toBeLessThanOrEqual(0)
      expect(await violations(page, '.VPContent'), `${path} ${colorScheme}`).toEqual([])
    }
  }
})

test('the chat page loads and answers', async ({ page }) => {
  await page.goto('/')
  await page.getByRole('link', { name: 'Try the chat' }).click()
  await page.getByRole('button', { name: 'Hello! How are you?' }).click()
  await expect(page.locator('.message.assistant .body')).toHaveText(/\w+/)
})
