// Units. In: bytes and milliseconds. Out: readable text.
import { bytesText, durationText, millisecondsText } from '../../../src/ui/chat/texts.ts'
import { isolated, numberText } from '../../../src/ui/words/message.ts'
import { language } from '../words/words.ts'

/** Isolated, so that number and unit keep their order within right-to-left text. */
export const bytes = (count: number): string => isolated(bytesText(count, language()), language())

export const bytesPerSecond = (count: number): string =>
  isolated(bytesText(count, language(), '-per-second'), language())

export const duration = (ms: number): string => durationText(ms, language())

export const milliseconds = (ms: number): string => millisecondsText(ms, language())

/** A rate per second, with one decimal if it is below 100. */
export const speed = (rate: number): string => numberText(rate, language(), rate < 100 ? 1 : 0)

/**
 * e.g. `2.4 million`. English does not use the browser's own formatter, which takes as long to start as
 * rendering part of the page.
 */
export function parameters(count: number): string {
  if (language() === 'en')
    return count < 999.95e6 ? `${(count / 1e6).toFixed(1)} million` : `${(count / 1e9).toFixed(1)} billion`
  const { format } = new Intl.NumberFormat(language(), {
    notation: 'compact',
    compactDisplay: 'long',
    minimumFractionDigits: 1,
    maximumFractionDigits: 1,
  })
  return format(count)
}
