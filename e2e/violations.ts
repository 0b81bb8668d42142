// Violations. In: a page. Out: what axe finds wrong with it.
import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from '@playwright/test'

/**
 * Axe's findings, one line each.
 *
 * Reduced motion is asked for first: axe measures the contrast of what it meets, and a dialog or a panel that
 * is still fading in has too little of it.
 */
export async function violations(page: Page): Promise<string[]> {
  await page.emulateMedia({ reducedMotion: 'reduce' })
  const { violations: found } = await new AxeBuilder({ page })
    .withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'])
    .analyze()
  return found.flatMap(({ id, impact, nodes }) => nodes.map(({ html }) => `${impact} ${id}: ${html}`))
}
