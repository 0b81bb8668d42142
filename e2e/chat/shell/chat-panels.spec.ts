// Panels. In: the built chat page after an answer, and with a stored model. Out: whether the panels "How it
// runs" and "Storage" show, measure, copy and remove the right things.
import { expect, test } from '@playwright/test'
import { violations } from '../../violations.ts'
import { ask, kept, openChat, openSettings, overflowing, ready, set } from '../chat-page.ts'

test('tapping the numbers opens "How it runs", which can be copied as a report', async ({
  page,
  context,
}) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const { problems } = await openChat(page)
  await set(page, { 'Longest answer': '8' })
  await ask(page, 'Hello!')
  await ask(page, 'Tell me a story.')
  await page.getByRole('button', { name: /^How it runs/ }).click()
  const panel = page.getByRole('dialog', { name: 'How it runs' })
  const rows = panel.getByRole('table').getByRole('row')
  await expect(rows).toHaveCount(3)
  await expect(rows.nth(1)).toHaveText(/\d+ ?\d* ms \d+ of \d+ 8|\d ms/)
  await expect(panel).toContainText('7.7 million parameters')
  await expect(panel).toContainText(/\d MB per second|GB per second/)
  expect(await overflowing(page)).toEqual([])
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    expect(await violations(page)).toEqual([])
  }
  await page.screenshot({ path: 'build/screens/runs.png' })
  await panel.getByRole('button', { name: 'Copy as a report' }).click()
  await expect(panel.getByRole('button', { name: 'Copied' })).toBeVisible()
  const report = await page.evaluate(() => navigator.clipboard.readText())
  expect(report).toMatch(/^# Halfbyte: How it runs\n\n- Model: .*\n/)
  expect(report.split('\n').filter((line) => /^\| [\d.]+ \| \d+ ms \|/.test(line))).toHaveLength(2)
  await page.keyboard.press('Escape')
  await expect(page.getByRole('button', { name: /^How it runs/ })).toBeFocused()
  expect(problems).toEqual([])
})

test('ops are measured against their limits on request, and included in the report', async ({
  page,
  context,
}) => {
  test.setTimeout(180_000)
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const { problems } = await openChat(page)
  await page.getByRole('button', { name: /^How it runs/ }).click()
  const panel = page.getByRole('dialog', { name: 'How it runs' })
  await panel.getByRole('button', { name: 'Measure' }).click()
  await expect(panel.getByRole('progressbar', { name: 'Measuring' })).toBeVisible()
  const cancel = panel.getByRole('button', { name: 'Cancel' })
  await expect(cancel).toBeFocused()
  await cancel.click()
  await expect(panel.getByRole('progressbar')).toHaveCount(0)
  await expect(panel.getByRole('table')).toHaveCount(0)
  await panel.getByRole('button', { name: 'Measure' }).click()
  const written = panel.getByRole('table', { name: /^Generating a token after 128 others: / })
  await expect(written).toBeVisible({ timeout: 120_000 })
  await expect(written.getByRole('row').nth(1)).toHaveText(/^Whole step\s*\d+\.\d{3}\s*\d+\.\d{3}\s*\d+\s?%$/)
  expect(await written.getByRole('row').count()).toBeGreaterThan(5)
  await expect(panel.getByRole('table', { name: /^Reading 64 tokens: / })).toBeVisible()
  expect(await overflowing(page)).toEqual([])
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    expect(await violations(page)).toEqual([])
  }
  await written.scrollIntoViewIfNeeded()
  await page.screenshot({ path: 'build/screens/runs-ops.png' })
  await panel.getByRole('button', { name: 'Copy as a report' }).click()
  await expect(panel.getByRole('button', { name: 'Copied' })).toBeVisible()
  const report = await page.evaluate(() => navigator.clipboard.readText())
  expect(report).toMatch(/## Ops compared with their limits\n\n### Generating a token/)
  expect(report).toMatch(/\| Whole step \| [\d.]+ \| [\d.]+ \| \d+\s?% \|/)
  // Measurements are kept for the next time the panel opens.
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: /^How it runs/ }).click()
  await expect(written).toBeVisible()
  expect(problems).toEqual([])
})

test('storage lists stored items with their sizes, and can remove them', async ({ page }) => {
  await openChat(page)
  await set(page, { 'Longest answer': '8' })
  await ask(page, 'Hello!')
  await expect.poll(() => kept(page)).toBe(1)
  await openSettings(page)
  await page.getByRole('button', { name: 'Storage', exact: true }).click()
  const panel = page.getByRole('dialog', { name: 'Storage' })
  await expect(panel.getByRole('status')).toHaveText(/^[\d.]+ [MG]B of [\d.]+ GB in use$/)
  await expect(panel).toContainText(/1 conversation · \d+\.\d MB/)
  expect(await overflowing(page)).toEqual([])
  expect(await violations(page)).toEqual([])
  await page.screenshot({ path: 'build/screens/storage.png' })
  await panel.getByRole('button', { name: 'Remove stored model state' }).click()
  await expect(panel).toContainText(/0 conversations · 0\.0 MB/)
  expect(await kept(page)).toBe(0)
  await expect(panel.getByRole('button', { name: 'Close storage' })).toBeFocused()
  await page.keyboard.press('Escape')
  await ask(page, 'And you?')
  await ready(page)
})
