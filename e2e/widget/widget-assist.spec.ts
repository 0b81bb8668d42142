// Questions that the widget answers itself. In: a message from someone in a crisis, and a sum. Out: the
// answer, without downloading a model.
import { answersOf, chat, expect, reported, send, test } from './widget-site.ts'

const NEVER = 'model="/models/halfbyte-stories.hbm"'

test('someone in a crisis gets help at once, without a model and without a question about a download', async ({
  page,
  sites,
}) => {
  await sites.open(page, { markup: `<halfbyte-chat ${NEVER}></halfbyte-chat>` })
  await send(page, 'I want to kill myself')
  await expect(answersOf(chat(page))).toHaveCount(1)
  await expect(answersOf(chat(page)).getByRole('link', { name: 'findahelpline.com' })).toBeVisible()
  await expect(chat(page).locator('.accept')).toHaveCount(0)
  const names = (await reported(page)).map(({ name }) => name)
  expect(names).toEqual(['message', 'message'])
  await send(page, 'Quiero morir')
  await expect(answersOf(chat(page)).last()).toContainText('hablar con alguien')
})

test('the widget computes sums if the page enables it', async ({ page, sites }) => {
  await sites.open(page, { markup: `<halfbyte-chat ${NEVER} assist="all"></halfbyte-chat>` })
  await send(page, 'What is 15 % of 240?')
  await expect(answersOf(chat(page)).last()).toContainText('15% * 240 = 36')
})

test('a page that gives its own answers can turn this off', async ({ page, sites }) => {
  await sites.open(page, { markup: `<halfbyte-chat ${NEVER} assist="none"></halfbyte-chat>` })
  await send(page, 'I want to kill myself')
  await expect(chat(page).locator('.accept')).toBeVisible()
})
