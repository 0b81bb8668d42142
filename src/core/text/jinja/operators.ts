// The operators, as Python computes them. Throws TemplateError where Python rejects the operands.
import { formatPercent } from './format-text.ts'
import { writtenText } from './to-json.ts'
import {
  areEqual,
  CallArguments,
  charactersOf,
  compare,
  Float,
  float,
  indexOf,
  isFloat,
  itemsOf,
  iterate,
  keyOf,
  Markup,
  numberOf,
  PART_UNITS,
  type Spend,
  stringOf,
  TemplateError,
  Tuple,
  typeError,
  typeName,
  type Value,
  View,
} from './values.ts'

const ESCAPES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    "'": '&#39;',
    '"': '&#34;',
  }),
)

export const escaped = (text: string) =>
  text.replace(/[&<>'"]/g, (character) => ESCAPES.get(character) as string)

/** Escapes text that is added to Markup. */
const safe = (value: Value, text: string): string => (value instanceof Markup ? text : escaped(text))

export function binary(sign: string, left: Value, right: Value, spend: Spend): Value {
  const m = numberOf(left)
  const n = numberOf(right)
  if (m !== undefined && n !== undefined) return arithmetic(sign, m, n, isFloat(left) || isFloat(right))
  if (sign === '+') return sum(left, right, spend)
  if (sign === '*') {
    if (n !== undefined) return repeated(left, indexOf(right), spend)
    if (m !== undefined) return repeated(right, indexOf(left), spend)
  }
  const text = sign === '%' ? stringOf(left) : undefined
  if (text !== undefined) return formatPercent(text, right, spend)
  throw refusal(sign, left, right)
}

const refusal = (sign: string, left: Value, right: Value) =>
  typeError(`unsupported operand type(s) for ${sign}: '${typeName(left)}' and '${typeName(right)}'`)

function arithmetic(sign: string, m: number, n: number, isFloating: boolean): Value {
  if (n === 0 && ['/', '//', '%'].includes(sign))
    throw new TemplateError('ZeroDivisionError', 'division by zero')
  // Python's remainder has the sign of the divisor.
  const remainder = () => (m % n !== 0 && m % n < 0 !== n < 0 ? (m % n) + n : m % n)
  const result =
    sign === '+'
      ? m + n
      : sign === '-'
        ? m - n
        : sign === '*'
          ? m * n
          : sign === '/'
            ? m / n
            : sign === '//'
              ? Math.floor(m / n)
              : sign === '%'
                ? remainder()
                : m ** n
  if (isFloating || sign === '/' || (sign === '**' && n < 0)) return float(result)
  if (!Number.isSafeInteger(result)) {
    throw new TemplateError(
      'OverflowError',
      `${m} ${sign} ${n} exceeds the largest integer in templates, 2 ** 53`,
    )
  }
  return result
}

/** The text of an operand. Arguments of a tool call are written as JSON. */
const addedText = (value: Value, spend: Spend) =>
  value instanceof CallArguments ? writtenText(value, spend) : stringOf(value)

function sum(left: Value, right: Value, spend: Spend): Value {
  const a = addedText(left, spend)
  const b = addedText(right, spend)
  if (a !== undefined && b !== undefined && !(left instanceof Map && right instanceof Map)) {
    spend(a.length + b.length)
    if (left instanceof Markup || right instanceof Markup) return new Markup(safe(left, a) + safe(right, b))
    return a + b
  }
  const as = itemsOf(left)
  const bs = itemsOf(right)
  if (as !== undefined && bs !== undefined && typeName(left) === typeName(right)) {
    spend((as.length + bs.length) * PART_UNITS)
    if (Array.isArray(left)) return [...as, ...bs]
    if (left instanceof Tuple) return new Tuple([...as, ...bs])
  }
  if (a !== undefined && right !== undefined) {
    throw typeError(`can only concatenate str (not "${typeName(right)}") to str`)
  }
  throw refusal('+', left, right)
}

function repeated(value: Value, times: number, spend: Spend): Value {
  const count = Math.max(0, times)
  const text = stringOf(value)
  if (text !== undefined) {
    spend(text.length * count)
    return value instanceof Markup ? new Markup(text.repeat(count)) : text.repeat(count)
  }
  const items = value instanceof Tuple || Array.isArray(value) ? itemsOf(value) : undefined
  if (items === undefined) throw refusal('*', value, times)
  spend(items.length * count * PART_UNITS)
  const all = Array.from({ length: count }, () => items).flat()
  return value instanceof Tuple ? new Tuple(all) : all
}

export function compareBy(sign: string, left: Value, right: Value, spend: Spend): boolean {
  switch (sign) {
    case '==':
      return areEqual(left, right, spend)
    case '!=':
      return !areEqual(left, right, spend)
    case 'in':
      return contains(right, left, spend)
    case 'not in':
      return !contains(right, left, spend)
  }
  const order = compare(left, right, spend, sign)
  return sign === '<' ? order < 0 : sign === '<=' ? order <= 0 : sign === '>' ? order > 0 : order >= 0
}

/** Python's `in`. */
export function contains(whole: Value, part: Value, spend: Spend): boolean {
  const text = stringOf(whole)
  if (text !== undefined) {
    const sought = stringOf(part)
    if (sought === undefined) {
      throw typeError(`'in <string>' requires string as left operand, not ${typeName(part)}`)
    }
    spend((text.length * sought.length) / 16)
    return text.includes(sought)
  }
  if (whole instanceof Map) return whole.has(keyOf(part))
  return iterate(whole, spend).some((item) => areEqual(item, part, spend))
}

export function negated(value: Value): Value {
  const number = numberOf(value)
  if (number === undefined) throw typeError(`bad operand type for unary -: '${typeName(value)}'`)
  return isFloat(value) ? float(-number) : number === 0 ? 0 : -number
}

export function signed(value: Value): Value {
  const number = numberOf(value)
  if (number === undefined) throw typeError(`bad operand type for unary +: '${typeName(value)}'`)
  return value instanceof Float ? value : number
}

/** `value[start:stop:step]` as in Python. */
export function slice(value: Value, parts: readonly Value[], spend: Spend): Value {
  const text = stringOf(value)
  const items =
    text === undefined
      ? value instanceof Tuple || Array.isArray(value)
        ? itemsOf(value)
        : undefined
      : undefined
  if (text !== undefined) spend(text.length * 2)
  const all: readonly Value[] | undefined = text === undefined ? items : charactersOf(text)
  if (all === undefined) {
    throw value === undefined
      ? typeError('an undefined value cannot be sliced')
      : typeError(`'${typeName(value)}' object cannot be sliced`)
  }
  const [start, stop, by] = parts.map((part) =>
    part === undefined || part === null ? undefined : indexOf(part),
  )
  const step = by ?? 1
  if (step === 0) throw new TemplateError('ValueError', 'slice step cannot be zero')
  const clamp = (at: number) =>
    Math.min(
      Math.max(at < 0 ? at + all.length : at, step < 0 ? -1 : 0),
      step < 0 ? all.length - 1 : all.length,
    )
  const from = start === undefined ? (step < 0 ? all.length - 1 : 0) : clamp(start)
  const to = stop === undefined ? (step < 0 ? -1 : all.length) : clamp(stop)
  const taken: Value[] = []
  for (let at = from; step < 0 ? at > to : at < to; at += step) {
    spend(PART_UNITS)
    taken.push(all[at])
  }
  if (text !== undefined) return value instanceof Markup ? new Markup(taken.join('')) : taken.join('')
  return value instanceof Tuple ? new Tuple(taken) : taken
}

/**
 * The item of a list, tuple or string; undefined out of range. Python counts negative indices from the end.
 */
export function itemAt(value: Value, index: number, spend: Spend): Value {
  const text = stringOf(value)
  if (text !== undefined) spend(text.length)
  const all =
    text === undefined
      ? value instanceof View && value.kind !== 'range'
        ? undefined
        : itemsOf(value)
      : charactersOf(text)
  return all?.[index < 0 ? index + all.length : index]
}

/** Arguments by parameter name. Parameters marked with `?` are optional and may be undefined. */
export function bound(
  name: string,
  parameters: readonly string[],
  args: readonly Value[],
  keywords: ReadonlyMap<string, Value>,
): Value[] {
  const names = parameters.map((parameter) => parameter.replace('?', ''))
  if (args.length > names.length) {
    throw typeError(`${name}() takes ${names.length} arguments but ${args.length} were given`)
  }
  const given = new Map<string, Value>(args.map((value, at) => [names[at]!, value] as const))
  for (const [keyword, value] of keywords) {
    if (!names.includes(keyword)) throw typeError(`${name}() got an unexpected keyword argument '${keyword}'`)
    if (given.has(keyword)) throw typeError(`${name}() got multiple values for argument '${keyword}'`)
    given.set(keyword, value)
  }
  for (const [at, parameter] of parameters.entries()) {
    if (!parameter.endsWith('?') && !given.has(names[at]!)) {
      throw typeError(`${name}() is missing the argument '${parameter}'`)
    }
  }
  return names.map((each) => given.get(each))
}
