// Memory of shared engines. In: one tab of a site with the widget, then two. Out: what both hold, measured by
// the browser.
import type { Page } from '@playwright/test'
import { EMBEDDED_OPTIONS, EMBEDDED_TURNS, repliesOf } from '../../test/conformance/testing/golden.ts'
import { ISOLATION, serveFolder } from '../../test/helpers/http-server.ts'
import { chromiumOptions } from '../chromium.ts'
import { memoryOf } from '../page-memory.ts'
import { DIST, expect, MODEL, test } from './widget-site.ts'
import { type Chat, openTab, tabMarkup } from './widget-tabs.ts'

const { args = [], ...launch } = chromiumOptions()

// A trace puts its own scripts into the pages. How much machine code V8 has made of the scripts by the time
// of the measurement differs by up to 0.4 MB from run to run, so JavaScript stays in the interpreter.
test.use({ trace: 'off', launchOptions: { ...launch, args: [...args, '--js-flags=--max-opt=0'] } })

const REPLY = repliesOf('embedded')[0] as string

/** Asks without Playwright's locators, whose script of 330 kB would stay in the page's heap. */
const answerIn = (page: Page) =>
  page.evaluate(
    ([said, generateOptions]) => {
      const widget = document.querySelector('#one') as Chat
      Object.assign(widget, { generateOptions })
      const answer = new Promise<string>((resolve) =>
        widget.addEventListener('halfbyte-message', (event) => {
          const { role, content } = (event as CustomEvent<{ role: string; content: string }>).detail
          if (role === 'assistant') resolve(content)
        }),
      )
      widget.send(said)
      return answer
    },
    [EMBEDDED_TURNS[0], EMBEDDED_OPTIONS] as const,
  )

test('a second tab adds its own page and nothing of the engine', async ({ context }) => {
  const site = await serveFolder(DIST, ISOLATION, { '/': tabMarkup(MODEL) })
  const first = await openTab(context, site.address)
  expect(await answerIn(first)).toBe(REPLY)
  const engineBytes = await first.evaluate(async () => {
    const { engine } = document.querySelector('#one') as Chat & {
      engine: { memory(): Promise<{ totalBytes: number }> }
    }
    return (await engine.memory()).totalBytes
  })
  const alone = engineBytes + (await memoryOf(first))
  const second = await openTab(context, site.address)
  expect(await answerIn(second)).toBe(REPLY)
  expect(second.workers()).toHaveLength(0)
  const both = engineBytes + (await memoryOf(first)) + (await memoryOf(second))
  const seen = `one tab ${(alone / 1e6).toFixed(2)} MB, two ${(both / 1e6).toFixed(2)} MB`
  test.info().annotations.push({ type: 'memory', description: seen })
  expect(both - alone, seen).toBeLessThan(3.0e6)
  await site.close()
})
