// Opening. In: the built chat page on a main thread slowed down four times. Out: whether it opens without
// layout shifts, in the chosen theme, and without briefly showing anything wrong.
import { expect, type Page, test } from '@playwright/test'
import { openChat, ready, slowDown } from '../chat-page.ts'
import { storeChats, turns } from '../stored/stored-chats.ts'

/** Maximum layout shift; Web Vitals' bound for a good page is 0.1. */
const MAX_SHIFT = 0.05

interface Opening {
  readonly shift: number
  /** Elements that moved, for the failure message. */
  readonly moved: readonly string[]
  readonly lcp: number
  readonly themes: readonly string[]
  readonly notices: readonly string[]
}

/** Observes the page from its first byte. */
async function watchOpening(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const seen = {
      shift: 0,
      moved: [] as string[],
      lcp: 0,
      themes: [] as string[],
      notices: [] as string[],
    }
    Object.assign(globalThis, { seen })
    const name = (node: Node | null) => {
      const element = node instanceof Element ? node : node?.parentElement
      return element === null || element === undefined
        ? String(node?.nodeName)
        : `${element.localName}.${element.className}`
    }
    const rect = ({ x, y, width, height }: DOMRectReadOnly) => [x, y, width, height].map(Math.round).join()
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        const { value, hadRecentInput, sources, startTime } = entry as PerformanceEntry & {
          value: number
          hadRecentInput: boolean
          sources: { node: Node | null; previousRect: DOMRectReadOnly; currentRect: DOMRectReadOnly }[]
        }
        if (hadRecentInput) continue
        seen.shift += value
        for (const { node, previousRect, currentRect } of sources)
          seen.moved.push(
            `${Math.round(startTime)} ms ${value.toFixed(3)} ${name(node)} ${rect(previousRect)} -> ${rect(currentRect)}`,
          )
      }
    }).observe({ type: 'layout-shift', buffered: true })
    new PerformanceObserver((list) => {
      seen.lcp = list.getEntries().at(-1)?.startTime ?? seen.lcp
    }).observe({ type: 'largest-contentful-paint', buffered: true })
    const look = () => {
      if (document.body !== null && performance.getEntriesByName('first-paint').length > 0) {
        const theme = getComputedStyle(document.body).backgroundColor
        if (seen.themes.at(-1) !== theme) seen.themes.push(theme)
      }
      const notice = document.querySelector('.notice')?.textContent?.replace(/\s+/g, ' ').trim() ?? ''
      if (notice !== '' && !seen.notices.includes(notice)) seen.notices.push(notice)
      requestAnimationFrame(look)
    }
    requestAnimationFrame(look)
  })
}

async function opening(page: Page): Promise<Opening> {
  await ready(page)
  // Nothing may move after the model has loaded either.
  await page.waitForTimeout(600)
  return page.evaluate(() => (globalThis as unknown as { seen: Opening }).seen)
}

const SCREENS = {
  phone: { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true },
  desktop: { viewport: { width: 1280, height: 800 }, isMobile: false, hasTouch: false },
}

for (const [screen, use] of Object.entries(SCREENS)) {
  test.describe(`on a ${screen}`, () => {
    test.use({ ...use, deviceScaleFactor: 1 })

    test('nothing moves on the first visit, and the page never says that no model is loaded', async ({
      page,
    }, info) => {
      await slowDown(page, 4)
      await watchOpening(page)
      await page.goto('/')
      const { shift, moved, lcp, notices } = await opening(page)
      info.annotations.push({ type: 'shift, LCP ms', description: `${shift.toFixed(3)}, ${Math.round(lcp)}` })
      console.log(`${screen}, first visit: shift ${shift.toFixed(3)}, LCP ${Math.round(lcp)} ms`)
      expect(shift, moved.join('\n')).toBeLessThan(MAX_SHIFT)
      expect(notices.join(), 'what the page said while opening').not.toMatch(/No model|Load a model/)
    })

    test('nothing moves for a returning visitor, who sees the last conversation', async ({ page }, info) => {
      await openChat(page)
      await storeChats(page, [
        { id: 'old', messages: turns(6) },
        { id: 'last', messages: turns(12) },
      ])
      await slowDown(page, 4)
      await watchOpening(page)
      await page.reload()
      const { shift, moved, lcp } = await opening(page)
      info.annotations.push({ type: 'shift, LCP ms', description: `${shift.toFixed(3)}, ${Math.round(lcp)}` })
      console.log(`${screen}, later visit: shift ${shift.toFixed(3)}, LCP ${Math.round(lcp)} ms`)
      await expect(page.locator('.message')).toHaveCount(12)
      expect(shift, moved.join('\n')).toBeLessThan(MAX_SHIFT)
    })

    test('the chosen theme is applied from the first paint', async ({ page }) => {
      await openChat(page)
      await page.evaluate(() => localStorage.setItem('halfbyte-settings', '{"theme":"dark"}'))
      await slowDown(page, 4)
      await watchOpening(page)
      await page.reload()
      const { themes } = await opening(page)
      expect(themes, 'backgrounds since the first paint').toEqual(['rgb(18, 21, 20)'])
    })
  })
}

/** Positions and texts of the frame's parts. */
const places = (page: Page): Promise<Readonly<Record<string, string>>> =>
  page.evaluate(() => {
    const parts = [
      '.brand',
      '.wide',
      '.bar .model',
      '.bar > button:last-child',
      '.empty .logo path:last-child',
      '.empty .logo',
      '.empty h2',
    ]
    const more = [
      '.empty p',
      '.starters button',
      '.starters button:last-child',
      '.promise',
      '.composer',
      'textarea',
    ]
    return Object.fromEntries(
      [...parts, ...more, '.round'].flatMap((selector) => {
        const element = document.querySelector(selector)
        const { x, y, width, height } = element?.getBoundingClientRect() ?? new DOMRect()
        const text = element?.textContent?.replace(/\s+/g, ' ').trim()
        return width === 0 ? [] : [[selector, `${[x, y, width, height].map(Math.round)} ${text}`]]
      }),
    )
  })

for (const [screen, use] of Object.entries(SCREENS)) {
  test.describe(`on a ${screen} whose scripts are late`, () => {
    test.use({ ...use, deviceScaleFactor: 1 })

    test('the app replaces the static frame without a visible change, and keeps typed text', async ({
      page,
    }) => {
      const late = Promise.withResolvers<void>()
      await page.route('**/*.js', async (route) => {
        await late.promise
        await route.continue()
      })
      await page.goto('/', { waitUntil: 'commit' })
      await expect(page.getByRole('heading', { name: 'A language model in this page' })).toBeVisible()
      await expect(page.locator('.empty .logo'), 'styles are applied').toHaveCSS('width', '56px')
      const field = page.getByRole('textbox', { name: 'Message' })
      await field.focus()
      await page.keyboard.type('Good mor')
      const before = await places(page)
      late.resolve()
      await ready(page)
      await expect(page.locator('.shell')).toHaveCount(0)
      expect(await places(page)).toEqual(before)
      await expect(field).toBeFocused()
      await page.keyboard.type('ning')
      await expect(field).toHaveValue('Good morning')
    })
  })
}
