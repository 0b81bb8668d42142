// Permanent network faults in Chromium. In: those of the table that end within 2 s. Out: the same code, at
// most as many requests, and the time.
import { expect } from '@playwright/test'
import type { LoadOptions } from '../../src/index.ts'
import { FAULTS } from '../../src/store/testing/faults.ts'
import { FRIENDLY, test } from '../golden-server.ts'
import { openLibrary } from '../library-site.ts'

for (const { title, behaviour, isAbsent, code, requests, seconds } of FAULTS) {
  if (code !== 'network' || seconds > 2) continue
  test(`a server that ${title}`, async ({ page, site, server }) => {
    await openLibrary(page, site.isolated)
    server.files.set('m.gguf', server.files.get('golden.gguf') as Uint8Array)
    server.behaviour = { ...FRIENDLY, ...behaviour }
    const { address } = server
    const failed = await page.evaluate(
      async (url) => {
        let waitedMs = 0
        const onProgress: LoadOptions['onProgress'] = (progress) => {
          if (progress.phase === 'download') waitedMs += progress.retry?.waitMs ?? 0
        }
        const error = await halfbyte.Engine.load(url, { threads: 1, onProgress }).catch((error) => error)
        return { code: error.code, waitedMs }
      },
      `${isAbsent === true ? address.replace(/:\d+/, ':9') : address}m.gguf`,
    )
    expect(failed.code).toBe(code)
    expect(server.requests.length).toBeLessThanOrEqual(requests)
    expect(failed.waitedMs).toBeLessThanOrEqual(1000 * seconds)
  })
}
