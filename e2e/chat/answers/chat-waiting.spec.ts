// Waiting for the model. In: the built chat page with a slow model, and a page that is closed. Out: whether
// text written in the meantime is answered or kept.
import { expect, type Page, test } from '@playwright/test'
import { answers, composer, loadingLine, openChat, ready, say, sendButton, set } from '../chat-page.ts'

/** Holds the model back until the returned function is called. */
async function holdModel(page: Page): Promise<() => void> {
  const held = Promise.withResolvers<void>()
  await page.route('**/*.hbm', async (route) => {
    await held.promise
    await route.continue().catch(() => undefined)
  })
  return held.resolve
}

test('a first message waits for the model and is then answered', async ({ page }) => {
  const release = await holdModel(page)
  await page.goto('/')
  await expect(loadingLine(page)).toBeVisible()
  await expect(page.getByRole('button', { name: 'Hello! How are you?' })).toBeEnabled()
  await say(page, 'Hello!')
  await expect(page.locator('.message.assistant .waiting')).toBeVisible()
  await expect(loadingLine(page)).toBeVisible()
  await page.screenshot({ path: 'build/screens/waiting.png' })
  release()
  await ready(page)
  await expect(answers(page)).toHaveCount(1)
  await expect(answers(page).locator('.body')).not.toBeEmpty()
  await page.reload()
  await ready(page)
  await expect(answers(page).locator('.body')).not.toBeEmpty()
})

test('a waiting message can be stopped, and survives a cancelled load and a reload', async ({ page }) => {
  const release = await holdModel(page)
  await page.goto('/')
  await say(page, 'Hello!')
  await page.keyboard.press('Escape')
  await expect(page.locator('.message.user')).toHaveText(/Hello!/)
  await expect(answers(page)).toHaveCount(0)
  await say(page, 'Good morning!')
  await page.getByRole('button', { name: 'Cancel' }).click()
  await expect(page.locator('.notice')).toContainText('was not loaded')
  await expect(answers(page)).toHaveCount(0)
  await expect(page.locator('.message.user')).toHaveCount(2)
  release()
  await page.reload()
  await ready(page)
  await expect(page.locator('.message.user')).toHaveCount(2)
  await page.getByRole('button', { name: 'Answer', exact: true }).click()
  await ready(page)
  await expect(answers(page).locator('.body')).not.toBeEmpty()
})

test('a user who may be in danger does not wait for a model', async ({ page }) => {
  await holdModel(page)
  await page.goto('/')
  await say(page, 'i dont want to live anymore')
  await expect(answers(page).locator('.body')).toContainText('findahelpline.com')
  await expect(loadingLine(page)).toBeVisible()
})

test('progress of a compressed model counts up to its size', async ({ page }) => {
  const seen: string[] = []
  await page.exposeFunction('saw', (text: string) => seen.push(text))
  await page.addInitScript(() => {
    const { saw } = globalThis as unknown as { saw: (text: string) => void }
    new MutationObserver(() => saw(document.querySelector('.stats.loading')?.textContent ?? '')).observe(
      document,
      {
        subtree: true,
        childList: true,
        characterData: true,
      },
    )
  })
  await page.route('**/*.hbm', async (route) => {
    const response = await route.fetch()
    const headers = { ...response.headers(), 'content-encoding': 'identity' }
    await route.fulfill({ response, headers })
  })
  await openChat(page)
  expect(seen.join()).toMatch(/of 5\.3\sMB/)
})

test('unsent text is restored after a reload, only in its own tab', async ({ page, context }) => {
  await openChat(page)
  await composer(page).fill('Once upon a time')
  await page.reload()
  await ready(page)
  await expect(composer(page)).toHaveValue('Once upon a time')
  await expect(sendButton(page)).not.toHaveAttribute('aria-disabled', 'true')
  const other = await context.newPage()
  await openChat(other)
  await expect(composer(other)).toHaveValue('')
  await other.close()
  await set(page, { 'Longest answer': '5' })
  await sendButton(page).click()
  await ready(page)
  await page.reload()
  await ready(page)
  await expect(composer(page)).toHaveValue('')
})
