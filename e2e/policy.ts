// What a content security policy blocked. In: a page. Out: the directives that the browser reports as
// violated.
import type { Page } from '@playwright/test'

/** Collects violations from now on. Call it before the page is opened. */
export const watchPolicy = (page: Page) =>
  page.addInitScript(() => {
    const blocked: string[] = []
    Object.assign(globalThis, { blocked })
    addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI, sourceFile }) =>
      blocked.push([effectiveDirective, blockedURI, sourceFile].filter(Boolean).join(' ')),
    )
  })

/** Violations so far: directive, blocked URL and script of each. */
export const blocked = (page: Page): Promise<readonly string[]> =>
  page.evaluate(() => (globalThis as unknown as { blocked: string[] }).blocked)
