// Long chats. In: the built chat page and a model with a short context. Out: how many tokens it reads for
// each question, and what the page shows while a long text is read.
import { expect, type Page, test } from '@playwright/test'
import { ANSWER, scriptedModel } from '../../scripted-model.ts'
import { answers, ask, openChat, openModels, readTokens, ready, say, set } from '../chat-page.ts'

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
  }
  const drops = all.filter((tokens, turn) => turn > 0 && tokens < all[turn - 1]!)
  expect(drops.length).toBeGreaterThanOrEqual(2)
  expect(Math.max(...read.slice(1))).toBeLessThan(32)
  await expect(page.locator('.unseen')).toHaveCount(1)
  await expect(answers(page)).toHaveCount(20)
  expect(problems).toEqual([])
})

/** Enough layers that reading takes many frames, so that the page shows it, on fast machines too. */
const LAYERS = 18

/** Chooses a model that reads many tokens and always gives the same answer. */
async function chooseScripted(page: Page): Promise<void> {
  await openModels(page)
  const files = scriptedModel([], ANSWER, LAYERS).map((file) => ({
    ...file,
    mimeType: 'application/octet-stream',
  }))
  await page.getByRole('dialog').getByLabel('Choose files').setInputFiles(files)
  await expect(page.locator('.bar .model')).toContainText('model.safetensors')
  await ready(page)
}

/** Speeds up the page's clock, so that reading counts as long on any machine. */
async function hurry(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const now = performance.now.bind(performance)
    performance.now = () => now() * 100
  })
}
/** Three thousand bytes, each of which is a token of the scripted model. */
const LONG = Array.from({ length: 140 }, (_, index) => `The fox saw bird ${index}.`).join(' ')

test('long reading shows its progress, which disappears with the answer', async ({ page }, info) => {
  await hurry(page)
  const { problems } = await openChat(page)
  await chooseScripted(page)
  await page.evaluate(() => {
    const seen: string[] = []
    Object.assign(globalThis, { seen })
    new MutationObserver(() => {
      const label = document.querySelector('.message.growing label:has(progress)')
      const bar = label?.querySelector('progress')
      if (label && bar) seen.push(`${label.textContent?.trim()}: ${bar.value} / ${bar.max}`)
    }).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true })
  })
  await ask(page, LONG)
  const seen = await page.evaluate(() => (globalThis as unknown as { seen: string[] }).seen)
  expect(seen.length).toBeGreaterThan(0)
  const [, done, all, value, max] = /^Reading (\d+) of (\d+) tokens: (\d+) \/ (\d+)$/.exec(seen.at(-1)!) ?? []
  expect([done, all]).toEqual([value, max])
  expect(Number(value)).toBeLessThan(Number(max))
  expect((await readTokens(page))[0]).toBe(Number(max))
  await expect(page.locator('label:has(progress)')).toHaveCount(0)
  await expect(answers(page).locator('.body')).not.toBeEmpty()
  info.annotations.push({ type: 'last progress', description: seen.at(-1)! })
  expect(problems).toEqual([])
})

test('long reading can be stopped; its question stays, and is answered without reading it twice', async ({
  page,
}) => {
  await hurry(page)
  const { problems } = await openChat(page)
  await chooseScripted(page)
  await page.evaluate(() => {
    new MutationObserver((_, observer) => {
      if (document.querySelector('.message.growing label:has(progress)') === null) return
      observer.disconnect()
      document.querySelector<HTMLButtonElement>('button[aria-label=Stop]')?.click()
    }).observe(document.body, { subtree: true, childList: true })
  })
  await say(page, LONG)
  await ready(page)
  await expect(answers(page)).toHaveCount(0)
  await expect(page.locator('label:has(progress)')).toHaveCount(0)
  await page.getByRole('button', { name: 'Answer', exact: true }).click()
  await ready(page)
  await expect(answers(page).locator('.body')).not.toBeEmpty()
  const [read, all] = await readTokens(page)
  expect(read).toBeLessThan(all)
  expect(problems).toEqual([])
})
