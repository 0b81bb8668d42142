// Tools. In: the built chat page with its default model, questions for its tools. Out: whether a tool
// computes the answer, the page shows that, and a later turn can refer to it.
import { expect, test } from '@playwright/test'
import { violations } from '../../violations.ts'
import { answers, ask, openChat, openModels, overflowing, ready, set } from '../chat-page.ts'

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

const CONVERSATION = {
  id: 'steps',
  messages: [
    { role: 'user', content: 'How far is it, and what time is it in Nowhere?' },
    {
      role: 'assistant',
      content: 'It is 26.22 miles.',
      model: 'a-model.gguf',
      used: [
        {
          id: 'a',
          name: 'convert_units',
          arguments: { value: 42.195, from: 'km', to: 'miles' },
          result: '26.22 miles',
        },
        {
          id: 'b',
          name: 'time_in',
          arguments: { place: 'Nowhere' },
          result:
            'error: "Nowhere" is not a city or a time zone with one time. Use a name such as Asia/Tokyo.',
          state: 'failed',
        },
        { id: 'c', name: 'search', arguments: { query: ['a', { b: 1 }] }, result: 'found' },
        { id: 'd', name: 'calculate', arguments: { expression: '1 + 1' }, result: '', state: 'running' },
      ],
    },
  ],
}

const STEPS = {
  format: 'halfbyte-conversations',
  version: 1,
  conversations: [CONVERSATION],
}

test('each step shows its tool, arguments, result and state', async ({ page }) => {
  const { problems } = await openChat(page)
  await page.getByRole('button', { name: 'Conversations' }).click()
  const drawer = page.getByRole('dialog', { name: 'Conversations' })
  await drawer.getByLabel('Import conversations').setInputFiles({
    name: 'steps.json',
    mimeType: 'application/json',
    buffer: Buffer.from(JSON.stringify(STEPS)),
  })
  await drawer.getByRole('link', { name: /^How far/ }).click()
  const steps = page.getByRole('list', { name: 'Steps of this answer' })
  await expect(steps.getByRole('listitem')).toHaveText([
    'Unit conversion: 42.195 km miles → 26.22 miles',
    /^Failed: Time in a place: Nowhere → "Nowhere" is not a city/,
    'search: ["a",{"b":1}] → found',
  ])
  for (const viewport of [
    { width: 390, height: 844 },
    { width: 360, height: 640 },
    { width: 1280, height: 800 },
  ]) {
    await page.setViewportSize(viewport)
    expect(await overflowing(page)).toEqual([])
    await page.screenshot({ path: `build/screens/steps-${viewport.width}.png` })
  }
  expect(await violations(page)).toEqual([])
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
