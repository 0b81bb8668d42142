// strftime. In: a date and a Python format. Out: the date in English and in local time.

const padded = (value: number, width = 2) => String(value).padStart(width, '0')
const named = (date: Date, part: Intl.DateTimeFormatOptions) => date.toLocaleString('en-US', part)

const dayOfYear = (date: Date) =>
  Math.round(
    (Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) - Date.UTC(date.getFullYear(), 0, 0)) /
      86_400_000,
  )

const FIELDS: ReadonlyMap<string, (date: Date) => string> = new Map(
  Object.entries({
    Y: (date) => padded(date.getFullYear(), 4),
    y: (date) => padded(date.getFullYear() % 100),
    m: (date) => padded(date.getMonth() + 1),
    d: (date) => padded(date.getDate()),
    j: (date) => padded(dayOfYear(date), 3),
    e: (date) => String(date.getDate()).padStart(2),
    H: (date) => padded(date.getHours()),
    I: (date) => padded(date.getHours() % 12 || 12),
    M: (date) => padded(date.getMinutes()),
    S: (date) => padded(date.getSeconds()),
    p: (date) => (date.getHours() < 12 ? 'AM' : 'PM'),
    A: (date) => named(date, { weekday: 'long' }),
    a: (date) => named(date, { weekday: 'short' }),
    B: (date) => named(date, { month: 'long' }),
    b: (date) => named(date, { month: 'short' }),
    '%': () => '%',
  }),
)

/** Unknown fields stay unchanged. `%-d` and similar fields are written without padding. */
export function strftime(date: Date, format: string): string {
  return format.replace(/%(-?)([A-Za-z%])/g, (whole, bare: string, letter: string) => {
    const text = FIELDS.get(letter)?.(date)
    if (text === undefined) return whole
    return bare === '' ? text : text.replace(/^[0 ]+(?=.)/, '')
  })
}
