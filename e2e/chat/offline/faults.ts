// Faults around the service worker: what servers, networks and browsers may do, what the user then gets, and
// a test of each fault.
//
// docs/internals/offline.md has the same table as documentation.

import { expect } from '@playwright/test'
import { openServer } from '../../../test/helpers/http-server.ts'
import { ask, openModels, ready, say } from '../chat-page.ts'
import type { Scene } from './scene.ts'
import { failing, portal, redirecting } from './updating-site.ts'

export interface Fault {
  /** Completes "A server, a network or a browser that …". */
  readonly title: string
  /** What the user gets. */
  readonly gets: string
  readonly run: (scene: Scene) => Promise<void>
}

const OFFLINE = 'the page, later also without a network'
const OLDER = 'the older build, also without a network; the update at a later visit'

const redirects = (targets: Readonly<Record<string, string>>) => async (scene: Scene) => {
  scene.site.behaviour = redirecting(targets)
  await scene.keep()
  expect(await scene.wrong()).toEqual([])
  await scene.opensOffline()
}

/** Breaks an update; the older build keeps working, and the update arrives once the server recovers. */
const breaksUpdate = (behaviour: Scene['site']['behaviour']) => async (scene: Scene) => {
  const { site } = scene
  await scene.keep()
  site.folder = scene.builds[1]
  site.behaviour = (path, ...rest) => !path.endsWith('/sw.js') && behaviour(path, ...rest)
  await scene.update()
  site.behaviour = () => false
  expect(await scene.kept()).toEqual([scene.version(0)])
  await scene.opensOffline(0)
  await scene.page.goto(site.address)
  await scene.shows(1)
  await expect.poll(() => scene.kept()).toEqual([scene.version(1)])
  expect(await scene.wrong(1)).toEqual([])
  await scene.opensOffline(1)
}

/** Serves a foreign page in place of every file for a while. */
const takesOver = (behaviour: Scene['site']['behaviour']) => async (scene: Scene) => {
  const { site } = scene
  // The page cannot answer unless it downloaded the answering code earlier.
  const wish = async (text: string) => {
    await say(scene.page, text)
    await ready(scene.page)
  }
  await scene.page.goto(site.address)
  await ready(scene.page)
  // The browser itself fetches the service worker's script.
  site.behaviour = (path, ...rest) => !path.endsWith('/sw.js') && behaviour(path, ...rest)
  const session = await scene.context.newCDPSession(scene.page)
  await session.send('Network.clearBrowserCache')
  await wish('Hello!')
  await expect.poll(() => site.asked.filter((each) => each.includes('icon-')).length).toBeGreaterThan(0)
  // Everything served from now on differs from the build.
  await scene.page.waitForTimeout(1000)
  expect(await scene.files()).toEqual([])
  site.behaviour = () => false
  await wish('Hello again!')
  await expect.poll(() => scene.kept()).toEqual([scene.version(0)])
  expect(await scene.wrong()).toEqual([])
  await scene.opensOffline()
}

export const FAULTS: readonly Fault[] = [
  {
    title: 'redirects `index.html` to `./`',
    gets: OFFLINE,
    run: redirects({ '/chat/index.html': './' }),
  },
  {
    title: 'redirects `./` to `index.html`',
    gets: OFFLINE,
    run: redirects({ '/chat/': '/chat/index.html' }),
  },
  {
    title: 'leaves `.html` out of addresses, and adds a slash to the folder’s',
    gets: 'all pages that were opened, later also without a network',
    async run(scene) {
      const { site, page } = scene
      site.behaviour = redirecting({ '/chat/roofline.html': 'roofline', '/chat/index.html': '/chat' })
      await scene.keep()
      await page.goto(`${site.address}roofline.html?quick`)
      await expect(page.locator('roofline-page h1')).toBeVisible()
      expect(new URL(page.url()).pathname).toBe('/chat/roofline')
      await expect.poll(() => scene.files()).toContain('roofline.html')
      await scene.opensOffline()
      await scene.disconnect()
      await page.goto(`${site.address}roofline?quick`)
      await expect(page.locator('roofline-page h1')).toBeVisible()
    },
  },
  {
    title: 'adds a script to pages',
    gets: OFFLINE,
    async run(scene) {
      const { site } = scene
      site.behaviour = (path, response) => {
        const end = response.end.bind(response)
        const more = '<script src="https://counter.example/x.js"></script>'
        if (path === '/chat/' || path.endsWith('.html'))
          response.end = ((bytes: Buffer) => {
            response.removeHeader('Content-Length')
            return end(Buffer.concat([bytes, Buffer.from(more)]))
          }) as typeof response.end
        return false
      }
      await scene.keep()
      await scene.opensOffline()
    },
  },
  {
    title: 'sends a login page in place of every file, and lets the browser cache it',
    gets: 'the page; the login page is not cached, and after the next answer the page is',
    run: takesOver(portal),
  },
  {
    title: 'redirects every file to the login page of another host',
    gets: 'the page; the login page is not cached, and after the next answer the page is',
    async run(scene) {
      const other = await openServer((_, response) =>
        response.setHeader('Content-Type', 'text/html').end('Log in'),
      )
      await takesOver((_, response) => {
        response.writeHead(302, { Location: `${other.address}login` }).end()
        return true
      })(scene)
      await other.close()
    },
  },
  {
    title: 'answers 503 to the page',
    gets: 'the cached page',
    async run(scene) {
      await scene.keep()
      scene.site.behaviour = failing(503)
      await scene.page.goto(scene.site.address)
      await scene.shows(0)
    },
  },
  {
    title: 'has a new build while a page is open, and no files of the older one',
    gets: 'the open page with all of its cached parts; the new build at the next visit, with the parts that the older one had used',
    async run(scene) {
      const { site, page } = scene
      await scene.keep()
      const load = (name: string) => page.evaluate((path) => import(path).then(() => 'loaded', String), name)
      const formulas = scene.asset(0, 'formulas.js')
      await load(`${site.address}${formulas}`)
      await ask(page, 'And then?')
      await expect.poll(() => scene.files()).toContain(formulas)
      site.folder = scene.builds[1]
      await scene.update()
      expect((await scene.kept()).sort()).toEqual([scene.version(0), scene.version(1)].sort())
      await scene.disconnect()
      expect(await load(`${site.address}${scene.asset(0, 'exchange.js')}`)).toBe('loaded')
      site.behaviour = () => false
      await page.reload()
      await scene.shows(1)
      await expect.poll(() => scene.kept()).toEqual([scene.version(1)])
      expect(await scene.wrong(1)).toEqual([])
      expect(await scene.files()).toContain(scene.asset(1, 'formulas.js'))
      expect(await scene.files()).toContain(scene.asset(1, 'halfbyte-stories.hbm'))
      expect(await scene.files()).not.toContain(scene.asset(1, 'halfbyte-mamba.hbm'))
      await scene.opensOffline(1)
    },
  },
  {
    title: 'has a new build while the older one is open in one tab and the new one in another',
    gets: 'its own build in each tab; the older one is removed once its tab is closed',
    async run(scene) {
      const { site, context } = scene
      await scene.keep()
      const older = scene.page
      site.folder = scene.builds[1]
      scene.page = await context.newPage()
      await scene.use()
      await scene.shows(1)
      await expect.poll(async () => (await scene.kept()).length).toBe(2)
      const exchange = `${site.address}${scene.asset(0, 'exchange.js')}`
      expect(await older.evaluate((path) => import(path).then(() => 'loaded', String), exchange)).toBe(
        'loaded',
      )
      await ask(older, 'And then?')
      await ask(scene.page, 'And then?')
      expect((await scene.kept()).length).toBe(2)
      await older.close()
      await ask(scene.page, 'And then again?')
      await expect.poll(() => scene.kept()).toEqual([scene.version(1)])
      await scene.opensOffline(1)
    },
  },
  {
    title: 'has a new build, and then the older one again',
    gets: 'the build that the server has, also without a network',
    async run(scene) {
      const { site, page } = scene
      await scene.keep()
      for (const index of [1, 0] as const) {
        site.folder = scene.builds[index]
        await page.goto(site.address)
        await scene.shows(index)
        await expect.poll(() => scene.kept()).toEqual([scene.version(index)])
        expect(await scene.wrong(index)).toEqual([])
        await scene.opensOffline(index)
      }
    },
  },
  {
    title: 'answers 500 to some files of a new build',
    gets: OLDER,
    run: breaksUpdate(failing(500, /dialog/)),
  },
  {
    title: 'answers 404 to some files of a new build',
    gets: OLDER,
    run: breaksUpdate(failing(404, /words/)),
  },
  {
    title: 'sends a login page in the middle of an update',
    gets: OLDER,
    run: breaksUpdate(portal),
  },
  {
    title: 'has removed a part that the open page needs and that was not cached',
    gets: 'a message, and a button that reloads the page; conversations are kept',
    async run({ page, site }) {
      site.behaviour = failing(404, /models-dialog/)
      await page.goto(site.address)
      await ready(page)
      await ask(page, 'Hello!')
      await page.getByRole('button', { name: /^Model/ }).click()
      await expect(page.getByRole('alert')).toContainText('A part of this page could not be loaded')
      site.behaviour = () => false
      await page.getByRole('button', { name: 'Reload the page' }).click()
      await openModels(page)
      await expect(page.locator('.message.user')).toContainText('Hello!')
    },
  },
  {
    title: 'has removed the scripts of a page that the browser still has in its cache',
    gets: 'a message in place of "Loading the model"',
    async run({ page, site }) {
      site.behaviour = failing(404, /\/assets\/(?!index)/)
      await page.goto(site.address)
      await expect(page.getByRole('alert')).toContainText('could not be loaded. Check the connection')
    },
  },
  {
    title: 'removes some of the cached files',
    gets: 'the browser’s own error page if there is no network; everything is cached again at the next answer',
    async run(scene) {
      await scene.keep()
      await scene.page.evaluate(
        async (name) => {
          const cache = await caches.open('halfbyte-assets')
          await cache.delete(new URL(name, location.href))
        },
        scene.asset(0, 'models-dialog.js'),
      )
      await scene.opensNothing()
      await scene.page.goto(scene.site.address)
      await scene.shows(0)
      await expect.poll(() => scene.files()).toContain(scene.asset(0, 'models-dialog.js'))
      await scene.opensOffline()
    },
  },
  {
    title: 'has no space for the files to cache',
    gets: 'the page while there is a network; it is cached once there is space',
    async run(scene) {
      const { page, context, site } = scene
      const session = await context.newCDPSession(page)
      const origin = new URL(site.address).origin
      await session.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 300_000 })
      await scene.use()
      await expect.poll(() => site.asked.filter((each) => each.includes('sw.js')).length).toBeGreaterThan(0)
      await page.goto(site.address)
      await scene.shows(0)
      expect(await scene.kept()).toEqual([])
      await session.send('Storage.overrideQuotaForOrigin', { origin })
      await ask(page, 'And then?')
      await expect.poll(() => scene.kept()).toEqual([scene.version(0)])
      await scene.opensOffline()
    },
  },
]
