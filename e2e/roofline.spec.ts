// The roofline page. In: the built page. Out: whether it measures, draws, copies and stops, with and without
// shared memory.
import { expect, type Page, test } from '@playwright/test'
import { violations } from './violations.ts'

const start = (page: Page) => page.getByRole('button', { name: 'Start', exact: true })
const again = (page: Page) => page.getByRole('button', { name: 'Measure again' })

async function measure(page: Page, address: string): Promise<readonly string[]> {
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(error.message))
  await page.goto(address)
  await start(page).click()
  await expect(again(page)).toBeVisible({ timeout: 90_000 })
  return problems
}

for (const colorScheme of ['light', 'dark'] as const) {
  test.describe(`${colorScheme} theme`, () => {
    test.use({ colorScheme })

    test('measures this device and shows the result as a plot and as tables', async ({ page }) => {
      const problems = await measure(page, '/roofline.html?quick')
      await expect(page.getByRole('img', { name: /Memory gives [\d.]+ GB\/s/ })).toBeVisible()
      await expect(page.locator('.plot canvas')).toHaveCount(1)
      const steps = page.getByRole('table', { name: 'Steps against the limit' })
      await expect(steps.getByRole('rowheader', { name: /decode at position \d+, relaxed/ })).not.toHaveCount(
        0,
      )
      await expect(page.getByRole('table', { name: /^Worst ops: decode/ })).toHaveCount(1)
      await expect(page.getByRole('table', { name: /^Machine: simd128/ })).toBeVisible()
      expect(await violations(page)).toEqual([])
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      expect(overflow).toBeLessThanOrEqual(0)
      expect(problems).toEqual([])
    })
  })
}

test('shows another build and another number of threads', async ({ page }) => {
  await measure(page, '/roofline.html?quick')
  await page.getByLabel('Build and threads').selectOption({ label: 'simd128, 1 thread' })
  await expect(page.getByRole('table', { name: /^By kind: decode .* simd128, 1 thread$/ })).toHaveCount(1)
  await expect(page.getByRole('table', { name: /^By kind: decode .* relaxed/ })).toHaveCount(0)
  await expect(page.locator('.plot canvas')).toHaveCount(1)
})

test('copies all tables as Markdown', async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await measure(page, '/roofline.html?quick')
  await page.getByRole('button', { name: 'Copy as Markdown' }).click()
  await expect(page.getByText('Copied.')).toBeVisible()
  const text = await page.evaluate(() => navigator.clipboard.readText())
  expect(text).toContain('### Steps against the limit')
  expect(text).toMatch(/\| relaxed i8 dot, quads, GOP\/s \| [\d.]+ \(/)
  expect(text).toMatch(/\| relaxed i8 dot, pairs, GOP\/s \| [\d.]+ \(/)
})

test('stops on request and can be restarted', async ({ page }) => {
  await page.goto('/roofline.html')
  await start(page).click()
  await expect(page.getByRole('progressbar')).toBeVisible()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await expect(start(page)).toBeVisible()
  await expect.poll(() => page.workers()).toHaveLength(0)
})

test('measures one thread if memory cannot be shared', async ({ page, baseURL }) => {
  const address = new URL('/roofline.html?quick', baseURL)
  address.port = String(Number(address.port) + 1)
  await measure(page, address.href)
  await expect(page.getByRole('table', { name: 'Machine: relaxed, plain memory' })).toBeVisible()
  await expect(page.getByLabel('Build and threads').getByRole('option')).toHaveText([
    'relaxed, 1 thread',
    'simd128, 1 thread',
  ])
})

test('the chat page links to it', async ({ page, context }) => {
  await page.goto('/')
  await page.getByRole('button', { name: 'Settings', exact: true }).click()
  const opened = context.waitForEvent('page')
  await page.getByRole('link', { name: 'Measure this device’s limits' }).click()
  await expect((await opened).getByRole('heading', { name: 'Roofline' })).toBeVisible()
})
