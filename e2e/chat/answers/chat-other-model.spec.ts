// Answers of another model. In: the built chat page with an answer, one of the page's models and a downloaded
// one. Out: whether another model can answer again, as a version labelled with its author.
import { readFileSync } from 'node:fs'
import { expect, type Page, test } from '@playwright/test'
import { serveModels } from '../../model-server.ts'
import { violations } from '../../violations.ts'
import { answers, ask, openChat, openModels, overflowing, ready, set } from '../chat-page.ts'

const tiny = {
  name: 'tiny.hbm',
  buffer: readFileSync(new URL('../../../test/conformance/models/halfbyte-tiny.hbm', import.meta.url)),
}
const SIZES = [
  { width: 360, height: 740 },
  { width: 1280, height: 800 },
]

async function askOther(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Ask another model' }).click()
  await page
    .getByRole('dialog', { name: 'Ask another model' })
    .getByRole('button', { name: new RegExp(`^${name}`) })
    .click()
  await expect(page.getByRole('button', { name: `Model: ${name}. Choose another` })).toBeVisible()
  await ready(page)
}

test('another stored model answers again, and each version names its model', async ({ page }) => {
  const server = await serveModels([tiny])
  const { problems } = await openChat(page)
  await set(page, { 'Longest answer': '8' })
  await openModels(page)
  await page.getByLabel('From an address').fill(`${server.address}tiny.hbm`)
  await page.getByRole('button', { name: 'Load', exact: true }).click()
  await expect(page.getByRole('button', { name: 'Model: tiny.hbm. Choose another' })).toBeVisible()
  await ready(page)
  await ask(page, 'Hello!')
  const by = answers(page).last().locator('.by')
  const version = answers(page).last().locator('.versions [role=status]')
  await expect(by).toHaveCount(0)
  await askOther(page, 'Halfbyte Stories')
  await expect(by).toHaveText('Halfbyte Stories')
  await expect(version).toContainText('2/2')
  await askOther(page, 'tiny.hbm')
  await expect(by).toHaveText('tiny.hbm')
  await expect(version).toContainText('3/3')
  await page.getByRole('button', { name: 'Earlier version' }).click()
  await expect(by).toHaveText('Halfbyte Stories')
  for (const [index, size] of SIZES.entries()) {
    await page.setViewportSize(size)
    expect(await overflowing(page)).toEqual([])
    await page.screenshot({ path: `build/screens/other-answer-${index}.png` })
    await page.getByRole('button', { name: 'Ask another model' }).click()
    // The current model is not offered.
    await expect(page.getByRole('dialog').locator('.choice')).toHaveText([
      /Halfbyte Stories/,
      /Halfbyte Mamba/,
    ])
    expect(await violations(page)).toEqual([])
    expect(await overflowing(page)).toEqual([])
    await page.screenshot({ path: `build/screens/other-model-${index}.png` })
    await page.keyboard.press('Escape')
    await expect(page.getByRole('button', { name: 'Ask another model' })).toBeFocused()
  }
  expect(problems).toEqual([])
  await server.close()
})
