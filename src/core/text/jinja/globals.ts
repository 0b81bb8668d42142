// The global functions that Jinja and Transformers provide to every template.

import { bound } from './operators.ts'
import {
  Callable,
  type Dict,
  indexOf,
  itemsOf,
  iterate,
  type Keywords,
  keyOf,
  Namespace,
  PART_UNITS,
  type Spend,
  stringOf,
  TemplateError,
  Tuple,
  textOf,
  typeError,
  type Value,
  View,
} from './values.ts'

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

/** A template that counts beyond this is assumed never to end. Jinja's sandbox has the same limit. */
const MAX_RANGE = 100_000
/** Work units for formatting a date, per character of the format. */
const DATE_UNITS = 1 << 15

/** The error of a template that rejects its input with its own message. */
export class TemplateRefusal extends Error {}

export function globals(now: Date, spend: Spend): ReadonlyMap<string, Value> {
  const functions: Readonly<Record<string, Callable['call']>> = {
    range: (args, keywords) => range(bound('range', ['start', 'stop?', 'step?'], args, keywords), spend),
    dict: (args, keywords) => dict(args, keywords, spend),
    namespace: (args, keywords) =>
      new Namespace(new Map([...dict(args, keywords, spend)].map(([key, value]) => [`${key}`, value]))),
    joiner: ([separator = ', ']) => {
      let isUsed = false
      return new Callable('joiner', () => {
        const text = isUsed ? separator : ''
        isUsed = true
        return text
      })
    },
    cycler: (args) => cycler(args),
    strftime_now: (args, keywords) => {
      const [format] = bound('strftime_now', ['format'], args, keywords)
      const text = stringOf(format)
      if (text === undefined) throw typeError('strftime_now() needs a string')
      spend(text.length * DATE_UNITS)
      return strftime(now, text)
    },
    raise_exception: ([message]) => {
      throw new TemplateRefusal(textOf(message, spend).slice(0, 1000))
    },
  }
  return new Map(Object.entries(functions).map(([name, call]) => [name, new Callable(name, call)] as const))
}

function range([first, last, by]: readonly Value[], spend: Spend): View {
  const [start, end] = last === undefined ? [0, indexOf(first)] : [indexOf(first), indexOf(last)]
  const step = by === undefined ? 1 : indexOf(by)
  if (step === 0) throw new TemplateError('ValueError', 'range() arg 3 must not be zero')
  const count = Math.max(0, Math.ceil((end - start) / step))
  if (count > MAX_RANGE) {
    throw new TemplateError('OverflowError', `range() has ${count} elements; the limit is ${MAX_RANGE}`)
  }
  spend(count * PART_UNITS)
  return new View(
    'range',
    Array.from({ length: count }, (_, index) => start + index * step),
  )
}

function dict(args: readonly Value[], keywords: Keywords, spend: Spend): Dict {
  const [from] = args
  const pairs: readonly (readonly [Value, Value])[] =
    from instanceof Map
      ? [...from]
      : iterate(from, spend).map((pair) => {
          const items = itemsOf(pair) ?? []
          if (items.length !== 2) throw new TemplateError('ValueError', 'a mapping needs key-value pairs')
          return [items[0], items[1]] as const
        })
  spend((pairs.length + keywords.size) * PART_UNITS)
  return new Map([...pairs.map(([key, value]) => [keyOf(key), value] as const), ...keywords])
}

function cycler(items: readonly Value[]): Value {
  if (items.length === 0) throw typeError('at least one item has to be provided')
  const fields = new Map<string, Value>()
  let at = 0
  const place = (index: number) => {
    at = index % items.length
    fields.set('current', items[at])
  }
  fields.set(
    'next',
    new Callable('next', () => {
      const item = items[at]
      place(at + 1)
      return item
    }),
  )
  fields.set(
    'reset',
    new Callable('reset', () => {
      place(0)
      return null
    }),
  )
  fields.set('items', new Tuple(items))
  place(0)
  return new Callable(
    'cycler',
    () => {
      throw typeError("'Cycler' object is not callable")
    },
    fields,
  )
}
