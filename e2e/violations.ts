// Accessibility violations. In: a page. Out: axe's findings.
import type { Page } from '@playwright/test'
import axe from 'axe-core'

const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/**
 * Axe's findings, one line each, for the page or for the elements that match `within`.
 *
 * Requests reduced motion first: axe measures the current contrast, which is too low in a dialog or panel
 * that is still fading in.
 *
 * Axe stays in the page, because sending and compiling its 1.5 MB takes longer than the check. The builder of
 * @axe-core/playwright sends it on every run, and once more to a second page.
 */
export async function violations(page: Page, within = 'html'): Promise<string[]> {
  await page.emulateMedia({ reducedMotion: 'reduce' })
  for (const frame of page.frames())
    if (await frame.evaluate(() => !('axe' in globalThis))) await frame.evaluate(axe.source)
  const options = { runOnly: TAGS, resultTypes: ['violations' as const] }
  return page.evaluate(
    async ([context, asked]) => {
      const { axe: inPage } = globalThis as unknown as { axe: typeof axe }
      const { violations: found } = await inPage.run(context, asked)
      return found.flatMap(({ id, impact, nodes }) => nodes.map(({ html }) => `${impact} ${id}: ${html}`))
    },
    [within, options] as const,
  )
}
