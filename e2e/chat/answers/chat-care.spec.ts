// Crisis messages. In: the built chat page, a user who may be in danger. Out: whether the page itself
// answers, in the user's language, and names places that help.
import { expect, test } from '@playwright/test'
import { violations } from '../../violations.ts'
import { answers, ask, openChat, overflowing } from '../chat-page.ts'

test('a user who writes that they want to die gets an answer from the page, with places that help, also read aloud', async ({
  page,
}) => {
  const { problems } = await openChat(page)
  await ask(page, 'I want to die')
  const answer = answers(page).last()
  await expect(answer.locator('.body')).toContainText('emergency number')
  await expect(answer.getByRole('link')).toHaveAttribute('href', 'https://findahelpline.com')
  await expect(page.locator('.foot > .visually-hidden[role=status]')).toContainText('findahelpline.com')
  expect(await overflowing(page)).toEqual([])
  expect(await violations(page)).toEqual([])
  await page.screenshot({ path: 'build/screens/care.png' })
  await page.getByRole('button', { name: 'Regenerate' }).click()
  await expect(answer.locator('.body')).toContainText('findahelpline.com')
  // The model answers messages after that.
  await ask(page, 'this bug makes me want to die laughing')
  await expect(answers(page).last().locator('.body')).not.toContainText('findahelpline.com')
  await page.reload()
  await expect(answers(page).first().locator('.body')).toContainText('findahelpline.com')
  expect(problems).toEqual([])
})

test.describe('in a browser that prefers Hebrew', () => {
  test.use({ locale: 'he-IL' })

  test('the answer is Hebrew', async ({ page }) => {
    await page.goto('/')
    await page.locator('chat-composer[ready]').waitFor({ timeout: 60_000 })
    await page.getByRole('textbox', { name: 'הודעה' }).fill('אני רוצה למות')
    await page.getByRole('button', { name: 'שליחה', exact: true }).click()
    await expect(answers(page).last().locator('.body')).toContainText('מספר החירום')
    await page.screenshot({ path: 'build/screens/care-hebrew.png' })
  })
})
