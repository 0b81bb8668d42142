// The chat page from a user's perspective. In: Playwright's page. Out: actions and queries for tests.
import { expect, type Locator, type Page } from '@playwright/test'

export const composer = (page: Page): Locator => page.getByRole('textbox', { name: 'Message' })
export const sendButton = (page: Page): Locator => page.getByRole('button', { name: 'Send', exact: true })
export const answers = (page: Page): Locator => page.locator('.message.assistant')
export const bodies = (page: Page): Locator => page.locator('.message .body')

/** The composer once its model can answer. Without text, its button is still disabled. */
export const readyComposer = (page: Page): Locator => page.locator('chat-composer[ready]')

/** Opens the page and waits for its model. Page errors fail the test at its end through `problems`. */
export async function openChat(page: Page, address = '/'): Promise<{ readonly problems: readonly string[] }> {
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(error.message))
  await page.goto(address)
  await ready(page)
  return { problems }
}

/** The line that shows load progress. */
export const loadingLine = (page: Page): Locator => page.locator('.stats.loading')

/** Waits until the model is loaded, no other is loading, and no answer is in progress. */
export async function ready(page: Page): Promise<void> {
  // Lets the task scheduled by the last click start.
  await page.evaluate(() => new Promise((done) => setTimeout(done)))
  await expect(loadingLine(page)).toHaveCount(0)
  await expect(readyComposer(page)).toHaveCount(1)
  await expect(sendButton(page)).toBeVisible({ timeout: 60_000 })
}

export async function say(page: Page, text: string): Promise<void> {
  // Other messages may appear meanwhile, from another tab, or from the device after a reload. A long message
  // is shown only in part.
  const questions = page.locator('.message.user', { hasText: text.slice(0, 400) })
  const before = await questions.count()
  await composer(page).fill(text)
  await sendButton(page).click()
  await expect.poll(() => questions.count()).toBeGreaterThan(before)
}

/** Sends a message and waits for the complete answer. */
export async function ask(page: Page, text: string): Promise<void> {
  await say(page, text)
  // On a busy machine, the question may appear some time before its answer begins.
  await expect(page.locator('.message').last()).not.toHaveClass(/\buser\b/)
  await ready(page)
}

export async function openSettings(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Settings', exact: true }).click()
  await expect(page.getByRole('dialog', { name: 'Settings' })).toBeVisible()
}

/** Expands the settings that few users change. */
export async function unfoldSettings(page: Page): Promise<void> {
  // The dialog fills in several tasks.
  await expect(page.locator('settings-dialog dialog.filling')).toHaveCount(0)
  const closed = page.locator('settings-dialog details:not([open]) > summary')
  while ((await closed.count()) > 0) await closed.first().click()
}

/** Changes settings by their labels. */
export async function set(page: Page, values: Readonly<Record<string, string>>): Promise<void> {
  await openSettings(page)
  await unfoldSettings(page)
  for (const [label, value] of Object.entries(values))
    await page.getByLabel(label, { exact: true }).fill(value)
  await page.getByRole('button', { name: 'Done' }).click()
  await expect(page.getByRole('dialog')).toHaveCount(0)
}

export async function openModels(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Model/ }).click()
  await expect(page.getByRole('dialog', { name: 'Choose a model' })).toBeVisible()
}

/** Names of the page's stored model files. */
export const storedModels = (page: Page): Promise<string[]> =>
  page.evaluate(async () => {
    const root = await navigator.storage.getDirectory()
    const folder = await root.getDirectoryHandle('halfbyte-models')
    const names: string[] = []
    for await (const name of folder.keys()) names.push(name)
    return names
  })

/** Names of the page's stored sessions; storing a turn changes one. */
export const keptNames = (page: Page): Promise<string[]> =>
  page.evaluate(async () => {
    const root = await navigator.storage.getDirectory()
    const folder = await root.getDirectoryHandle('halfbyte-sessions', { create: true })
    const names: string[] = []
    for await (const name of folder.keys()) if (name.endsWith('.json')) names.push(name)
    return names
  })

/** Number of the page's stored sessions. */
export const kept = async (page: Page): Promise<number> => (await keptNames(page)).length

/** Changes whenever a session is stored. */
export const keptStamp = (page: Page): Promise<string> =>
  page.evaluate(async () => {
    const root = await navigator.storage.getDirectory()
    const folder = await root.getDirectoryHandle('halfbyte-sessions', { create: true })
    const stamps: string[] = []
    for await (const [name, handle] of folder.entries()) {
      if (handle.kind !== 'file') continue
      const { size, lastModified } = await (handle as FileSystemFileHandle).getFile()
      stamps.push(`${name} ${size} ${lastModified}`)
    }
    return stamps.sort().join()
  })

/**
 * Waits until the conversations are stored in their current state, because a transaction waits for earlier
 * ones.
 */
export const conversationsStored = (page: Page): Promise<void> =>
  page.evaluate(async () => {
    const opening = indexedDB.open('halfbyte-chat')
    await new Promise((done) => opening.addEventListener('success', done))
    const change = opening.result.transaction('conversations', 'readwrite')
    change.objectStore('conversations').count()
    await new Promise((done) => change.addEventListener('complete', done))
    opening.result.close()
  })

/** How many of the last prompt's tokens were processed, and how many it had. */
export async function readTokens(page: Page): Promise<readonly [number, number]> {
  const title = (await page.locator('[data-stat=speed]').getAttribute('title')) ?? ''
  const [, read, all] = /(\d+) of (\d+) tokens read/.exec(title) ?? []
  return [Number(read), Number(all)]
}

/** Slows the main thread down by this factor, like a phone's. */
export async function slowDown(page: Page, rate: number): Promise<void> {
  const session = await page.context().newCDPSession(page)
  await session.send('Emulation.setCPUThrottlingRate', { rate })
}

/**
 * Watches the newest answer from inside the page, so no change is missed, and records its length at each
 * change. With `stopAt`, it presses Stop once the answer has that many characters.
 */
export async function watch(page: Page, stopAt = Number.POSITIVE_INFINITY): Promise<() => Promise<number[]>> {
  await page.evaluate((letters) => {
    const lengths: number[] = []
    Object.assign(globalThis, { lengths })
    new MutationObserver((_, observer) => {
      const body = [...document.querySelectorAll('.message.growing .body')].at(-1)
      const length = body?.textContent?.trim().length ?? 0
      if (length === 0 || length === lengths.at(-1)) return
      lengths.push(length)
      if (length < letters) return
      observer.disconnect()
      document.querySelector<HTMLButtonElement>('button[aria-label=Stop]')?.click()
    }).observe(document.body, { subtree: true, childList: true, characterData: true })
  }, stopAt)
  return () => page.evaluate(() => (globalThis as unknown as { lengths: number[] }).lengths)
}

/** Elements that are wider than the page. */
export function overflowing(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const width = document.documentElement.clientWidth
    const isScrolled = (element: Element) =>
      element.closest('pre, .table, .formula, .visually-hidden, .stats.loading') !== null
    return [...document.querySelectorAll('body *')]
      .filter((element) => element.getClientRects().length > 0 && !isScrolled(element))
      .filter((element) => element.getBoundingClientRect().right > width + 0.5)
      .map((element) => `${element.localName}.${element.getAttribute('class')}`)
  })
}
