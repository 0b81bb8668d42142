// Long conversations. In: the built chat page, slowed down four times, with conversations of 600 messages and
// of 2. Out: whether it renders only nearby messages, and how long it takes to show them and to answer.
import { expect, type Page, test } from '@playwright/test'
import { openChat, ready, say, slowDown } from './chat-page.ts'
import { openLongChat, storeChats, turns } from './stored/stored-chats.ts'

const messages = (page: Page) => page.locator('.message')

/** Milliseconds, by the page's clock, until the conversation's last message was shown. */
async function timeToShow(page: Page): Promise<number> {
  await page.addInitScript(() => {
    new MutationObserver((_, observer) => {
      if (document.querySelector('.message.assistant .body p') === null) return
      Object.assign(globalThis, { shownAt: performance.now() })
      observer.disconnect()
    }).observe(document, { subtree: true, childList: true })
  })
  await page.reload()
  await expect(page.locator('.message.assistant .body p').first()).toBeVisible()
  return page.evaluate(() => (globalThis as unknown as { shownAt: number }).shownAt)
}

/** Milliseconds from sending to the first character of the answer. */
async function timeToFirst(page: Page): Promise<number> {
  await page.evaluate(() => {
    Object.assign(globalThis, { firstAfter: 0 })
    document.querySelector('.composer')?.addEventListener(
      'submit',
      () => {
        const start = performance.now()
        new MutationObserver((_, observer) => {
          const body = document.querySelector('.message.growing .body')
          if ((body?.textContent?.trim() ?? '') === '') return
          Object.assign(globalThis, { firstAfter: performance.now() - start })
          observer.disconnect()
        }).observe(document.body, { subtree: true, childList: true, characterData: true })
      },
      { once: true },
    )
  })
  const field = page.getByRole('textbox', { name: 'Message' })
  await field.fill('Tell me a story.')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  const read = () => page.evaluate(() => (globalThis as unknown as { firstAfter?: number }).firstAfter ?? 0)
  await expect.poll(read).toBeGreaterThan(0)
  return read()
}

test('a conversation of 600 messages renders only nearby messages, and answers like a short one', async ({
  page,
}, info) => {
  await openChat(page)
  await slowDown(page, 4)
  const times: Record<string, string> = {}
  for (const [name, count] of [
    ['short', 2],
    ['long', 600],
  ] as const) {
    await storeChats(page, [{ id: name, messages: turns(count) }])
    const shown = await timeToShow(page)
    await ready(page)
    await page.waitForTimeout(1000)
    const rendered = await messages(page).count()
    expect(rendered, 'messages that were rendered').toBeLessThan(60)
    // A visit's first turn processes as much of the conversation as fits into the context, the next turn only
    // the new messages.
    const first = await timeToFirst(page)
    await ready(page)
    const next = await timeToFirst(page)
    times[name] = [shown, first, next].map(Math.round).join(', ')
    await ready(page)
  }
  // Times also depend on the machine, so they are only reported.
  for (const [name, text] of Object.entries(times)) {
    const what = `${name} conversation: ms until shown, first character, first character of the next turn`
    info.annotations.push({ type: what, description: text })
    console.log(`${what}: ${text}`)
  }
})

test('earlier messages appear when the user scrolls to them, without moving the text being read', async ({
  page,
}) => {
  await openLongChat(page)
  const log = page.locator('.log')
  // A message in the middle of the screen stays in place while others are added above.
  await log.evaluate((element) => element.scrollBy(0, -element.scrollTop + 10))
  const first = messages(page).nth(1)
  const text = await first.locator('.body').innerText()
  const same = messages(page).filter({ hasText: text.split('\n')[0] ?? '' })
  const before = await same.boundingBox()
  await expect.poll(() => messages(page).first().locator('.body').innerText()).not.toBe(text)
  await page.waitForTimeout(500)
  const after = await same.boundingBox()
  expect(Math.abs((after?.y ?? 0) - (before?.y ?? 0)), 'pixels that it moved').toBeLessThan(30)
  await expect
    .poll(
      async () => {
        await log.evaluate((element) => element.scrollTo(0, 0))
        return page.getByText('Question 0 about').count()
      },
      { timeout: 30_000 },
    )
    .toBe(1)
  await say(page, 'And now?')
  await expect(page.getByText('And now?')).toBeInViewport()
})
