// Responsiveness. In: the built chat page on a main thread slowed down four times. Out: whether it keeps
// painting while it opens, loads a model and answers.
import { expect, type Page, test } from '@playwright/test'
import { endlessModel } from '../endless-model.ts'
import { serveModels } from '../model-server.ts'
import { openChat, slowDown, watch } from './chat-page.ts'

interface Ended {
  readonly blocks: number
  readonly changes: number
}

/** Counts changes to finished blocks of the next answer. There should be none. */
async function watchEnded(page: Page): Promise<() => Promise<Ended>> {
  await page.evaluate(() => {
    const seen = { blocks: 0, changes: 0 }
    const observer = new MutationObserver((records) => {
      seen.changes += records.length
    })
    const all = { subtree: true, childList: true, characterData: true, attributes: true }
    new MutationObserver((_, waiting) => {
      const blocks = [...document.querySelectorAll('.message.growing .part > *')]
      if (blocks.length < 4) return
      waiting.disconnect()
      const ended = blocks.slice(0, -2)
      seen.blocks = ended.length
      for (const block of ended) observer.observe(block, all)
    }).observe(document.body, { subtree: true, childList: true })
    Object.assign(globalThis, { seen })
  })
  return () => page.evaluate(() => (globalThis as unknown as { seen: Ended }).seen)
}

/**
 * Runs an expression in the page without Playwright's scripts, whose work would be measured too. The
 * expression may return a promise.
 */
type Run = <T>(expression: string) => Promise<T>

async function quietly(page: Page): Promise<Run> {
  const session = await page.context().newCDPSession(page)
  return async (expression) => {
    const how = { awaitPromise: true, returnByValue: true } as const
    const { result, exceptionDetails } = await session.send('Runtime.evaluate', { expression, ...how })
    if (exceptionDetails !== undefined) throw new Error(exceptionDetails.text)
    return result.value
  }
}

const until = (condition: string): string => `new Promise((done) => {
  const look = setInterval(() => { if (!(${condition})) return; clearInterval(look); done() }, 50)
})`
const READY = "document.querySelector('button[aria-label=Send]')?.disabled === false"

/** Clicks the first match. */
const press = (selector: string): string => `document.querySelector(${JSON.stringify(selector)}).click()`

test('a slow page keeps painting while it opens, loads a model, answers, stops and opens other views', async ({
  page,
}, info) => {
  const server = await serveModels(endlessModel())
  try {
    await slowDown(page, 4)
    await page.addInitScript(() => {
      localStorage.setItem('halfbyte-settings', '{"maxTokens":4000}')
      const long: number[] = []
      Object.assign(globalThis, { long })
      new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) long.push(Math.round(duration))
      }).observe({ type: 'longtask', buffered: true })
    })
    const run = await quietly(page)
    const longTasks = () => run<string>("long.splice(0).join(', ')")
    await page.goto('/', { waitUntil: 'commit' })
    await run(until(READY))
    const opening = await longTasks()

    const lengths = await watch(page)
    const touched = await watchEnded(page)
    await longTasks()
    await run(press('button.model'))
    await run(until("document.querySelector('dialog[open] #address')"))
    await run(`document.querySelector('#address').value = '${server.address}'; ${press('.beside .primary')}`)
    await run(until(`!document.querySelector('button.model').textContent.includes('Stories') && ${READY}`))
    const loading = await longTasks()
    await run(
      `document.querySelector('.composer textarea').value = 'Say something.'; ${press('.composer .round')}`,
    )
    await run(until('(lengths.at(-1) ?? 0) > 2000'))
    const answering = await longTasks()
    await run(press('button[aria-label=Stop]'))
    await run(until(READY))
    const stopping = await longTasks()
    await run(press('button[aria-label=Settings]'))
    await run(until("document.querySelector('dialog[open]:not(.filling) #setting-theme')"))
    const settings = await longTasks()
    await run(press('dialog[open] .heading button'))
    await run(press('button[aria-label="Start a new chat"]'))
    await run(press('button[aria-label=Conversations]'))
    await run(until("document.querySelector('dialog[open]:not(.filling) .choice')"))
    await run(press('dialog[open] .choice'))
    await run(
      until("!document.querySelector('dialog[open]') && document.querySelector('.message.assistant')"),
    )
    const switching = await longTasks()
    const phases = { opening, loading, answering, stopping, settings, switching }
    // How long a task takes also depends on the machine, so it is only reported. The test requires that
    // frames were painted.
    for (const [when, tasks] of Object.entries(phases)) {
      info.annotations.push({ type: `long tasks while ${when}, ms`, description: tasks || 'none' })
      console.log(`long tasks while ${when}, ms: ${tasks || 'none'}`)
    }
    const painted = await lengths()
    expect(new Set(painted).size, 'lengths that were painted').toBeGreaterThan(3)
    expect(painted[0], 'letters of the first frame').toBeLessThan(80)
    const { blocks, changes } = await touched()
    expect(blocks, 'blocks that were finished').toBeGreaterThan(1)
    expect(changes, 'changes to finished blocks').toBe(0)
  } finally {
    await server.close()
  }
})

/** Stores a conversation with one long answer for the page to find when it opens. */
async function storeLongChat(page: Page, answer: string): Promise<void> {
  await page.evaluate((content) => {
    const messages = [
      { role: 'user', content: 'Say a lot.' },
      { role: 'assistant', content },
    ]
    return new Promise<void>((done) => {
      const opening = indexedDB.open('halfbyte-chat')
      opening.onsuccess = () => {
        const writing = opening.result.transaction('conversations', 'readwrite')
        writing.objectStore('conversations').put({ id: 'long', title: 'Long', updated: Date.now(), messages })
        writing.oncomplete = () => {
          opening.result.close()
          done()
        }
      }
    })
  }, answer)
}

test('a long answer is rendered from its end, a few elements per frame', async ({ page }) => {
  const paragraphs = Array.from(
    { length: 60 },
    (_, index) => `## Part ${index}\n\nThe *river* and the **moon**, \`${index}\`.`,
  )
  const lists = paragraphs.map((text, index) => `${text}\n\n- one of ${index}\n- two of ${index}`)
  await openChat(page)
  await storeLongChat(page, lists.join('\n\n'))
  await page.addInitScript(() => {
    /** The maximum elements added in a frame, and the first heading shown. */
    const seen = { most: 0, first: '', now: 0 }
    Object.assign(globalThis, { seen })
    new MutationObserver((records) => {
      for (const { addedNodes } of records)
        for (const node of addedNodes) {
          if (!(node instanceof Element) || node.closest('.message.assistant .body') === null) continue
          if (seen.now === 0) requestAnimationFrame(() => (seen.now = 0))
          seen.now += 1 + node.querySelectorAll('*').length
          seen.most = Math.max(seen.most, seen.now)
          seen.first ||= document.querySelector('.part h2')?.textContent ?? ''
        }
    }).observe(document, { subtree: true, childList: true })
  })
  await page.reload()
  await expect(page.getByText('two of 59')).toBeInViewport()
  await expect
    .poll(async () => {
      await page.locator('.log').evaluate((log) => log.scrollTo(0, 0))
      return page.locator('.part').first().innerText()
    })
    .toContain('Part 0')
  const { most, first } = await page.evaluate(
    () => (globalThis as unknown as { seen: { most: number; first: string } }).seen,
  )
  expect(await page.locator('.part *').count(), 'elements of the answer').toBeGreaterThan(400)
  expect(most, 'elements that a frame added').toBeLessThan(200)
  expect(Number(first.replace('Part ', '')), 'the heading that came first').toBeGreaterThan(40)
  await page.locator('.log').evaluate((log) => log.scrollTo(0, 0))
  await expect(page.getByText('two of 0', { exact: true })).toBeInViewport()
})

test('the scripts that run before the first paint are small', async ({ request }) => {
  const page = await (await request.get('/')).text()
  const entries = [...page.matchAll(/<script [^>]*src="([^"]+\.js)"/g)].map(([, path]) => path ?? '')
  expect(entries.length).toBeGreaterThan(0)
  // Includes the modules that the scripts import, but not those that they only preload, which run later.
  const waiting = entries.map((path) => new URL(path, 'http://page.test/'))
  const seen = new Map<string, number>()
  for (let url = waiting.pop(); url !== undefined; url = waiting.pop()) {
    if (seen.has(url.pathname)) continue
    const body = await (await request.get(url.pathname)).text()
    seen.set(url.pathname, Buffer.byteLength(body))
    for (const [, path = ''] of body.matchAll(/(?:from|import)\s*["'](\.[^"']+)["']/g))
      waiting.push(new URL(path, url))
  }
  const bytes = [...seen.values()].reduce((sum, each) => sum + each, 0)
  expect(bytes, 'bytes of scripts that the page runs').toBeLessThan(20_000)
})
