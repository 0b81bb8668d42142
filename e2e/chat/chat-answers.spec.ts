// In: the built chat page with answers that were cut short. Out: whether they can be continued, also after a
// reload.
import { expect, test } from '@playwright/test'
import { answers, ask, kept, openChat, overflowing, readTokens, ready, set } from './chat-page.ts'

test('an answer that reached its limit is continued, also after a reload', async ({ page }) => {
  const { problems } = await openChat(page)
  await set(page, { 'Longest answer': '6', Temperature: '0' })
  await ask(page, 'Tell me a story about a fox.')
  const body = answers(page).locator('.body')
  const goOn = page.getByRole('button', { name: 'Continue', exact: true })
  await expect(answers(page)).toContainText('Reached the length limit')
  const first = await body.innerText()
  expect(await overflowing(page)).toEqual([])
  await goOn.click()
  await ready(page)
  const second = await body.innerText()
  expect(second.startsWith(first), `"${second}" begins with "${first}"`).toBe(true)
  expect(second.length).toBeGreaterThan(first.length)
  // The last token of the beginning was never run; nothing else is read again.
  expect((await readTokens(page))[0]).toBe(1)

  await expect.poll(() => kept(page)).toBe(1)
  await page.waitForTimeout(2000)
  await page.reload()
  await ready(page)
  await set(page, { 'Longest answer': '600' })
  await goOn.click()
  await ready(page)
  const third = await body.innerText()
  expect(third.startsWith(second)).toBe(true)
  expect((await readTokens(page))[0]).toBe(1)
  await expect(answers(page)).toHaveCount(1)
  await expect(goOn).toHaveCount(0)
  expect(problems).toEqual([])
})
