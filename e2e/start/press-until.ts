// Buttons of the guide's first page. In: a button's name, and what the page then shows. Out: a click,
// repeated until the page shows it.
import { expect, type Page } from '@playwright/test'

/**
 * A reload of the page may lose a click, an answer that still streams may mix with the next one, and sampled
 * answers differ.
 */
export const pressUntil = (page: Page, name: string, shown: RegExp): Promise<void> =>
  expect(async () => {
    await page.getByRole('button', { name }).click()
    await expect(page.locator('#out')).toHaveText(shown, { timeout: 20_000 })
  }).toPass()
