// A full device. In: a page. Out: the same page, whose origin cannot store anything more, until it is allowed
// to again.
import type { CDPSession, Page } from '@playwright/test'

/** Enough bytes for the page's empty databases. */
const LITTLE = 400_000

/** A session's settings last as long as the session. */
const sessions = new WeakMap<Page, CDPSession>()

async function limit(page: Page, address: string, quotaSize?: number): Promise<void> {
  const session = sessions.get(page) ?? (await page.context().newCDPSession(page))
  sessions.set(page, session)
  const { origin } = new URL(address)
  await session.send('Storage.overrideQuotaForOrigin', {
    origin,
    ...(quotaSize !== undefined && { quotaSize }),
  })
}

/** Call this before the page opens: afterwards, Chromium keeps its earlier quota for half a minute. */
export const small = (page: Page, address = ''): Promise<void> => limit(page, address, LITTLE)

/** Stores until nothing more can be stored. The page must be opened after `small`. */
export const fill = (page: Page): Promise<void> =>
  page.evaluate(async () => {
    const opening = indexedDB.open('filler', 1)
    opening.onupgradeneeded = () => opening.result.createObjectStore('store')
    await new Promise((done) => opening.addEventListener('success', done))
    const stores = (bytes: number) => {
      const change = opening.result.transaction('store', 'readwrite')
      change.objectStore('store').put(new Uint8Array(bytes), Math.random())
      return new Promise<boolean>((done) => {
        change.oncomplete = () => done(true)
        change.onabort = () => done(false)
      })
    }
    for (let bytes = 65_536; bytes >= 1; bytes /= 4) while (await stores(bytes));
    opening.result.close()
  })

/** Lets the open page store as much as the browser allows again. */
export const allow = (page: Page): Promise<void> => limit(page, page.url())
