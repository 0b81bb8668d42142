// In: the built chat page with its default model, questions for its tools. Out: whether a tool works the
// answer out, the person sees it, and a later turn still knows it.
import { expect, test } from '@playwright/test'
import { answers, ask, openChat, ready, set } from './chat-page.ts'

test('a sum is worked out by the calculator, which the answer shows, also after a reload', async ({
  page,
}) => {
  const { problems } = await openChat(page)
  await set(page, { Temperature: '0' })
  await ask(page, 'What is 17 times 24?')
  const answer = answers(page).last()
  await expect(answer.locator('.used')).toHaveText('Calculator: 17 * 24 → 408')
  await expect(answer.locator('.body')).toContainText('408')
  await ask(page, 'Thank you!')
  await expect(answers(page).last().locator('.used')).toHaveCount(0)

  await page.reload()
  await ready(page)
  await expect(answers(page).first().locator('.used')).toHaveText('Calculator: 17 * 24 → 408')
  await ask(page, 'How many metres are 3 kilometres?')
  await expect(answers(page).last().locator('.body')).toContainText('3000')
  expect(problems).toEqual([])
})
