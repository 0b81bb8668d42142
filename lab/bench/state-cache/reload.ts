// Measures the time to the first token of a stored session's next turn after a reload of the page, in
// Chromium.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from '@playwright/test'
import { chromiumOptions } from '../../../e2e/chromium.ts'
import type { KvFormat } from '../../../src/core/graph/ir.ts'
import { serveBench } from '../server.ts'
import { spread, spreadText } from '../spread.ts'
import type { Options } from './main.ts'
import type { Reload } from './page.ts'

/** The profile is a folder, like a visitor's, because without one, storage is in memory. */
export async function reload(model: URL, kvCache: KvFormat, options: Options): Promise<void> {
  const { threads, repeats, context, fresh } = options
  const load = { threads, kvCache, contextLength: 2 * context }
  const server = await serveBench(model)
  const profile = await mkdtemp(join(tmpdir(), 'halfbyte-bench-'))
  const browser = await chromium.launchPersistentContext(profile, chromiumOptions())
  const runs: Reload[] = []
  try {
    const page = await browser.newPage()
    const open = async () => {
      await page.goto(new URL('state-cache/index.html', server.url).href)
      await page.waitForFunction(() => window.measureReload !== undefined)
    }
    const url = server.modelUrl
    await open()
    await page.evaluate(([url, load, tokens]) => window.storeSession(url, load, tokens), [
      url,
      load,
      context,
    ] as const)
    for (let repeat = -1; repeat < repeats; repeat++) {
      await open()
      const run = await page.evaluate(([url, load, fresh]) => window.measureReload(url, load, fresh), [
        url,
        load,
        fresh,
      ] as const)
      if (repeat >= 0) runs.push(run)
    }
  } finally {
    await browser.close()
    await server.close()
    await rm(profile, { recursive: true, force: true })
  }
  const of = (value: (run: Reload) => number, digits: number) => spreadText(spread(runs.map(value)), digits)
  const [run] = runs
  if (run === undefined) return
  console.log(
    '| kept | new | file MB | restoring ms | first token, with restoring ms | kept session ms | ratio |',
  )
  console.log('|--:|--:|--:|--:|--:|--:|--:|')
  console.log(
    `| ${run.context} | ${run.fresh} | ${(run.fileBytes / 1e6).toFixed(1)} | ${of(({ restoreMs }) => restoreMs, 1)} | ` +
      `${of(({ restoredMs }) => restoredMs, 1)} | ${of(({ keptMs }) => keptMs, 1)} | ` +
      `${of(({ restoredMs, keptMs }) => restoredMs / keptMs, 3)} |\n`,
  )
}
