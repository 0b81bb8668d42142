// Units. In: bytes and milliseconds. Out: their text for people.
import { bytesText, durationText } from '../../../src/chat-ui/texts.ts'
import { isRightToLeft, language } from '../words/words.ts'

/** Figure and unit stay in their order where the text around them runs from right to left. */
const isolated = (text: string): string => (isRightToLeft() ? `\u2066${text}\u2069` : text)

export const bytes = (count: number): string => isolated(bytesText(count, language()))

export const duration = (ms: number): string => durationText(ms, language())

/** Per second, with as many digits as are significant. */
export function speed(rate: number): string {
  return rate.toFixed(rate < 100 ? 1 : 0)
}

/** e.g. `2.4 million` */
export function parameters(count: number): string {
  const digits = { minimumFractionDigits: 1, maximumFractionDigits: 1 }
  return new Intl.NumberFormat(language(), {
    notation: 'compact',
    compactDisplay: 'long',
    ...digits,
  }).format(count)
}
