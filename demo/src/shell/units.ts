// Units. In: bytes and milliseconds. Out: their text for people.
import { isRightToLeft, language, t } from '../words/words.ts'

/** Figure and unit stay in their order where the text around them runs from right to left. */
export function bytes(count: number): string {
  const text =
    count >= 1e9 ? `${(count / 1e9).toFixed(2)} GB` : `${(count / 1e6).toFixed(count < 1e8 ? 1 : 0)} MB`
  return isRightToLeft() ? `\u2066${text}\u2069` : text
}

export function duration(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1000))
  if (seconds < 60) return t('seconds', { count: seconds })
  const minutes = Math.round(seconds / 60)
  if (minutes < 60) return t('minutes', { count: minutes })
  return t('hours', { hours: Math.floor(minutes / 60), minutes: minutes % 60 })
}

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
