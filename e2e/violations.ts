// Violations. In: a page. Out: what axe finds wrong with it.
import type { Page } from '@playwright/test'
import axe from 'axe-core'

const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/**
 * Axe's findings, one line each, in the page or in the elements that match `within`.
 *
 * Reduced motion is asked for first: axe measures the contrast of what it meets, and a dialog or a panel that
 * is still fading in has too little of it.
 *
 * Axe stays in the page, because sending and compiling its 1.5 MB again takes longer than looking. The
 * builder of @axe-core/playwright does so in each run, and once more in a second page.
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
