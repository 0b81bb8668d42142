// Desktop. In: the built chat page on a desktop. Out: whether the conversation list is next to the chat and
// everything fits.
import { expect, test } from '@playwright/test'
import { ask, bodies, composer, openChat, openSettings, overflowing, ready, set } from './chat-page.ts'

test('the conversation list is next to the chat', async ({ page }) => {
  await openChat(page)
  await set(page, { 'Longest answer': '10' })
  const side = page.getByRole('navigation', { name: 'Conversations' })
  await ask(page, 'First conversation')
  await side.getByRole('button', { name: 'New chat' }).click()
  await expect(composer(page)).toBeFocused()
  await ask(page, 'Second conversation')
  await expect(side.getByRole('listitem')).toHaveText([/Second conversation/, /First conversation/])
  await side.getByRole('link', { name: 'First conversation', exact: true }).click()
  await expect(page.locator('.message.user .body')).toHaveText('First conversation')
  await side.getByRole('button', { name: 'Delete First conversation', exact: true }).click()
  await expect(side.getByRole('listitem')).toHaveText([/Second conversation/, /Deleted/])
  await expect(bodies(page)).toHaveCount(0)
  expect(await overflowing(page)).toEqual([])
})

test('in a narrow window, the list moves into a drawer', async ({ page }) => {
  await openChat(page)
  await page.setViewportSize({ width: 700, height: 800 })
  await expect(page.getByRole('navigation', { name: 'Conversations' })).toHaveCount(0)
  await page.getByRole('button', { name: 'Conversations', exact: true }).click()
  await expect(page.getByRole('dialog', { name: 'Conversations' })).toBeVisible()
  expect(await overflowing(page)).toEqual([])
})

test('the field has the focus, Enter sends, and the listed shortcuts work', async ({ page }) => {
  await openChat(page)
  await expect(composer(page)).toBeFocused()
  await page.keyboard.type('one')
  await page.keyboard.press('Shift+Enter')
  await page.keyboard.type('two')
  await page.keyboard.press('Enter')
  await expect(page.locator('.message.user .body')).toHaveText('one\ntwo', { useInnerText: true })
  await ready(page)
  await page.keyboard.press('Alt+S')
  const settings = page.getByRole('dialog', { name: 'Settings' })
  await expect(settings).toContainText(/Alt\+N\s*New chat/)
  await page.keyboard.press('Escape')
  await expect(settings).toBeHidden()
  await page.keyboard.press('Alt+N')
  await expect(bodies(page)).toHaveCount(0)
  await page.keyboard.press('Alt+M')
  await expect(page.getByRole('dialog', { name: 'Choose a model' })).toBeVisible()
})

test('bubbles, answers and the composer have the same edges', async ({ page }) => {
  await openChat(page)
  await set(page, { 'Longest answer': '10' })
  await ask(page, 'Hello!')
  const edges = (selector: string) =>
    page.locator(selector).evaluate((element) => {
      const { left, right } = element.getBoundingClientRect()
      return [Math.round(left), Math.round(right)]
    })
  const [left, right] = await edges('.composer')
  expect((await edges('.message.user .body'))[1]).toBe(right)
  expect((await edges('.message.assistant'))[0]).toBe(left)
})

test('settings of one conversation do not affect another', async ({ page }) => {
  await openChat(page)
  await set(page, { 'Longest answer': '8' })
  await ask(page, 'First conversation')
  await set(page, { 'Instructions for the model': 'Be brief.' })
  const instructions = page.getByLabel('Instructions for the model')
  await page.getByRole('navigation').getByRole('button', { name: 'New chat' }).click()
  await openSettings(page)
  await expect(instructions).toHaveValue('')
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('link', { name: 'First conversation', exact: true }).click()
  await openSettings(page)
  await expect(instructions).toHaveValue('Be brief.')
  expect(await overflowing(page)).toEqual([])
  await page.screenshot({ path: 'build/screens/presets-desktop.png' })
})
