// The library in a Chrome extension. In: an extension page, whose files have no ranges or lengths, and the
// offscreen document and side panel of the guide's recipe. Out: whether the model answers in each.
import { cp, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BrowserContext, test as base, chromium, expect, type Page, type Worker } from '@playwright/test'
import { EMBEDDED_OPTIONS, EMBEDDED_TURNS, repliesOf } from '../../test/conformance/testing/golden.ts'
import { writeGuideFiles } from '../../test/helpers/guide-files.ts'
import { chromiumOptions } from '../chromium.ts'

const DIST = fileURLToPath(new URL('../../dist', import.meta.url))

/** An extra page, not in the recipe. Its button opens the panel, because Chromium requires a click. */
const TRIAL = `import { Engine } from './halfbyte/halfbyte.js'
const { id } = await chrome.windows.getCurrent()
document.querySelector('button').onclick = () => chrome.sidePanel.open({ windowId: id })
globalThis.run = async (cache) => {
  const engine = await Engine.load('model.hbm', { threads: 2, cache })
  const text = await engine.createSession().send(${JSON.stringify(EMBEDDED_TURNS[0])}, ${JSON.stringify(EMBEDDED_OPTIONS)}).text()
  const { pool } = engine
  await engine.dispose()
  return { text, pool }
}`

/** The part of the extension API that the test uses. */
interface Chrome {
  readonly chrome: {
    readonly runtime: { getContexts(filter: object): Promise<{ readonly contextType: string }[]> }
  }
}

interface Extension {
  readonly folder: string
  readonly context: BrowserContext
  readonly background: Worker
  /** URL of a file in the extension. */
  address(name: string): string
}

const test = base.extend<{ extension: Extension }>({
  async extension({ browserName: _ }, use) {
    const folder = await mkdtemp(join(tmpdir(), 'halfbyte-extension-'))
    const names = await writeGuideFiles('bundlers.md', 'Chrome extensions', folder)
    const pages = ['offscreen.html', 'offscreen.js', 'panel.html', 'panel.js']
    expect(names).toEqual(['manifest.json', 'background.js', ...pages])
    await cp(join(DIST, 'cdn'), join(folder, 'halfbyte'), { recursive: true })
    await cp(join(DIST, 'models/halfbyte-stories.hbm'), join(folder, 'model.hbm'))
    const trial = '<!doctype html><button>Open</button><script type="module" src="trial.js"></script>'
    await writeFile(join(folder, 'trial.html'), trial)
    await writeFile(join(folder, 'trial.js'), TRIAL)
    const { args = [], ...options } = chromiumOptions()
    const context = await chromium.launchPersistentContext('', {
      ...options,
      args: [...args, `--disable-extensions-except=${folder}`, `--load-extension=${folder}`],
    })
    try {
      const background = context.serviceWorkers()[0] ?? (await context.waitForEvent('serviceworker'))
      const address = (name: string) => new URL(name, background.url()).href
      await use({ folder, context, background, address })
    } finally {
      await context.close()
      await rm(folder, { recursive: true })
    }
  },
})

/** Opens the extra page. */
async function openTrial({ context, address }: Extension): Promise<Page> {
  const page = await context.newPage()
  await page.goto(address('trial.html'))
  await page.waitForFunction(() => 'run' in globalThis)
  return page
}

test('a model larger than one range loads from an extension, with and without storage', async ({
  extension,
}) => {
  const page = await openTrial(extension)
  for (const cache of ['opfs', 'opfs', 'none']) {
    const answer = await page.evaluate(
      (cache) => (globalThis as unknown as { run(cache: string): Promise<object> }).run(cache),
      cache,
    )
    expect(answer).toEqual({ text: repliesOf('embedded')[0], pool: 'shared' })
  }
})

/**
 * Evaluates an expression in the document of that name. Playwright has no objects for side panels and
 * offscreen documents, so this uses the browser's own protocol.
 */
async function evaluateIn({ context, address }: Extension, name: string, expression: string) {
  const browser = await context.browser()?.newBrowserCDPSession()
  if (browser === undefined) throw new Error('the context has no browser')
  const { targetInfos } = await browser.send('Target.getTargets')
  const target = targetInfos.find(({ url }) => url === address(name))
  if (target === undefined) throw new Error(`there is no ${name}`)
  const { targetId } = target
  const { sessionId } = await browser.send('Target.attachToTarget', { targetId, flatten: false })
  const answer = new Promise<string>((resolve) =>
    browser.on('Target.receivedMessageFromTarget', ({ message }) => resolve(message)),
  )
  const params = { expression, awaitPromise: true, returnByValue: true }
  const message = JSON.stringify({ id: 1, method: 'Runtime.evaluate', params })
  await browser.send('Target.sendMessageToTarget', { sessionId, message })
  const { result, exceptionDetails } = JSON.parse(await answer).result
  await browser.detach()
  if (exceptionDetails !== undefined) throw new Error(exceptionDetails.exception?.description)
  return result.value
}

/** Presses Send once it is enabled. Resolves to the answer once Send is enabled again. */
const ASK = `(async () => {
  const button = document.querySelector('button')
  const isReady = async () => {
    while (button.disabled) await new Promise((resolve) => setTimeout(resolve, 50))
  }
  await isReady()
  button.click()
  await isReady()
  return document.querySelector('#out').textContent
})()`

test("the recipe's side panel asks the model in the offscreen document", async ({ extension }) => {
  const { context, background, address } = extension
  const kinds = () =>
    background.evaluate(async () => {
      const contexts = await (globalThis as unknown as Chrome).chrome.runtime.getContexts({})
      return contexts.map(({ contextType }) => contextType).sort()
    })
  const trial = await openTrial(extension)
  await trial.getByRole('button').click()
  const all = ['BACKGROUND', 'OFFSCREEN_DOCUMENT', 'SIDE_PANEL', 'TAB']
  await expect.poll(kinds).toEqual(all)
  for (const name of ['panel.html', 'offscreen.html'])
    expect(await evaluateIn(extension, name, 'crossOriginIsolated'), name).toBe(true)
  expect(await evaluateIn(extension, 'panel.html', ASK)).toMatch(/^[A-Z].{100,}/s)

  const second = await context.newPage()
  await second.goto(address('panel.html'))
  const other = await second.evaluate(ASK)
  expect(other).toMatch(/^[A-Z].{100,}/s)
  expect(await kinds(), 'the offscreen document is shared').toEqual([...all, 'TAB'])
})

test('the panel shows the failure, and the next question loads the model again', async ({ extension }) => {
  const model = join(extension.folder, 'model.hbm')
  await rename(model, `${model}.away`)
  const panel = await extension.context.newPage()
  await panel.goto(extension.address('panel.html'))
  expect(await panel.evaluate(ASK)).toContain('model.hbm')
  await rename(`${model}.away`, model)
  expect(await panel.evaluate(ASK)).toMatch(/^[A-Z].{100,}/s)
})
