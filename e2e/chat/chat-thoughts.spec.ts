// In: the built chat page with a model that writes a thought in marks before its answer. Out: whether the thought
// is folded while it streams and stays as the person set it, and whether the next turn is without it.
import { expect, type Page, test } from '@playwright/test'
import { ANSWER, THOUGHT, thinkingModel } from '../thinking-model.ts'
import { answers, ask, openChat, openModels, readTokens, ready, set } from './chat-page.ts'

/** What the newest answer looked like while it grew. */
interface Sight {
  readonly summary: string
  readonly isOpen: boolean
  readonly hasAnswer: boolean
}

/** Watches from inside the page, so that no change is missed. `opens`: unfolds the thought once it is there. */
async function watchThoughts(page: Page, opens: boolean): Promise<() => Promise<readonly Sight[]>> {
  await page.evaluate((mayOpen) => {
    const sights: Sight[] = []
    let isNew = mayOpen
    new MutationObserver(() => {
      const message = [...document.querySelectorAll('.message.assistant')].at(-1)
      const details = message?.querySelector<HTMLDetailsElement>('.message.streaming .thoughts')
      if (details == null) return
      const summary = details.querySelector('summary')!
      const text = [...message!.querySelectorAll('.part')].map((part) => part.textContent).join('')
      sights.push({ summary: summary.innerText, isOpen: details.open, hasAnswer: text.trim() !== '' })
      if (isNew) summary.click()
      isNew = false
    }).observe(document.body, { subtree: true, childList: true, characterData: true })
    Object.assign(globalThis, { sights })
  }, opens)
  return () => page.evaluate(() => (globalThis as unknown as { sights: Sight[] }).sights)
}

test('a thought is folded while it streams, opened by hand, and not read again in the next turn', async ({
  page,
}) => {
  const { problems } = await openChat(page)
  await openModels(page)
  await page
    .getByLabel('Choose files')
    .setInputFiles(thinkingModel().map((file) => ({ ...file, mimeType: 'application/octet-stream' })))
  await expect(page.locator('.bar .model')).toContainText('model.safetensors')
  await ready(page)
  await set(page, { 'Longest answer': '600' })

  const seen = await watchThoughts(page, false)
  await ask(page, 'How wide is it?')
  const sights = await seen()
  expect(sights.length).toBeGreaterThan(1)
  expect(sights.filter(({ isOpen }) => isOpen)).toEqual([])
  expect(sights[0]).toEqual({ summary: 'Thinking', isOpen: false, hasAnswer: false })
  expect(sights.filter(({ summary, hasAnswer }) => hasAnswer && summary === 'Thinking')).toEqual([])

  const answer = answers(page).last()
  const thoughts = answer.locator('.thoughts')
  const text = thoughts.locator('div')
  await expect(thoughts.locator('summary')).toHaveText('Thoughts')
  await expect(text).toBeHidden()
  await expect(answer.locator('.part')).toHaveText(ANSWER.join('').trim())
  await thoughts.locator('summary').click()
  await expect(text).toBeVisible()
  expect((await text.innerText()).trim()).toBe(THOUGHT.join('').trim())
  await thoughts.locator('summary').click()
  await expect(text).toBeHidden()

  const [, before] = await readTokens(page)
  const unfolded = await watchThoughts(page, true)
  await ask(page, 'And deep?')
  // Once it is open it stays so, although the answer goes on.
  const after = (await unfolded()).slice(1)
  expect(after.filter(({ isOpen }) => !isOpen)).toEqual([])
  await expect(answers(page).last().locator('.thoughts div')).toBeVisible()
  const [, all] = await readTokens(page)
  // A token may be a single byte; the thought has more tokens than the answer and the question have bytes.
  expect(all - before).toBeGreaterThan('And deep?'.length)
  expect(all - before).toBeLessThan(ANSWER.join('').length + 'And deep?'.length + 10)
  expect(THOUGHT.length).toBeGreaterThan(ANSWER.join('').length + 'And deep?'.length + 10)

  await page.reload()
  await ready(page)
  await expect(answers(page).first().locator('.thoughts summary')).toHaveText('Thoughts')
  await expect(answers(page).first().locator('.thoughts div')).toBeHidden()
  expect(problems).toEqual([])
})
