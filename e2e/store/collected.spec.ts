// Garbage collection during reads. In: a model's file as a Blob. Out: whether loads end although the browser
// collects garbage in each read.
import { expect } from '@playwright/test'
import { GOLDEN, goldenFile } from '../../test/conformance/testing/golden.ts'
import { chromiumOptions } from '../chromium.ts'
import { openLibrary, test } from '../library-site.ts'

const { args = [], ...launch } = chromiumOptions()
test.use({ launchOptions: { ...launch, args: [...args, '--js-flags=--expose-gc'] } })

const LOADS = 5

test('reads of a Blob end although garbage is collected meanwhile', async ({ page, site }) => {
  const model = await site.add(await goldenFile(GOLDEN))
  await openLibrary(page, site.isolated)
  const families = await page.evaluate(
    async ({ model, loads }) => {
      const blob = await (await fetch(model)).blob()
      const assets = { worker: workers.collecting }
      const seen: string[] = []
      for (let load = 0; load < loads; load++) {
        await using engine = await halfbyte.Engine.load(blob, { threads: 1, assets })
        seen.push(engine.model.architecture)
      }
      return seen
    },
    { model, loads: LOADS },
  )
  expect(families).toEqual(Array(LOADS).fill('llama'))
})
