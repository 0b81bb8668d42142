// Asks the built chat page ordinary messages and compares its answers with those judged by hand: `npx node
// lab/bench/talk/main.ts [--write] [NAME...]`. In: files of test/fixtures/page, and build/demo. Out: grades,
// and the answers that have not been judged yet; `--write` adds these to the files, without a grade.
//
// Each message starts a new chat unless it continues the previous one. Seed, time, time zone and language are
// fixed, so that an unchanged page gives the same answers.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Browser, chromium, type Page } from '@playwright/test'
import { chromiumOptions } from '../../../e2e/chromium.ts'
import { ISOLATION, serveFolder } from '../../../test/helpers/http-server.ts'
import { type Judged, summary, withAnswers } from './judged.ts'

const SETTINGS = { version: 2, seed: 7 }
const NOW = new Date('2026-11-29T12:20:00Z')
/** Maximum wait for an answer, in milliseconds. */
const MAX_WAIT = 120_000

const path = (relative: string) => fileURLToPath(new URL(`../../../${relative}`, import.meta.url))

/** Resolves once the model is loaded and no answer is in progress. */
async function ready(page: Page): Promise<void> {
  await page.evaluate(() => new Promise((done) => setTimeout(done, 30)))
  await page.waitForFunction(
    () =>
      document.querySelector('.stats.loading') === null &&
      document.querySelector('chat-composer[ready] button[aria-label=Send]') !== null,
    undefined,
    { timeout: MAX_WAIT },
  )
}

/** The newest answer as the user sees it. */
async function ask(page: Page, { text, continues }: Judged): Promise<string> {
  if (!continues) {
    const fresh = page.getByRole('button', { name: 'Start a new chat' })
    if (await fresh.isVisible()) await fresh.click()
    await page.locator('chat-message').first().waitFor({ state: 'detached' })
  }
  const answers = page.locator('.message.assistant')
  const before = await answers.count()
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill(text)
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await answers.nth(before).waitFor({ timeout: MAX_WAIT })
  await ready(page)
  await page.waitForFunction(() =>
    [...document.querySelectorAll('model-offer')].every((offer) => offer.querySelector('button') !== null),
  )
  return await answers.last().evaluate((message) =>
    [...message.querySelectorAll<HTMLElement>('.used, .body, .offer')]
      .map((part) => part.innerText.trim())
      .filter((part) => part !== '')
      .join('\n')
      .replace(/\n{2,}/g, '\n'),
  )
}

async function answersOf(browser: Browser, address: string, messages: readonly Judged[]): Promise<string[]> {
  const context = await browser.newContext({
    viewport: { width: 390, height: 844 },
    locale: 'en-US',
    timezoneId: 'America/New_York',
  })
  const page = await context.newPage()
  page.on('pageerror', (error) => console.error(`page error: ${error.message}`))
  await page.clock.setFixedTime(NOW)
  await page.addInitScript(
    (settings) => localStorage.setItem('halfbyte-settings', settings),
    JSON.stringify(SETTINGS),
  )
  await page.goto(address)
  await ready(page)
  const answers: string[] = []
  for (const message of messages) answers.push(await ask(page, message))
  await context.close()
  return answers
}

const given = process.argv.slice(2)
const names = given.filter((argument) => !argument.startsWith('--'))
const site = await serveFolder(path('build/demo'), ISOLATION)
const browser = await chromium.launch(chromiumOptions())
try {
  for (const name of names.length > 0 ? names : ['tested', 'ordinary', 'held']) {
    const file = path(`test/fixtures/page/${name}.json`)
    const messages: readonly Judged[] = JSON.parse(readFileSync(file, 'utf8'))
    const answered = withAnswers(messages, await answersOf(browser, site.address, messages))
    console.log(summary(name, answered))
    if (given.includes('--write'))
      writeFileSync(file, `[\n${answered.map((each) => `  ${JSON.stringify(each)}`).join(',\n')}\n]\n`)
  }
} finally {
  await browser.close()
  await site.close()
}
