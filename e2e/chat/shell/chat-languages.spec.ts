// Languages. In: the built chat page in a browser that prefers each of its languages, and one whose
// translation is marked. Out: whether each fits on a phone, and whether no text is left in English.
import { mkdirSync } from 'node:fs'
import { type Browser, expect, type Page, test } from '@playwright/test'
import { ENGLISH, ENGLISH_REASONS } from '../../../demo/src/words/english.ts'
import { LATER_ENGLISH } from '../../../demo/src/words/later-english.ts'
import { CATALOGUE } from '../../../src/ui/chat/library.ts'
import { isRightToLeft, TRANSLATED } from '../../../src/ui/words/languages.ts'
import type { Message } from '../../../src/ui/words/message.ts'
import { overflowing, readyComposer } from '../chat-page.ts'

const PHONE = { width: 390, height: 844 }
const FOLDER = 'build/screens/languages'
mkdirSync(FOLDER, { recursive: true })

/** Opens the page as in a new browser that prefers `locale`, and waits for the model. */
async function openIn(browser: Browser, locale: string, size = PHONE): Promise<Page> {
  const context = await browser.newContext({
    locale,
    viewport: size,
    isMobile: size.width < 600,
    hasTouch: size.width < 600,
    colorScheme: 'light',
    reducedMotion: 'reduce',
    serviceWorkers: 'block',
  })
  const page = await context.newPage()
  await page.goto('/')
  return page
}

async function loaded(page: Page): Promise<void> {
  await expect(readyComposer(page)).toHaveCount(1)
  await expect(page.locator('.stats.loading')).toHaveCount(0)
}

/** Controls and lines whose text does not fit. */
const cutOff = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const isCut = (element: Element) =>
      element.scrollWidth > element.clientWidth + 1 || element.scrollHeight > element.clientHeight + 2
    // A model's name and a conversation's title end with an ellipsis.
    return [
      ...document.querySelectorAll('button, summary, label, h2, h3, select, .stats, dialog, small, dt, dd'),
    ]
      .filter(
        (element) =>
          element.getClientRects().length > 0 &&
          element.closest('.visually-hidden, .model, .choice') === null,
      )
      .filter((element) =>
        element.localName === 'dialog' ? element.scrollWidth > element.clientWidth : isCut(element),
      )
      .filter((element) => getComputedStyle(element).display !== 'inline')
      .map(
        (element) => `${element.localName}.${element.className}: ${element.textContent?.trim().slice(0, 60)}`,
      )
  })

async function expectToFit(page: Page, what: string): Promise<void> {
  const beyond = await page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement
    return scrollWidth - clientWidth
  })
  expect.soft(beyond, what).toBeLessThanOrEqual(0)
  expect.soft(await overflowing(page), what).toEqual([])
  expect.soft(await cutOff(page), what).toEqual([])
}

/** The dialogs behind the buttons of the page, by name, in the order in which they are checked. */
const DIALOGS = {
  list: '.bar button.quiet',
  models: 'button.model',
  runs: 'button.stats',
  settings: '.bar button.quiet:last-child',
} as const

async function openDialog(page: Page, button: string): Promise<void> {
  await page.locator(button).first().click()
  await expect(page.locator('dialog[open]')).toBeVisible()
  await expect(page.locator('dialog.filling')).toHaveCount(0)
  const folded = page.locator('dialog[open] details:not([open]) > summary')
  while ((await folded.count()) > 0) await folded.first().click()
}

test.describe.configure({ timeout: 300_000 })

for (const language of ['en', ...TRANSLATED]) {
  test(`the page in ${language} fits on a phone`, async ({ browser }) => {
    const page = await openIn(browser, language)
    try {
      const root = page.locator('html')
      await expect(root).toHaveAttribute('lang', language)
      await expect(root).toHaveAttribute('dir', isRightToLeft(language) ? 'rtl' : 'ltr')
      await expect(page.locator('.empty h2:visible')).toBeVisible()
      await expectToFit(page, 'while it loads')
      await loaded(page)
      await expectToFit(page, 'the page')
      await page.screenshot({ path: `${FOLDER}/${language}.png` })
      for (const [name, button] of Object.entries(DIALOGS)) {
        await openDialog(page, button)
        await expectToFit(page, name)
        await page.locator('dialog[open]').evaluate((dialog) => dialog.scrollTo(0, 0))
        await page.screenshot({ path: `${FOLDER}/${language}-${name}.png` })
        await page.keyboard.press('Escape')
        await expect(page.locator('dialog[open]')).toHaveCount(0)
      }
    } finally {
      await page.context().close()
    }
  })
}

for (const [width, height] of [
  [360, 640],
  [1280, 800],
] as const) {
  test(`German, Arabic and Japanese fit at ${width} x ${height}`, async ({ browser }) => {
    for (const language of ['de', 'ar', 'ja']) {
      const page = await openIn(browser, language, { width, height })
      await loaded(page)
      await expectToFit(page, language)
      await page.screenshot({ path: `${FOLDER}/${language}-${width}.png` })
      await openDialog(page, DIALOGS.settings)
      await expectToFit(page, `${language} settings`)
      await page.screenshot({ path: `${FOLDER}/${language}-${width}-settings.png` })
      await page.context().close()
    }
  })
}

/** The English texts as a translation in which each is marked. */
function marked(): string {
  const mark = (message: Message): Message =>
    typeof message === 'string'
      ? `⟦${message}⟧`
      : (Object.fromEntries(
          Object.entries(message).map(([form, text]) => [form, form === 'by' ? text : `⟦${text}⟧`]),
        ) as unknown as Message)
  const table = (messages: Readonly<Record<string, Message>>) =>
    JSON.stringify(
      Object.fromEntries(Object.entries(messages).map(([name, message]) => [name, mark(message)])),
    )
  const models = Object.fromEntries(CATALOGUE.map(({ title, about }) => [title, about]))
  return `export const WORDS = ${table(ENGLISH)}, LATER = ${table(LATER_ENGLISH)}, REASONS = ${JSON.stringify(ENGLISH_REASONS)}, NOTES = {}, MODELS = ${table(models)}`
}

/** Visible texts and labels outside the marks, except those that are the same in every language. */
const unmarked = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const found: string[] = []
    const take = (text: string | null | undefined) => {
      let rest = (text ?? '').trim()
      // A message may be part of another.
      for (let before = ''; before !== rest; ) {
        before = rest
        rest = rest.replace(/⟦[^⟦⟧]*⟧/g, '')
      }
      if (/\p{L}{3,}/u.test(rest)) found.push(rest)
    }
    // Sample questions are for a model that reads English; conversations, model names and the languages' own
    // names are the same in every language.
    const same = '.starters, .message, option[lang], b, .choice > span, h1, .brand, kbd, code'
    for (const element of document.querySelectorAll('chat-app *')) {
      if (element.closest(same) !== null || element.closest('script, style') !== null) continue
      for (const name of ['aria-label', 'title', 'placeholder', 'alt']) take(element.getAttribute(name))
      for (const node of element.childNodes) if (node.nodeType === Node.TEXT_NODE) take(node.textContent)
    }
    return [...new Set(found)]
  })

/** Texts that are names, formats and units. */
const NAMES =
  /^(?:[\w-]+\/[^ ]+@\w+|https:\/\/…\/\w+\.gguf|owner\/name|Markdown|JSON|relaxed|simd128|shared|single|llama|[\d.,]+ (?:MB|GB|kB|ms|million|sec|Sek\.|tokens\/s).*)$/

test('every text of the page comes from its message tables', async ({ page }) => {
  await page.addInitScript(() =>
    localStorage.setItem('halfbyte-settings', JSON.stringify({ version: 2, language: 'de' })),
  )
  await page.route(/\/language-de-[\w-]+\.js$/, (route) =>
    route.fulfill({ contentType: 'text/javascript', body: marked() }),
  )
  await page.goto('/')
  await loaded(page)
  await expect(page.locator('.empty h2').last()).toHaveText('⟦A language model in this page⟧')
  const expectMarked = async (what: string) =>
    expect
      .soft(
        (await unmarked(page)).filter((text) => !NAMES.test(text)),
        what,
      )
      .toEqual([])
  await expectMarked('the page')
  await page.locator('chat-composer textarea').fill('Hello!')
  await page.locator('chat-composer button.round').click()
  await expect(page.locator('.message.assistant .actions button').first()).toBeVisible({ timeout: 60_000 })
  await loaded(page)
  await expectMarked('an answer')
  for (const [name, button] of Object.entries(DIALOGS)) {
    await openDialog(page, button)
    await expectMarked(name)
    await page.keyboard.press('Escape')
    await expect(page.locator('dialog[open]')).toHaveCount(0)
  }
})
