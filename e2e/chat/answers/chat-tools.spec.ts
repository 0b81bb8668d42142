// Tools. In: the built chat page with its default model, questions for its tools. Out: whether a tool
// computes the answer, the page shows that, and a later turn can refer to it.
import { expect, test } from '@playwright/test'
import { answers, ask, openChat, openModels, ready, set } from '../chat-page.ts'

test('the calculator computes a sum, and the answer shows that, even after a reload', async ({ page }) => {
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

test('a sum is right even if the model miscopies its numbers, and so is a sum that builds on its result', async ({
  page,
}) => {
  const { problems } = await openChat(page)
  await set(page, { Temperature: '0' })
  for (const [question, line, result] of [
    ['3.5 + 2.25', '3.5 + 2.25 → 5.75', '5.75'],
    ['And times 2?', '5.75 * 2 → 11.5', '11.5'],
    ['What is 15 % of 240?', '15% * 240 → 36', '36'],
    ['(2 + 3) * 4', '(2 + 3) * 4 → 20', '20'],
  ] as const) {
    await ask(page, question)
    await expect(answers(page).last().locator('.used')).toHaveText(`Calculator: ${line}`)
    await expect(answers(page).last().locator('.body')).toContainText(result)
  }
  expect(problems).toEqual([])
})

test('no tool-call markup is shown, whichever model answers after a sum', async ({ page }) => {
  await openChat(page)
  await set(page, { Temperature: '0' })
  await ask(page, 'What is 17 times 24?')
  await openModels(page)
  await page.getByRole('button', { name: /^Halfbyte Mamba/ }).click()
  await ready(page)
  for (const question of [
    'What is 12 times 12?',
    'How much is 20 percent of 50?',
    'How many metres are 3 kilometres?',
  ]) {
    await ask(page, question)
    await expect(answers(page).last().locator('.body')).not.toBeEmpty()
    await expect(answers(page).last().locator('.body')).not.toContainText(/tool_call|arguments|[{}]/)
  }
})
