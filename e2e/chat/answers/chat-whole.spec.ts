// Whole conversations. In: the built chat page with a long conversation. Out: whether Home, a search and
// printing cover all of it.
import { expect, test } from '@playwright/test'
import { openLongChat } from '../stored/stored-chats.ts'

test.beforeEach(({ page }) => openLongChat(page))

test('Home scrolls to the beginning of a long conversation, and End to its end', async ({ page }) => {
  await page.locator('.log').focus()
  await page.keyboard.press('Home')
  await expect(page.getByText('Question 0 about')).toBeInViewport()
  await page.keyboard.press('End')
  await expect(page.getByText('Answer 119')).toBeInViewport()
})

test("the browser's search finds the first messages", async ({ page }) => {
  await page.keyboard.press('ControlOrMeta+f')
  await expect(page.getByText('Question 0 about')).toHaveCount(1)
  await expect(page.getByText('Answer 119')).toBeInViewport()
})

test('printing includes the whole conversation, without screen controls', async ({ page }) => {
  const printed = await page.evaluate(() => {
    dispatchEvent(new Event('beforeprint'))
    // A browser prints the content that is currently rendered.
    return document.querySelectorAll('.message .body').length
  })
  expect(printed).toBe(120)
  await page.emulateMedia({ media: 'print' })
  const log = await page
    .locator('.log')
    .evaluate(({ clientHeight, scrollHeight }) => scrollHeight - clientHeight)
  expect(log, 'pixels that are cut off').toBe(0)
  await expect(page.locator('.foot')).toBeHidden()
})
