// The chat page in other browsers. In: the built chat page and this machine's browsers. Out: whether the page
// answers in each browser, with the same answer in all.
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Browser } from './browser.ts'
import { collectFacts, type Facts } from './facts.ts'
import { chromiumEngine, firefoxEngine } from './puppeteer.ts'
import { type Site, serveSite } from './site.ts'
import { webkitEngine, webkitSharedEngine } from './webkit.ts'

/** Roughly how long a service worker takes to install after the first answer. */
const SERVICE_WORKER_MS = 300
const SEND = 'button[aria-label=Send]'
const COMPOSER = 'textarea[aria-label=Message]'

let site: Site

beforeAll(async () => {
  site = await serveSite()
})

afterAll(() => site.close())

interface View {
  readonly canSend: boolean
  readonly question: string
  readonly answer: string
  /** Build and threads, as the page shows them. */
  readonly figures: string
  readonly alert: string
  /** The notice above the composer, for example loading progress. */
  readonly notice: string
  readonly problems: readonly string[]
}

function look(browser: Browser): Promise<View> {
  return browser.evaluate(() => {
    const text = (selector: string) => document.querySelector(selector)?.textContent?.trim() ?? ''
    return {
      canSend: document.querySelector('chat-composer[ready] button[aria-label=Send]:enabled') !== null,
      question: text('.message.user .body'),
      answer: text('.message.assistant .body'),
      figures: text('.stats span:last-child'),
      alert: text('[role=alert]'),
      notice: text('.notice'),
      problems: globalThis.halfbyteProblems,
    }
  })
}

async function untilReady(browser: Browser): Promise<View> {
  let last: View | undefined
  // A message can be sent before the model has loaded, and before the app replaces the static field.
  const isSettled = ({ canSend, figures, alert, problems }: View) =>
    (canSend && figures !== '') || alert !== '' || problems.length > 0
  const view = await vi
    .waitUntil(
      async () => {
        last = await look(browser)
        return isSettled(last) && last
      },
      { timeout: 90_000, interval: 100 },
    )
    .catch(() => {
      throw new Error(`not ready after 90 s: ${JSON.stringify(last)}`)
    })
  expect({ alert: view.alert, problems: view.problems }).toEqual({ alert: '', problems: [] })
  return view
}

/** Opens the page with these settings, a loaded model and no conversation. */
async function openChat(browser: Browser, settings: object): Promise<void> {
  await browser.open(site.empty)
  await browser.evaluate(async (text: string) => {
    localStorage.setItem('halfbyte-settings', text)
    const request = indexedDB.deleteDatabase('halfbyte-chat')
    await new Promise((resolve, reject) => {
      request.onsuccess = resolve
      request.onerror = reject
    })
  }, JSON.stringify(settings))
  await browser.open(site.page)
  expect((await untilReady(browser)).question).toBe('')
}

async function say(browser: Browser, text: string): Promise<View> {
  await browser.type(COMPOSER, text)
  await browser.click(SEND)
  await expect.poll(async () => (await look(browser)).question, { timeout: 10_000 }).toBe(text)
  const view = await untilReady(browser)
  console.log(`${view.figures}: ${JSON.stringify(view.answer)}`)
  return view
}

/** The greedy answer in Chromium, which runs first. */
let reference: string | undefined

describe.each([chromiumEngine, firefoxEngine, webkitEngine, webkitSharedEngine])('$name', (engine) => {
  let browser: Browser
  let facts: Facts

  beforeAll(async () => {
    if (engine.lacks !== undefined) return
    browser = await engine.launch()
    await browser.open(site.empty)
    facts = await browser.evaluate(collectFacts)
    console.log(`${engine.name} (${browser.version}): ${JSON.stringify(facts)}`)
  })

  afterAll(async () => {
    await browser?.close()
  })

  test('has all features that the library requires', ({ skip }) => {
    skip(engine.lacks !== undefined, engine.lacks)
    expect(facts).toMatchObject({ simd: true, isolated: true })
  })

  test('can navigate to another page while its service worker starts', async ({ skip }) => {
    skip(engine.lacks !== undefined, engine.lacks)
    await browser.open(site.page)
    await untilReady(browser)
    await openChat(browser, { maxTokens: 40, seed: 1 })
    await say(browser, 'Hello!')
    await sleep(SERVICE_WORKER_MS)
    await browser.open(site.empty)
    expect(await browser.evaluate(() => document.title)).toBe('Empty')
  })

  test('answers, in the fastest build that it supports', async ({ skip }) => {
    skip(engine.lacks !== undefined, engine.lacks)
    await openChat(browser, { maxTokens: 40, seed: 1 })
    const { answer, figures } = await say(browser, 'Hello!')
    expect(answer).not.toBe('')
    expect(figures).toMatch(new RegExp(`^\\d threads?, ${facts.relaxedSimd ? 'relaxed' : 'simd128'}$`))
  })

  test('gives the same greedy answer as Chromium', async ({ skip }) => {
    skip(engine.lacks !== undefined, engine.lacks)
    const story = async (threads: number) => {
      await openChat(browser, { temperature: 0, maxTokens: 40, threads })
      const { answer, figures } = await say(browser, 'Tell me a story about a fox and a river.')
      expect(figures).toMatch(new RegExp(`^${threads} threads?,`))
      expect(answer).not.toBe('')
      return answer
    }
    const answer = await story(facts.sharedMemory ? 2 : 1)
    reference ??= answer
    expect(answer).toBe(reference)
    // Shards sum in a different order, so near ties may resolve differently, but not in the first words.
    if (!facts.sharedMemory) expect((await story(2)).slice(0, 40)).toBe(reference.slice(0, 40))
  })
})
