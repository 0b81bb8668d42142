// Jinja's filters, and `tojson` of Transformers.
import { formatPercent, roundedText } from './format-text.ts'
import { SPACES } from './lexer.ts'
import { type Filter, listFilters, type Tools } from './list-filters.ts'
import { capitalized, linesOf, lower, stripped, upper } from './methods.ts'
import { bound, escaped } from './operators.ts'
import { type JsonStyle, jsonOf, writtenText } from './to-json.ts'
import {
  charactersOf,
  float,
  Generator,
  indexOf,
  isFloat,
  isTrue,
  itemsOf,
  iterate,
  type Keywords,
  lengthOf,
  Markup,
  numberOf,
  PART_UNITS,
  reprOf,
  stringOf,
  TemplateError,
  Tuple,
  typeError,
  typeName,
  type Value,
} from './values.ts'

const text = (value: Value, { spend }: Tools) => writtenText(value, spend)
const optional = (value: Value) => (value === undefined || value === null ? undefined : stringOf(value))

/** String filters return Markup if given Markup. */
const like = (value: Value, result: string): Value => (value instanceof Markup ? new Markup(result) : result)

function indented(value: Value, [width = 4, first, blank]: readonly Value[], tools: Tools): Value {
  const by = stringOf(width) ?? ' '.repeat(spent(indexOf(width), tools))
  if (value === undefined) throw new TemplateError('UndefinedError', 'an undefined value cannot be indented')
  const lines = linesOf(`${text(value, tools)}\n`)
  tools.spend(lines.length * by.length)
  const rest = lines.slice(1).map((line) => (line !== '' || isTrue(blank) ? by + line : line))
  const result = [lines[0] ?? '', ...rest].join('\n')
  return like(value, isTrue(first) ? by + result : result)
}

function spent(units: number, { spend }: Tools): number {
  spend(Math.max(0, units))
  return Math.max(0, units)
}

function truncated(
  value: Value,
  [length = 255, kills, end = '...', leeway = 5]: readonly Value[],
  tools: Tools,
): Value {
  const whole = text(value, tools)
  const all = charactersOf(whole)
  const most = indexOf(length)
  const ending = text(end, tools)
  if (all.length <= most + indexOf(leeway ?? 5)) return whole
  const cut = all.slice(0, most - charactersOf(ending).length).join('')
  const blank = cut.lastIndexOf(' ')
  return (isTrue(kills) || blank < 0 ? cut : cut.slice(0, blank)) + ending
}

function rounded(value: Value, [precision = 0, method = 'common']: readonly Value[]): Value {
  const number = numberOf(value)
  const places = indexOf(precision)
  if (number === undefined) throw typeError(`type ${typeName(value)} doesn't define __round__ method`)
  if (method === 'ceil' || method === 'floor') {
    const scale = 10 ** places
    return float((method === 'ceil' ? Math.ceil(number * scale) : Math.floor(number * scale)) / scale)
  }
  if (method !== 'common')
    throw new TemplateError('FilterArgumentError', 'method must be common, ceil or floor')
  const scaled = (size: number) =>
    places >= 0
      ? Number(roundedText(size, Math.min(places, 100)))
      : Number(roundedText(size / 10 ** -places, 0)) * 10 ** -places
  const result = Math.sign(number) * scaled(Math.abs(number))
  return isFloat(value) ? float(result) : result
}

const BASES: Readonly<Record<number, RegExp>> = {
  2: /^[-+]?(?:0b)?[01]+$/i,
  8: /^[-+]?(?:0o)?[0-7]+$/i,
  10: /^[-+]?\d+(?:_\d+)*$/,
  16: /^[-+]?(?:0x)?[\da-f]+$/i,
}
const FLOAT = /^[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|inf(?:inity)?|nan)$/i

function floatOf(value: Value): number | undefined {
  const number = numberOf(value)
  const written = stringOf(value)
  if (number !== undefined || written === undefined) return number
  const bare = stripped(written, undefined, true, true).replace(/(?<=\d)_(?=\d)/g, '')
  if (!FLOAT.test(bare)) return undefined
  const special = /^([-+]?)(inf|nan)/i.exec(bare)
  if (special === null) return Number(bare)
  return (
    (special[1] === '-' ? -1 : 1) *
    (special[2]?.toLowerCase() === 'inf' ? Number.POSITIVE_INFINITY : Number.NaN)
  )
}

function integerOf(value: Value, [fallback = 0, base = 10]: readonly Value[]): Value {
  if (value === undefined)
    throw new TemplateError('UndefinedError', 'an undefined value cannot be converted to an integer')
  const written = stringOf(value)
  const radix = indexOf(base)
  const bare = written === undefined ? '' : stripped(written, undefined, true, true)
  if (written !== undefined && BASES[radix]?.test(bare)) {
    const [, sign, digits = ''] = /^([-+]?)(?:0[box])?(.*)$/i.exec(bare) ?? []
    return (sign === '-' ? -1 : 1) * Number.parseInt(digits.replaceAll('_', ''), radix)
  }
  const number = floatOf(value)
  if (number !== undefined && !Number.isFinite(number) && written === undefined) {
    throw new TemplateError('OverflowError', 'cannot convert float infinity to integer')
  }
  return number === undefined || !Number.isFinite(number) ? fallback : Math.trunc(number) + 0
}

function toJson(value: Value, args: readonly Value[], { spend }: Tools): Value {
  const [ascii, indent, separators, sorts] = args
  const parts = separators === undefined || separators === null ? undefined : itemsOf(separators)
  const width = indent === undefined || indent === null ? undefined : (stringOf(indent) ?? indexOf(indent))
  if (typeof width === 'number') spend(Math.max(0, width))
  const style: JsonStyle = {
    ascii: isTrue(ascii),
    indent: typeof width === 'number' ? ' '.repeat(Math.max(0, width)) : width,
    comma: stringOf(parts?.[0]) ?? (width === undefined ? ', ' : ','),
    colon: stringOf(parts?.[1]) ?? ': ',
    sorts: isTrue(sorts),
  }
  return jsonOf(value, style, spend)
}

function urlencoded(value: Value, tools: Tools): string {
  const quote = (part: Value, isQuery: boolean) => {
    const coded = encodeURIComponent(text(part, tools).toWellFormed()).replace(
      /[!'()*]/g,
      (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`,
    )
    return isQuery ? coded.replaceAll('%20', '+') : coded.replaceAll('%2F', '/')
  }
  if (stringOf(value) !== undefined) return quote(value, false)
  const pairs =
    value instanceof Map
      ? Array.from(value, (pair) => pair as readonly Value[])
      : iterate(value, tools.spend).map((pair) => itemsOf(pair) ?? [])
  return pairs.map(([key, part]) => `${quote(key, true)}=${quote(part, true)}`).join('&')
}

const firstOf = (value: Value, { spend }: Tools) => iterate(value, spend)[0]

const joined: Filter = (value, [by = '', name], tools) => {
  const parts = iterate(value, tools.spend).map((part) => {
    const each = text(name === undefined || name === null ? part : tools.item(part, name), tools)
    tools.spend(each.length)
    return each
  })
  const between = text(by, tools)
  tools.spend(parts.length * between.length)
  return parts.join(between)
}

const defaulted: Filter = (value, [fallback = '', boolean]) =>
  value === undefined || (isTrue(boolean) && !isTrue(value)) ? fallback : value

const counted: Filter = (value, _args, { spend }) => lengthOf(value, spend)
const markedUp: Filter = (value, _args, tools) =>
  value instanceof Markup ? value : new Markup(escaped(text(value, tools)))

/** Jinja's rule: a letter after white space, `-` or an opening bracket begins a word. */
const titled = (value: string) =>
  value
    .split(new RegExp(`([-${SPACES}({\\[<]+)`))
    .map(capitalized)
    .join('')

const onText =
  (change: (text: string) => string): Filter =>
  (value, _args, tools) => {
    const given = text(value, tools)
    tools.spend(given.length)
    return like(value, change(given))
  }

const reversed: Filter = (value, _args, { spend }) => {
  const given = stringOf(value)
  if (given !== undefined) return charactersOf(given).toReversed().join('')
  const items = value instanceof Generator ? undefined : iterate(value, spend)
  if (items === undefined) throw new TemplateError('FilterArgumentError', 'argument must be iterable')
  return new Generator(items.toReversed())
}

const formats: Filter = (value, args, tools, keywords) => {
  if (args.length > 0 && keywords.size > 0)
    throw typeError("can't handle positional and keyword arguments at the same time")
  return formatPercent(
    text(value, tools),
    keywords.size > 0 ? new Map(keywords) : new Tuple(args),
    tools.spend,
  )
}

/** Filters by name: their parameters (undefined if they take any number) and their functions. */
const FILTERS: ReadonlyMap<string, readonly [parameters: string | undefined, run: Filter]> = new Map<
  string,
  readonly [parameters: string | undefined, run: Filter]
>(
  Object.entries({
    ...listFilters,
    tojson: ['ensure_ascii? indent? separators? sort_keys?', toJson],
    string: ['', (value, _args, tools) => (value instanceof Markup ? value : text(value, tools))],
    safe: ['', (value, _args, tools) => new Markup(text(value, tools))],
    escape: ['', markedUp],
    e: ['', markedUp],
    forceescape: ['', (value, _args, tools) => new Markup(escaped(text(value, tools)))],
    default: ['default_value? boolean?', defaulted],
    d: ['default_value? boolean?', defaulted],
    length: ['', counted],
    count: ['', counted],
    join: ['d? attribute?', joined],
    first: ['', (value, _args, tools) => firstOf(value, tools)],
    last: [
      '',
      (value, _args, { spend }) =>
        iterate(value instanceof Generator ? notReversible(value) : value, spend).at(-1),
    ],
    list: ['', (value, _args, { spend }) => [...iterate(value, spend)]],
    reverse: ['', reversed],
    trim: [
      'chars?',
      (value, [chars], tools) => like(value, stripped(text(value, tools), optional(chars), true, true)),
    ],
    upper: ['', onText(upper)],
    lower: ['', onText(lower)],
    capitalize: ['', onText(capitalized)],
    title: ['', onText(titled)],
    striptags: [
      '',
      onText((given) =>
        given
          .replace(/<!--[\s\S]*?-->|<[^>]*>/g, '')
          .split(new RegExp(`[${SPACES}]+`))
          .filter(Boolean)
          .join(' '),
      ),
    ],
    wordcount: ['', (value, _args, tools) => text(value, tools).match(/[\p{L}\p{N}_]+/gu)?.length ?? 0],
    urlencode: ['', (value, _args, tools) => urlencoded(value, tools)],
    replace: [
      'old new count?',
      (value, [old, by, count], tools) => {
        const given = text(value, tools)
        const sought = text(old, tools)
        const put = text(by, tools)
        tools.spend(given.length * (sought.length + put.length + PART_UNITS))
        const method = tools.attribute(given, 'replace') as {
          call(args: readonly Value[], keywords: Keywords): Value
        }
        const result = method.call(
          [sought, put, ...(count === undefined || count === null ? [] : [count])],
          new Map(),
        )
        return like(value, result as string)
      },
    ],
    indent: ['width? first? blank?', indented],
    truncate: ['length? killwords? end? leeway?', truncated],
    center: [
      'width?',
      (value, [width = 80], tools) => {
        const method = tools.attribute(text(value, tools), 'center') as {
          call(args: readonly Value[], keywords: Keywords): Value
        }
        return method.call([width], new Map())
      },
    ],
    format: [undefined, formats],
    int: ['default? base?', integerOf],
    float: [
      'default?',
      (value, [fallback = float(0)]) => {
        if (value === undefined)
          throw new TemplateError('UndefinedError', 'an undefined value cannot be converted to a float')
        const number = floatOf(value)
        return number === undefined ? fallback : float(number)
      },
    ],
    abs: [
      '',
      (value) => {
        const number = numberOf(value)
        if (number === undefined) throw typeError(`bad operand type for abs(): '${typeName(value)}'`)
        return isFloat(value) ? float(Math.abs(number)) : Math.abs(number)
      },
    ],
    round: ['precision? method?', rounded],
    attr: [
      'name',
      (value, [name], tools) =>
        value instanceof Map ? undefined : tools.attribute(value, text(name, tools)),
    ],
    pprint: ['', (value, _args, { spend }) => reprOf(value, spend)],
  }),
)

function notReversible(value: Value): never {
  throw typeError(`'${typeName(value)}' object is not reversible`)
}

/** Whether a filter with that name exists. */
export const isFilter = (name: string) => FILTERS.has(name)

/** Throws TemplateError for an unknown filter. */
export function filtered(
  name: string,
  value: Value,
  args: readonly Value[],
  keywords: Keywords,
  tools: Tools,
): Value {
  const filter = FILTERS.get(name)
  if (filter === undefined)
    throw new TemplateError('TemplateRuntimeError', `No filter named '${name}' found.`)
  const [parameters, run] = filter
  tools.spend((stringOf(value)?.length ?? 1) * PART_UNITS)
  if (parameters === undefined) return run(value, args, tools, keywords)
  return run(value, bound(name, parameters.split(' ').filter(Boolean), args, keywords), tools, keywords)
}
