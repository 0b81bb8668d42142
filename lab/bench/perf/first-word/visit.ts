// Visits the chat page with a browser profile, and reports when it was shown, when a message could be sent,
// and when the first word of the answer appeared.
import { setTimeout as sleep } from 'node:timers/promises'
import { type BrowserContext, chromium, type Page } from '@playwright/test'
import { chromiumOptions } from '../../../../e2e/chromium.ts'

export interface Visit {
  /** The model's name, as the page shows it. */
  readonly model: string
  /** First contentful paint. All times are in milliseconds since the navigation began. */
  readonly shownMs: number
  /** When the message could be sent; it then waits for the model. */
  readonly readyMs: number
  /** When the model could answer. */
  readonly loadedMs: number
  readonly firstWordMs: number
}

interface VisitOptions {
  readonly address: string
  /** Kept between visits. A new profile makes a first visit. */
  readonly profile: string
  /** Slows the page's thread down, but not workers. */
  readonly cpuRate: number
  /**
   * Name of a model that comes with the page, or the path of a file next to it. Default: the model that the
   * page opens with.
   */
  readonly model?: string | undefined
  readonly question: string
  /** Waits until the next visit needs no network. */
  readonly settle?: boolean
}

/** Name of the binding that the page calls once the first word is visible. */
const SAID = 'firstWordSaid'
/** Storage key of the last model's name. */
const LAST_MODEL = 'halfbyte-last-model'
const PATIENCE_MS = 120_000
/** A phone's, as in the browser tests. */
const VIEWPORT = { width: 360, height: 740 }

/** Makes one visit with its own browser. Throws if no answer comes. */
export async function visit(options: VisitOptions): Promise<Visit> {
  const browser = await chromium.launchPersistentContext(options.profile, {
    ...chromiumOptions(),
    viewport: VIEWPORT,
    deviceScaleFactor: 2,
    isMobile: true,
    hasTouch: true,
  })
  try {
    return await visitWith(browser, options)
  } finally {
    await browser.close()
  }
}

async function visitWith(browser: BrowserContext, options: VisitOptions): Promise<Visit> {
  const { address, cpuRate, model, question, settle = false } = options
  const page = await browser.newPage()
  const isFile = model?.includes('/') === true
  const last = isFile ? new URL(model, address).href : model
  await page.addInitScript(askAtOnce, { key: LAST_MODEL, said: SAID, model: last, question })
  const session = await browser.newCDPSession(page)
  await session.send('Emulation.setCPUThrottlingRate', { rate: cpuRate })
  // Playwright's own wait functions would inject 330 kB of script into the page, which takes a tenth of a
  // second at 4x.
  await session.send('Runtime.enable')
  await session.send('Runtime.addBinding', { name: SAID })
  const said = new Promise<void>((resolve) => session.on('Runtime.bindingCalled', () => resolve()))
  await session.send('Page.navigate', { url: address })
  await within(said)
  const marks = await page.evaluate(() => {
    const [paint] = performance.getEntriesByName('first-contentful-paint')
    return {
      ...(globalThis as unknown as { marks: Pick<Visit, 'readyMs' | 'loadedMs' | 'firstWordMs'> }).marks,
      shownMs: paint?.startTime ?? Number.NaN,
      model: document.querySelector('.bar .model')?.textContent?.trim() ?? '',
    }
  })
  if (model !== undefined && marks.model !== model.split('/').at(-1)) {
    throw new Error(`the page opened with ${marks.model}, not ${model}; give a name from the page's list`)
  }
  if (settle) {
    await session.send('Emulation.setCPUThrottlingRate', { rate: 1 })
    await keptOffline(page, ['.html', 'engine.worker', '.wasm', ...(isFile ? [] : ['.hbm'])])
  }
  return marks
}

interface Asked {
  readonly key: string
  readonly said: string
  readonly model: string | undefined
  readonly question: string
}

/** Rejects if it takes too long. */
async function within(event: Promise<void>): Promise<void> {
  const late = new AbortController()
  const patience = sleep(PATIENCE_MS, undefined, { signal: late.signal }).then(() => {
    throw new Error(`no answer within ${PATIENCE_MS / 1000} s`)
  })
  try {
    await Promise.race([event, patience])
  } finally {
    late.abort()
    patience.catch(() => undefined)
  }
}

/**
 * Runs in the page before its scripts: types the question as soon as there is a field, sends it as soon as
 * possible, and records the first complete word of the answer.
 */
function askAtOnce(asked: Asked): void {
  if (asked.model !== undefined) localStorage.setItem(asked.key, asked.model)
  const marks: { readyMs?: number; loadedMs?: number; firstWordMs?: number } = {}
  Object.assign(globalThis, { marks })
  let earlier = 0
  const look = (observer: MutationObserver) => {
    if (marks.loadedMs === undefined && document.querySelector('chat-composer[ready]') !== null)
      marks.loadedMs = performance.now()
    const answers = [...document.querySelectorAll('.message.assistant .body')]
    if (marks.readyMs === undefined) {
      const area = document.querySelector('textarea')
      if (area !== null && area.value === '') {
        area.value = asked.question
        area.dispatchEvent(new Event('input', { bubbles: true }))
      }
      const send = document.querySelector<HTMLButtonElement>('button[aria-label=Send]')
      if (send === null || send.disabled || area === null) return
      marks.readyMs = performance.now()
      earlier = answers.length
      send.click()
    } else if (answers.length > earlier && /\w+\W/.test(answers.at(-1)?.textContent?.trimStart() ?? '')) {
      marks.firstWordMs = performance.now()
      observer.disconnect()
      ;(globalThis as unknown as Record<string, (text: string) => void>)[asked.said]!('')
    }
  }
  new MutationObserver((_, observer) => look(observer)).observe(document, {
    subtree: true,
    childList: true,
    characterData: true,
    attributes: true,
  })
}

/** Waits for the end of the answer, and until files with these parts in their names are stored. */
async function keptOffline(page: Page, parts: readonly string[]): Promise<void> {
  await page
    .getByRole('button', { name: 'Send', exact: true })
    .and(page.locator(':enabled'))
    .waitFor({ timeout: PATIENCE_MS })
  await page.waitForFunction(
    async (parts) => {
      const caught = await Promise.all(
        (await caches.keys()).map(async (name) => (await caches.open(name)).keys()),
      )
      const urls = caught.flat().map(({ url }) => url)
      return parts.every((part) => urls.some((url) => url.includes(part)))
    },
    parts,
    { timeout: PATIENCE_MS, polling: 500 },
  )
  // The remaining files come from the browser's own cache, and the conversation goes to its database.
  await page.waitForTimeout(2000)
}
