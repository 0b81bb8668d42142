// Long chats. In: the built chat page and a model with a short context. Out: how much it reads for each
// question, and what it shows while it reads a long text.
import { expect, test } from '@playwright/test'
import { answers, ask, openChat, readTokens, ready, set } from '../chat-page.ts'

test('a chat that outgrows its context several times never reads its old turns again', async ({ page }) => {
  test.slow()
  const { problems } = await openChat(page)
  await set(page, { 'Context length': '512', 'Longest answer': '60' })
  await page.getByRole('button', { name: 'Reload the model' }).click()
  await ready(page)
  const read: number[] = []
  const all: number[] = []
  for (let turn = 0; turn < 20; turn++) {
    await ask(page, `Tell me a story about a fox and ${turn + 2} birds.`)
    const [own, whole] = await readTokens(page)
    read.push(own)
    all.push(whole)
    console.log(turn, own, whole)
  }
  const drops = all.filter((tokens, turn) => turn > 0 && tokens < all[turn - 1]!)
  expect(drops.length).toBeGreaterThanOrEqual(2)
  expect(Math.max(...read.slice(1))).toBeLessThan(64)
  await expect(page.locator('.unseen')).toHaveCount(1)
  await expect(answers(page)).toHaveCount(20)
  expect(problems).toEqual([])
})
