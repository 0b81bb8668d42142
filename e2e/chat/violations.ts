// Violations. In: a page. Out: what axe finds wrong with it.
import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from '@playwright/test'

/** Axe's findings, one line each. */
export async function violations(page: Page): Promise<string[]> {
  const { violations: found } = await new AxeBuilder({ page })
    .withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'])
    .analyze()
  return found.flatMap(({ id, impact, nodes }) => nodes.map(({ html }) => `${impact} ${id}: ${html}`))
}
