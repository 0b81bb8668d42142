// Sites with the widget. In: dist, markup, a script. Out: a page on its own server, under the strictest
// policy, with the violations and the events of its widgets.

import { fileURLToPath } from 'node:url'
import { test as base, expect as baseExpect, type Locator, type Page } from '@playwright/test'
import { type HttpServer, serveFolder } from '../../test/helpers/http-server.ts'
import { watchPolicy } from '../policy.ts'

export const DIST = fileURLToPath(new URL('../../dist', import.meta.url))
/** How long a load and an answer may take on a busy machine. */
export const expect = baseExpect.configure({ timeout: 45_000 })
export const MODEL = '/models/halfbyte-stories.hbm'

/** Allows neither inline styles and scripts nor strings that become markup or a script's address. */
export const STRICT = {
  'Content-Security-Policy':
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; require-trusted-types-for 'script'; trusted-types halfbyte lit-html",
}

const WATCH = `
globalThis.reported = []
for (const name of ['progress', 'ready', 'message', 'error', 'tool', 'toggle'])
  addEventListener('halfbyte-' + name, ({ detail, target }) => reported.push({ name, id: target.id, detail: name === 'ready' ? undefined : name === 'error' ? { code: detail.code, message: detail.message } : detail }))
`

interface WidgetPage {
  readonly markup: string
  /** Runs before the widget is loaded. */
  readonly script?: string
  /** More files of the site, by path. */
  readonly files?: Readonly<Record<string, Uint8Array>>
  readonly headers?: Readonly<Record<string, string>>
  readonly lang?: string
  readonly dir?: string
}

export interface WidgetSites {
  open(page: Page, site: WidgetPage): Promise<HttpServer>
}

export const test = base.extend<{ sites: WidgetSites }>({
  async sites({ browserName: _ }, use) {
    const servers: HttpServer[] = []
    await use({
      async open(page, { markup, script = '', files = {}, headers = STRICT, lang = 'en', dir = 'ltr' }) {
        const server = await serveFolder(DIST, headers, {
          '/': `<!doctype html><html lang="${lang}" dir="${dir}"><head><title>A shop</title>
            <meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="/icon.svg">
            <link rel="stylesheet" href="/page.css">
            <script type="module" src="/page.js"></script><script type="module" src="/cdn/widget.js"></script></head>
            <body><main><h1>A shop</h1><p>Words of the page.</p>${markup}</main></body></html>`,
          '/icon.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
          '/page.css': ':root { color-scheme: light dark } body { margin: 16px; font-family: sans-serif }',
          '/page.js': `${WATCH}\n${script}`,
          ...files,
        })
        servers.push(server)
        await watchPolicy(page)
        await page.goto(server.address)
        await page.waitForFunction(() => customElements.get('halfbyte-chat') !== undefined)
        return server
      },
    })
    for (const server of servers) await server.close()
  },
})

export interface Report {
  readonly name: string
  readonly id: string
  readonly detail?: Readonly<Record<string, unknown>>
}

/** Events of the page's widgets so far. */
export const reported = (page: Page): Promise<readonly Report[]> =>
  page.evaluate(() => (globalThis as unknown as { reported: Report[] }).reported)

export const chat = (page: Page): Locator => page.locator('halfbyte-chat').first()
export const field = (page: Page): Locator => chat(page).getByRole('textbox')
export const answersOf = (widget: Locator): Locator =>
  widget.locator('.message.assistant:not(.growing) .body')

/** Sends a message by keyboard. */
export async function send(page: Page, text: string): Promise<void> {
  await field(page).fill(text)
  await field(page).press('Control+Enter')
}

export async function accept(page: Page): Promise<void> {
  await chat(page).getByRole('button', { name: 'Download' }).click()
}
