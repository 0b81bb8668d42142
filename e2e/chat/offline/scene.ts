// Scenes. In: a browser context, a site with two builds. Out: what a user does with the page over several
// visits, and what the browser has cached.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BrowserContext, expect, type Page } from '@playwright/test'
import { ask, openChat, ready, set } from '../chat-page.ts'
import { type UpdatingSite, unreachable } from './updating-site.ts'

const PAGES = 'halfbyte-page-'

export class Scene {
  readonly context: BrowserContext
  readonly site: UpdatingSite
  /** Folders of the builds. */
  readonly builds: readonly [string, string]
  page: Page

  constructor(page: Page, site: UpdatingSite, builds: readonly [string, string]) {
    this.page = page
    this.context = page.context()
    this.site = site
    this.builds = builds
  }

  /** The mark of a build. */
  version(index: 0 | 1): string {
    const page = readFileSync(join(this.builds[index] as string, 'index.html'), 'utf8')
    return /<meta name="build" content="(\w+)"/.exec(page)?.[1] ?? ''
  }

  /** The name of an asset in a build. */
  asset(index: 0 | 1, kind: string): string {
    const script = readFileSync(join(this.builds[index] as string, 'sw.js'), 'utf8')
    return new RegExp(`"(assets/[^"]+)":\\["[^"]+","${kind}"\\]`).exec(script)?.[1] ?? ''
  }

  /** Opens the page and gets an answer. */
  async use(): Promise<void> {
    await openChat(this.page, this.site.address)
    await set(this.page, { 'Longest answer': '4' })
    await ask(this.page, 'Hello!')
  }

  /** Opens the page, gets an answer, and waits until the page is cached. */
  async keep(index: 0 | 1 = 0): Promise<void> {
    await this.use()
    await expect.poll(() => this.kept()).toContain(this.version(index))
  }

  /** Marks of the builds whose page is cached. A page is cached after all its files. */
  kept(): Promise<string[]> {
    return this.page.evaluate(async (prefix) => {
      const found: string[] = []
      for (const name of await caches.keys()) {
        if (!name.startsWith(prefix)) continue
        const response = await (await caches.open(name)).match('./index.html')
        if (response !== undefined) found.push(name.slice(prefix.length))
      }
      return found
    }, PAGES)
  }

  /** Names of all cached files, relative to the page. */
  files(): Promise<string[]> {
    return this.page.evaluate(async () => {
      const found: string[] = []
      for (const name of await caches.keys())
        for (const { url } of await (await caches.open(name)).keys())
          found.push(url.slice(new URL('.', location.href).href.length))
      return found.sort()
    })
  }

  /** Cached files that differ from the build. */
  async wrong(index: 0 | 1 = 0): Promise<string[]> {
    const contents = await this.page.evaluate(async () => {
      const found: Record<string, [string, boolean]> = {}
      for (const name of await caches.keys())
        for (const request of await (await caches.open(name)).keys()) {
          const response = await caches.match(request)
          // The worker is still removing files of the older build.
          if (response === undefined) continue
          const sum = new Uint8Array(await crypto.subtle.digest('SHA-256', await response.arrayBuffer()))
          const text = btoa(String.fromCharCode(...sum))
          found[request.url.slice(new URL('.', location.href).href.length)] = [text, response.redirected]
        }
      return found
    })
    const script = readFileSync(join(this.builds[index] as string, 'sw.js'), 'utf8')
    return Object.entries(contents)
      .filter(([name, [sum, isRedirected]]) => {
        const isPage = name.endsWith('.html')
        return isRedirected || (!isPage && !script.includes(`"${name}":["${sum}"`))
      })
      .map(([name]) => name)
  }

  /**
   * Asks the browser to check for an update, as it does on every visit, and waits until the update is cached
   * or discarded.
   */
  async update(): Promise<void> {
    await this.page.evaluate(async () => {
      const registration = await navigator.serviceWorker.ready
      await registration.update().catch(() => undefined)
      const worker = registration.installing
      if (worker === null) return
      await new Promise<void>((resolve) => {
        if (worker.state !== 'installing') resolve()
        worker.addEventListener('statechange', () => resolve())
      })
    })
  }

  /** The build of the page that answers. */
  async shows(index: 0 | 1): Promise<void> {
    await ready(this.page)
    expect(await this.page.locator('meta[name=build]').getAttribute('content')).toBe(this.version(index))
    await ask(this.page, 'Are you there?')
    await expect(this.page.locator('.message.assistant .body').last()).not.toBeEmpty()
  }

  /** Opens the page again offline, only from the service worker's cache. */
  async opensOffline(index: 0 | 1 = 0, address = this.site.address): Promise<void> {
    await this.disconnect()
    await this.page.goto(address)
    await this.shows(index)
    this.site.behaviour = () => false
  }

  /** Takes away the network, and empties the HTTP cache. */
  async disconnect(): Promise<void> {
    const session = await this.context.newCDPSession(this.page)
    await session.send('Network.clearBrowserCache')
    await session.detach()
    this.site.behaviour = unreachable
  }

  /** What the browser shows if a page cannot be loaded. */
  async opensNothing(): Promise<void> {
    await this.disconnect()
    const other = await this.context.newPage()
    await expect(other.goto(this.site.address)).rejects.toThrow(/ERR_/)
    await other.close()
    this.site.behaviour = () => false
  }
}
