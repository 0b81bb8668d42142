// Units. In: bytes and milliseconds. Out: readable text.
import { bytesText, durationText } from '../../../src/ui/chat/texts.ts'
import { isRightToLeft, language, t } from '../words/words.ts'

/** Keeps figure and unit in order within right-to-left text. */
const isolated = (text: string): string => (isRightToLeft() ? `\u2066${text}\u2069` : text)

export const bytes = (count: number): string => isolated(bytesText(count, language()))

export const duration = (ms: number): string => durationText(ms, language())

/** Per second, with as many digits as are significant. */
export function speed(rate: number): string {
  return rate.toFixed(rate < 100 ? 1 : 0)
}

/**
 * e.g. `2.4 million`. The browser's own formatter takes as long to start as rendering part of the page, which
 * would delay the first answer.
 */
export function parameters(count: number): string {
  const millions = (count / 1e6).toFixed(1)
  if (millions.length < 6) return t('millions', { count: millions })
  return t('billions', { count: (count / 1e9).toFixed(1) })
}
