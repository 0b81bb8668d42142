// The values of a template: Python's types, with their string forms, equality and order.
import { isObject, type JsonObject } from '../../base/values.ts'

/**
 * A Python value: `undefined` is Jinja's undefined, `null` is None, a whole `number` is an int and any other
 * is a float.
 */
export type Value =
  | undefined
  | null
  | boolean
  | number
  | string
  | Float
  | Markup
  | readonly Value[]
  | Tuple
  | Dict
  | View
  | Generator
  | Namespace
  | Callable
  | Loop

/**
 * Arguments of a tool call: a mapping that concatenates and prints as JSON. Some templates read them as a
 * mapping and others append them to a string, because OpenAI's API sends them as JSON text.
 */
export class CallArguments extends Map<Key, Value> {}

/** Marks the arguments of a call among the values passed to a template. */
export class GivenArguments {
  readonly given: JsonObject | ReadonlyMap<string, unknown>
  /** A map may hold maps, and numbers from `writtenNumber`. */
  constructor(given: JsonObject | ReadonlyMap<string, unknown>) {
    this.given = given
  }
}

export type Dict = Map<Key, Value>
export type Key = string | number | boolean | null

/** Charges for work before it is done, in units of about a nanosecond. Throws when the limit is reached. */
export type Spend = (units: number) => void

/** Cost of each part of a new value. A part is an object, whereas a character takes only one or two bytes. */
export const PART_UNITS = 32

/** A float with a whole value, which JavaScript cannot distinguish from an int. */
export class Float {
  readonly value: number
  /** The digits as written, if they were preserved. */
  readonly text: string | undefined
  constructor(value: number, text?: string) {
    this.value = value
    this.text = text
  }
}

/** A JSON number; keeps the digits as written if JavaScript would write others. */
export function writtenNumber(text: string): number | Float {
  const value = Number(text)
  return String(value) === text ? value : new Float(value, text)
}

/** Text marked by `safe` or `escape`; any text that is added to it is escaped. */
export class Markup {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** `names` names the elements, as in the groups of `groupby`. */
export class Tuple {
  readonly items: readonly Value[]
  readonly names: readonly string[]
  constructor(items: readonly Value[], names: readonly string[] = []) {
    this.items = items
    this.names = names
  }
}

/** What `range()` and a mapping's `keys()`, `values()` and `items()` return. */
export class View {
  readonly kind: 'dict_keys' | 'dict_values' | 'dict_items' | 'range'
  readonly items: readonly Value[]
  constructor(kind: View['kind'], items: readonly Value[]) {
    this.kind = kind
    this.items = items
  }
}

/** What `map`, `select` and similar filters return: it has no length and can be read only once. */
export class Generator {
  #items: readonly Value[]
  constructor(items: readonly Value[]) {
    this.#items = items
  }
  take(): readonly Value[] {
    const items = this.#items
    this.#items = []
    return items
  }
}

export class Namespace {
  readonly fields: Map<string, Value>
  constructor(fields: Map<string, Value>) {
    this.fields = fields
  }
}

export type Keywords = ReadonlyMap<string, Value>

export class Callable {
  readonly name: string
  readonly call: (args: readonly Value[], keywords: Keywords) => Value
  readonly fields: ReadonlyMap<string, Value>
  constructor(name: string, call: Callable['call'], fields: ReadonlyMap<string, Value> = new Map()) {
    this.name = name
    this.call = call
    this.fields = fields
  }
}

/** The variable `loop`. */
export class Loop {
  readonly items: readonly Value[]
  readonly depth0: number
  /** Renders the loop again for other items, if it was declared recursive. */
  readonly again: ((items: Value) => Value) | undefined
  at = 0
  seen: readonly Value[] | undefined
  constructor(items: readonly Value[], depth0: number, again: Loop['again']) {
    this.items = items
    this.depth0 = depth0
    this.again = again
  }
}

/** The error for operations that Python or Jinja reject. `kind` is the name of Python's exception. */
export class TemplateError extends Error {
  constructor(kind: string, what: string) {
    super(`${kind}: ${what}`)
  }
}

export const typeError = (what: string) => new TemplateError('TypeError', what)

const NAMES: readonly (readonly [new (...args: never[]) => object, string])[] = [
  [Float, 'float'],
  [Markup, 'Markup'],
  [Tuple, 'tuple'],
  [Map, 'dict'],
  [Generator, 'generator'],
  [Namespace, 'Namespace'],
  [Callable, 'function'],
  [Loop, 'LoopContext'],
]

/** Python's name of a value's type. */
export function typeName(value: Value): string {
  if (value === undefined) return 'Undefined'
  if (value === null) return 'NoneType'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'number') return Number.isInteger(value) ? 'int' : 'float'
  if (typeof value === 'string') return 'str'
  if (Array.isArray(value)) return 'list'
  if (value instanceof View) return value.kind
  return NAMES.find(([type]) => value instanceof type)?.[1] ?? 'object'
}

/** A float, even if its value is whole. */
export const float = (value: number): Value => (Number.isInteger(value) ? new Float(value) : value)

/** The number that an int, float or bool holds. */
export function numberOf(value: Value): number | undefined {
  if (typeof value === 'number') return value
  if (typeof value === 'boolean') return value ? 1 : 0
  return value instanceof Float ? value.value : undefined
}

export const isFloat = (value: Value) =>
  value instanceof Float || (typeof value === 'number' && !Number.isInteger(value))

/** An int or bool as an integer. Throws Python's error for other values. */
export function indexOf(value: Value): number {
  const number = isFloat(value) ? undefined : numberOf(value)
  if (number === undefined) throw typeError(`'${typeName(value)}' object cannot be interpreted as an integer`)
  return number
}

/** The text of a string or Markup. */
export function stringOf(value: Value): string | undefined {
  return typeof value === 'string' ? value : value instanceof Markup ? value.text : undefined
}

const SURROGATE = /[\ud800-\udfff]/

/** The characters of a text, as Python counts them. */
export const charactersOf = (text: string): readonly string[] =>
  SURROGATE.test(text) ? Array.from(text) : text.split('')

/** Items of a list, tuple or view; undefined for other values. */
export function itemsOf(value: Value): readonly Value[] | undefined {
  if (Array.isArray(value)) return value
  return value instanceof Tuple || value instanceof View ? value.items : undefined
}

/** The items that a loop visits. Throws for a value that is not iterable. */
export function iterate(value: Value, spend: Spend): readonly Value[] {
  const items = itemsOf(value) ?? (value instanceof Generator ? value.take() : undefined)
  if (items !== undefined) return items
  const text = stringOf(value)
  if (text !== undefined) {
    spend(text.length * PART_UNITS)
    return charactersOf(text)
  }
  if (value instanceof Map) {
    spend(value.size * PART_UNITS)
    return [...value.keys()]
  }
  if (value === undefined) return []
  throw typeError(`'${typeName(value)}' object is not iterable`)
}

/** Python's `len`. */
export function lengthOf(value: Value, spend: Spend): number {
  const text = stringOf(value)
  if (text !== undefined) {
    spend(text.length)
    return SURROGATE.test(text) ? charactersOf(text).length : text.length
  }
  if (value instanceof Map) return value.size
  if (value === undefined) return 0
  const items = value instanceof Loop ? value.items : itemsOf(value)
  if (items !== undefined) return items.length
  throw typeError(`object of type '${typeName(value)}' has no len()`)
}

/** Python's truth value. */
export function isTrue(value: Value): boolean {
  const text = stringOf(value)
  if (text !== undefined) return text !== ''
  const number = numberOf(value)
  if (number !== undefined) return number !== 0
  if (value instanceof Map) return value.size > 0
  const items = value instanceof Loop ? value.items : itemsOf(value)
  return items === undefined ? value !== undefined && value !== null : items.length > 0
}

/** Python's `str`; undefined values write nothing. */
export function textOf(value: Value, spend: Spend): string {
  return stringOf(value) ?? (value === undefined ? '' : reprOf(value, spend))
}

/** Python's `repr`. */
export function reprOf(value: Value, spend: Spend, depth = 1): string {
  spend(PART_UNITS * depth)
  if (value === undefined) return 'Undefined'
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  const number = numberOf(value)
  if (number !== undefined) return numberText(value as number | Float)
  const inner = (part: Value) => reprOf(part, spend, depth + 1)
  const text = stringOf(value)
  if (text !== undefined) {
    spend(text.length)
    return typeof value === 'string' ? quotedText(text) : `Markup(${quotedText(text)})`
  }
  if (value instanceof Map) {
    return `{${Array.from(value, ([key, part]) => `${inner(key)}: ${inner(part)}`).join(', ')}}`
  }
  const items = itemsOf(value)
  if (items !== undefined) {
    const parts = items.map(inner).join(', ')
    if (Array.isArray(value)) return `[${parts}]`
    if (value instanceof View) return value.kind === 'range' ? rangeText(items) : `${value.kind}([${parts}])`
    return items.length === 1 ? `(${parts},)` : `(${parts})`
  }
  if (value instanceof Namespace) return `<Namespace ${inner(new Map(value.fields))}>`
  if (value instanceof Loop) return `<LoopContext ${value.at + 1}/${value.items.length}>`
  throw typeError(`a ${typeName(value)} cannot be converted to a string; Python would print its address`)
}

function rangeText(items: readonly Value[]): string {
  const [first = 0, second] = items as readonly number[]
  const step = second === undefined ? 1 : second - first
  return `range(${first}, ${first + items.length * step}${step === 1 ? '' : `, ${step}`})`
}

/** Python's text of an int or float. */
export function numberText(value: number | Float): string {
  if (value instanceof Float && value.text !== undefined) return value.text
  const number = value instanceof Float ? value.value : value
  if (Number.isNaN(number)) return 'nan'
  if (!Number.isFinite(number)) return number < 0 ? '-inf' : 'inf'
  if (typeof value === 'number' && Number.isInteger(value)) return `${value === 0 ? 0 : value}`
  const [digits = '', exponent] = number.toExponential().split('e')
  const power = Number(exponent)
  if (power < -4 || power >= 16) {
    return `${digits}e${power < 0 ? '-' : '+'}${`${Math.abs(power)}`.padStart(2, '0')}`
  }
  const plain =
    power < 0 ? number.toFixed(Math.max(0, digits.replace(/[-.]/g, '').length - 1 - power)) : `${number}`
  const signed = Object.is(number, -0) ? '-0' : plain
  return signed.includes('.') ? signed : `${signed}.0`
}

const ESCAPES: ReadonlyMap<string, string> = new Map(
  Object.entries({ '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }),
)

/** Python writes single quotes, unless the string contains single quotes but no double quotes. */
function quotedText(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'"
  const inner = text.replace(/[\\'\p{C}\p{Z}]/gu, (character) => {
    if (character === ' ' || (character === "'" && quote === '"')) return character
    const code = character.codePointAt(0) as number
    const hex = (digits: number) => code.toString(16).padStart(digits, '0')
    if (character === "'") return "\\'"
    return (
      ESCAPES.get(character) ??
      (code < 256 ? `\\x${hex(2)}` : code < 65_536 ? `\\u${hex(4)}` : `\\U${hex(8)}`)
    )
  })
  return quote + inner + quote
}

/** Python's `==`: compares content. Values of different types differ, but true equals 1. */
export function areEqual(one: Value, other: Value, spend: Spend): boolean {
  spend(1)
  const a = stringOf(one)
  const b = stringOf(other)
  if (a !== undefined && b !== undefined) {
    spend(Math.min(a.length, b.length))
    return a === b
  }
  const m = numberOf(one)
  const n = numberOf(other)
  if (m !== undefined && n !== undefined) return m === n
  if (one instanceof Map && other instanceof Map) {
    if (one.size !== other.size) return false
    for (const [key, part] of one) {
      if (!other.has(key) || !areEqual(part, other.get(key), spend)) return false
    }
    return true
  }
  const as = itemsOf(one)
  const bs = itemsOf(other)
  if (as !== undefined && bs !== undefined && typeName(one) === typeName(other)) {
    return as.length === bs.length && as.every((part, at) => areEqual(part, bs[at], spend))
  }
  return one === other
}

/** Python's order: below 0, 0 or above 0. Throws for values that Python does not order. */
export function compare(one: Value, other: Value, spend: Spend, sign = '<'): number {
  spend(1)
  const a = stringOf(one)
  const b = stringOf(other)
  if (a !== undefined && b !== undefined) {
    spend(Math.min(a.length, b.length))
    return compareTexts(a, b)
  }
  const m = numberOf(one)
  const n = numberOf(other)
  if (m !== undefined && n !== undefined) return m - n
  const as = itemsOf(one)
  const bs = itemsOf(other)
  if (as !== undefined && bs !== undefined && typeName(one) === typeName(other) && !(one instanceof View)) {
    const at = as.findIndex((part, index) => index >= bs.length || !areEqual(part, bs[index], spend))
    if (at < 0 || at >= bs.length) return as.length - bs.length
    return compare(as[at], bs[at], spend, sign)
  }
  throw typeError(`'${sign}' not supported between instances of '${typeName(one)}' and '${typeName(other)}'`)
}

/** By code point: UTF-16 sorts characters beyond U+FFFF too low. */
function compareTexts(a: string, b: string): number {
  if (a === b) return 0
  let at = 0
  while (at < a.length && a.charCodeAt(at) === b.charCodeAt(at)) at++
  if (at > 0 && /[\udc00-\udfff]/.test(a.charAt(at) + b.charAt(at))) at--
  return (a.codePointAt(at) ?? -1) - (b.codePointAt(at) ?? -1)
}

/**
 * The key of a mapping. Throws for values that Python cannot hash and for key types that no template needs.
 */
export function keyOf(value: Value): Key {
  const key = keyOrNone(value)
  if (key !== undefined) return key
  throw typeError(`unhashable type: '${typeName(value)}'`)
}

/** Like `keyOf`, but returns undefined instead of throwing. */
export function keyOrNone(value: Value): Key | undefined {
  if (value === null || typeof value === 'boolean' || typeof value === 'number') return value
  return value instanceof Float ? value.value : stringOf(value)
}

/** Converts API values for a template: objects become mappings. Charges for every part. */
export function fromJson(value: unknown, spend: Spend): Value {
  spend(PART_UNITS)
  if (typeof value === 'string' || typeof value === 'boolean' || value === null || value === undefined)
    return value
  if (typeof value === 'number' || value instanceof Float) return value
  if (Array.isArray(value)) return value.map((part) => fromJson(part, spend))
  if (value instanceof GivenArguments) {
    return new CallArguments(fromJson(value.given, spend) as Dict)
  }
  if (isObject(value)) {
    const entries = value instanceof Map ? [...value] : Object.entries(value)
    return new Map(entries.map(([key, part]) => [key, fromJson(part, spend)] as const))
  }
  throw typeError(`a template cannot read a ${typeof value}`)
}
