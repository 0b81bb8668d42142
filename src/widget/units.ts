// Units. In: bytes and seconds, a language. Out: their text for people.

const unit = (language: string | undefined, name: string, digits: number, value: number) =>
  new Intl.NumberFormat(language, {
    style: 'unit',
    unit: name,
    unitDisplay: 'short',
    maximumFractionDigits: digits,
  }).format(value)

/** For example `1.6 MB`. */
export function bytesText(count: number, language?: string): string {
  if (count >= 1e9) return unit(language, 'gigabyte', 2, count / 1e9)
  return unit(language, 'megabyte', count < 1e8 ? 1 : 0, count / 1e6)
}

/** For example `2 min`. */
export function secondsText(seconds: number, language?: string): string {
  if (seconds < 60) return unit(language, 'second', 0, Math.max(1, Math.ceil(seconds)))
  return unit(language, 'minute', 0, Math.round(seconds / 60))
}
