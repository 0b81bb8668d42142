// Unloading in Chromium. In: a model that is loaded and disposed of repeatedly. Out: whether the page's
// process grows.
import { platform } from 'node:os'
import { expect } from '@playwright/test'
import { held } from '../lab/bench/loading/processes.ts'
import { GOLDEN, GOLDEN_PROMPT, goldenFile } from '../test/conformance/testing/golden.ts'
import { openLibrary, test } from './library-site.ts'

/** Ten leaked engines with this model take more than 200 MB. */
const MAX_GROWTH = 40e6

for (const [pool, kind] of [
  ['shared', 'isolated'],
  ['shards', 'plain'],
] as const) {
  test(`ten rounds of loading and unloading ${pool} leave nothing behind`, async ({
    page,
    site,
    browser,
  }) => {
    test.skip(platform() !== 'linux', 'only Linux reports the memory of a process')
    await openLibrary(page, site[kind])
    const url = await site.add(await goldenFile(GOLDEN))
    const rounds = (count: number) =>
      page.evaluate(
        async ({ url, prompt, count, pool }) => {
          for (let round = 0; round < count; round++) {
            const engine = await halfbyte.Engine.load(url, { cache: 'none', threads: 2, pool })
            await engine.complete(prompt, { maxTokens: 4 }).text()
            await engine.dispose()
          }
        },
        { url, prompt: GOLDEN_PROMPT, count, pool },
      )
    const system = await browser.newBrowserCDPSession()
    const collector = await page.context().newCDPSession(page)
    const measure = async () => {
      await collector.send('HeapProfiler.collectGarbage')
      const { processInfo } = await system.send('SystemInfo.getProcessInfo')
      const pages = processInfo.filter(({ type }) => type === 'renderer')
      return (await Promise.all(pages.map(({ id }) => held(id)))).reduce((sum, { now }) => sum + now, 0)
    }
    // The first rounds make one-time allocations.
    await rounds(3)
    const before = await measure()
    await rounds(10)
    const growth = async () => (await measure()) - before
    // Terminated workers take a moment to disappear.
    await expect.poll(growth, { message: `bytes beyond ${before}` }).toBeLessThan(MAX_GROWTH)
    test.info().annotations.push({ type: 'growth, MB', description: ((await growth()) / 1e6).toFixed(1) })
  })
}
