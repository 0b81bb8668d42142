// Texts. In: sizes, times, errors. Out: the displayed text.
import { type ErrorCode, isHalfbyteError } from '../../core/base/errors.ts'

const unit = (language: string | undefined, name: string, digits: number, value: number) =>
  new Intl.NumberFormat(language, {
    style: 'unit',
    unit: name,
    unitDisplay: 'short',
    // So that a growing size keeps its width.
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  }).format(value)

/**
 * For example `1.6 MB`, or `12 kB` instead of `0.0 MB`; with `per` as `-per-second` a rate. Without a language,
 * the browser's.
 */
export function bytesText(count: number, language?: string, per: '' | '-per-second' = ''): string {
  if (count >= 1e9) return unit(language, `gigabyte${per}`, 2, count / 1e9)
  if (count > 0 && count < 5e4) return unit(language, `kilobyte${per}`, 0, Math.max(1, count / 1e3))
  return unit(language, `megabyte${per}`, count < 1e8 ? 1 : 0, count / 1e6)
}

/** For example `140 ms`. */
export const millisecondsText = (ms: number, language?: string): string =>
  unit(language, 'millisecond', 0, ms)

/** For example `2 min`; never empty, and never 60 seconds. */
export function durationText(milliseconds: number, language?: string): string {
  const seconds = Math.max(1, Math.round(milliseconds / 1000))
  if (seconds < 60) return unit(language, 'second', 0, seconds)
  const minutes = Math.round(seconds / 60)
  if (minutes < 60) return unit(language, 'minute', 0, minutes)
  return `${unit(language, 'hour', 0, Math.floor(minutes / 60))} ${unit(language, 'minute', 0, minutes % 60)}`
}

/** The code of any error. An error from outside the library counts as internal. */
export const codeOf = (error: unknown): ErrorCode => (isHalfbyteError(error) ? error.code : 'internal')

/** True if a lost network may have caused the error: even the engine's own script may be missing. */
export const isOffline = (error: unknown): boolean =>
  ['network', 'worker', 'internal'].includes(codeOf(error)) && globalThis.navigator?.onLine === false
