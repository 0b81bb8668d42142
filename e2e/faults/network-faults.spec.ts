// Permanent network faults in Chromium. In: the table's faults that end within 2 s. Out: the table's codes,
// and no more requests or longer waits than the table has.
import { expect } from '@playwright/test'
import { FAULTS } from '../../src/core/store/testing/faults.ts'
import type { LoadOptions } from '../../src/index.ts'
import { FRIENDLY, test } from '../golden-server.ts'
import { openLibrary } from '../library-site.ts'

test('permanent server faults end with the table’s code, after the table’s waits', async ({
  page,
  site,
  server,
}) => {
  await openLibrary(page, site.isolated)
  const { address } = server
  const permanent = FAULTS.filter(({ code, seconds }) => code === 'network' && seconds <= 2)
  for (const [index, { title, behaviour, isAbsent, requests, seconds }] of permanent.entries()) {
    // Each fault has its own file, so that nothing remains from the previous one.
    const name = `m${index}.gguf`
    server.files.set(name, server.files.get('golden.gguf') as Uint8Array)
    server.behaviour = { ...FRIENDLY, ...behaviour }
    server.requests.length = 0
    const failed = await page.evaluate(
      async (url) => {
        let waitedMs = 0
        const onProgress: LoadOptions['onProgress'] = (progress) => {
          if (progress.phase === 'download') waitedMs += progress.retry?.waitMs ?? 0
        }
        const options = { threads: 1, onProgress, assets: { worker: workers.hasty } }
        const error = await halfbyte.Engine.load(url, options).catch((error) => error)
        return { code: error.code, waitedMs }
      },
      `${isAbsent === true ? address.replace(/:\d+/, ':9') : address}${name}`,
    )
    expect(failed.code, title).toBe('network')
    expect(server.requests.length, title).toBeLessThanOrEqual(requests)
    expect(failed.waitedMs, title).toBeLessThanOrEqual(1000 * seconds)
  }
})
