// Permanent network faults in Chromium. In: those of the table that end within 2 s. Out: the same code, at
// most as many requests, and the time.
import { expect } from '@playwright/test'
import { FAULTS } from '../../src/store/testing/faults.ts'
import { FRIENDLY, test } from '../golden-server.ts'
import { openLibrary } from '../library-site.ts'

/** Seconds allowed for the worker to start and the browser to report. */
const START_SECONDS = 2

for (const { title, behaviour, isAbsent, code, requests, seconds } of FAULTS) {
  if (code !== 'network' || seconds > 2) continue
  test(`a server that ${title}`, async ({ page, site, server }) => {
    await openLibrary(page, site.isolated)
    server.files.set('m.gguf', server.files.get('golden.gguf') as Uint8Array)
    server.behaviour = { ...FRIENDLY, ...behaviour }
    const { address } = server
    const failed = await page.evaluate(
      async (url) => {
        const begun = performance.now()
        const error = await halfbyte.Engine.load(url, { threads: 1 }).catch((error) => error)
        return { code: error.code, seconds: (performance.now() - begun) / 1000 }
      },
      `${isAbsent === true ? address.replace(/:\d+/, ':9') : address}m.gguf`,
    )
    expect(failed.code).toBe(code)
    expect(server.requests.length).toBeLessThanOrEqual(requests)
    expect(failed.seconds).toBeLessThanOrEqual(seconds + START_SECONDS)
  })
}
