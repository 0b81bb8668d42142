// Tabs with the widget. In: a browser context, a model's address. Out: pages whose widgets share one engine.
import type { BrowserContext, Page } from '@playwright/test'
import { expect } from './widget-site.ts'

export interface Chat extends HTMLElement {
  send(text: string): void
}

export const tabMarkup = (model: string) =>
  `<!doctype html><title>A shop</title><halfbyte-chat id="one" share="tabs" autoload model="${model}"></halfbyte-chat>
   <script>document.querySelector('#one').loadOptions = { threads: 1 }</script>
   <script type="module" src="/cdn/widget.js"></script>`

export async function openTab(context: BrowserContext, address: string): Promise<Page> {
  const page = await context.newPage()
  await page.goto(address)
  await expect
    .poll(() => page.evaluate(() => (document.querySelector('#one') as Chat & { state: string }).state))
    .toBe('ready')
  return page
}
