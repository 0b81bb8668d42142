// Requests that fail outright. In: URLs on a server without CORS, on a missing server, and with an
// unsupported scheme. Out: an error message after waits of at most two seconds, with retries reported as
// progress.
import { expect } from '@playwright/test'
import { serveFolder } from '../../test/helpers/http-server.ts'
import { test } from '../golden-server.ts'
import { openLibrary } from '../library-site.ts'

const UNREACHED = "could not be fetched; check the address, the connection and the server's CORS headers"

test('they wait for at most two seconds, say what to check, and report each retry', async ({
  page,
  site,
}) => {
  await openLibrary(page, site.plain)
  const closed = await serveFolder('/', {}, { '/m.gguf': 'no CORS headers' })
  const seen = await page.evaluate(
    async (addresses) => {
      const outcomes: { said: string; waitedMs: number; retries: readonly unknown[] }[] = []
      for (const address of addresses) {
        let waitedMs = 0
        const retries: unknown[] = []
        const said = await halfbyte.Engine.load(address, {
          threads: 1,
          cache: 'none',
          onProgress(progress) {
            if (progress.phase !== 'download' || progress.retry === undefined) return
            const { attempt, reason, waitMs } = progress.retry
            waitedMs += waitMs
            retries.push({ attempt, reason })
          },
        }).then(
          () => 'loaded',
          (error) => `${error.code}: ${error.message}`,
        )
        outcomes.push({ said, waitedMs, retries })
      }
      return outcomes
    },
    [`${closed.address}m.gguf`, 'http://127.0.0.1:9/m.gguf', 'ftp://127.0.0.1/m.gguf'],
  )
  await closed.close()
  const reason = `m.gguf ${UNREACHED}`
  const retries = [2, 3].map((attempt) => ({ attempt, reason }))
  for (const { said, retries: told } of seen.slice(0, 2)) {
    expect(said).toBe(`network: ${reason}`)
    expect(retries).toEqual(expect.arrayContaining([...told]))
    expect(told.length).toBeGreaterThan(0)
  }
  expect(seen[2]).toMatchObject({
    said: 'unsupported: "ftp://127.0.0.1/m.gguf" begins with ftp:, which pages cannot fetch; give an address with https: or a File',
    retries: [],
  })
  for (const { waitedMs } of seen) expect(waitedMs).toBeLessThan(2000)
})
