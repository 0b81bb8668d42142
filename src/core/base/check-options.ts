// Checks options and lists that a caller passed, and names wrong values in errors.
import { HalfbyteError, isHalfbyteError, reasonOf } from './errors.ts'
import { checkLevels } from './json.ts'
import { isObject, unwrap } from './values.ts'

/** A sparse array may claim a length of four billion, which takes long to iterate. */
export const MAX_ITEMS = 1 << 20

export function checkList(
  name: string,
  value: unknown,
  most = MAX_ITEMS,
): asserts value is readonly unknown[] {
  if (!Array.isArray(value)) throw wrongOption(name, value, 'a list')
  if (value.length > most)
    throw wrongOption(name, `a list of ${value.length} items`, `a list of at most ${most} items`)
}

export function checkTexts(name: string, value: unknown): void {
  checkList(name, value)
  for (const text of value) {
    if (typeof text !== 'string' || text === '')
      throw wrongOption(`a string in ${name}`, text, 'a non-empty string')
  }
}

/**
 * A short text for any value, for error messages. Never throws, not even for values like `{ toString: 1 }`
 * for which `String(value)` does.
 */
export function shown(value: unknown): string {
  const text = written(value)
  return text.length <= 60 ? text : `${text.slice(0, 56)}...${text.at(-1)}`
}

/**
 * Maximum number of list items and object members that are visited. A sparse array may claim four billion.
 */
const MAX_SHOWN = 1000

function written(value: unknown): string {
  // JSON has no NaN, Infinity or bigint.
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 60))
  let left = MAX_SHOWN
  const counted = (_key: string, each: unknown): unknown => {
    if (left-- === 0) throw new RangeError('it is too long to show')
    return typeof each === 'string' ? each.slice(0, 60) : each
  }
  try {
    return JSON.stringify(value, counted) ?? String(value)
  } catch {
    // The value is circular, too long, nested too deeply for the stack, or cannot be read.
    return isList(value) ? 'a list' : `a value of type ${typeof value}`
  }
}

function isList(value: unknown): boolean {
  try {
    return Array.isArray(value)
  } catch {
    // A revoked proxy.
    return false
  }
}

/** `wanted` completes "must be", e.g. `a whole number from 1`. */
export function wrongOption(name: string, value: unknown, wanted: string): HalfbyteError {
  return wrongValue(name, shown(value), wanted)
}

const wrongValue = (name: string, value: string, wanted: string) =>
  new HalfbyteError('unsupported', `${name} is ${value} but must be ${wanted}; change it or leave it out`, {
    name,
    value,
    wanted,
  })

/**
 * Returns an error about an option with the option's other name. Errors that do not name the option are
 * returned unchanged.
 */
export function renamedOption(error: unknown, rename: (name: string) => string): unknown {
  if (!isHalfbyteError(error)) return error
  const { name, value, wanted } = error.detail
  if (typeof name !== 'string') return error
  if (typeof value === 'string' && typeof wanted === 'string') return wrongValue(rename(name), value, wanted)
  const detail = { ...error.detail, name: rename(name) }
  return new HalfbyteError(error.code, error.message, detail, { cause: error })
}

/** Throws `unsupported` if `options` is not an object, or has a key that is not among `known`. */
export function checkKeys(name: string, options: unknown, known: Iterable<string>): void {
  if (!isObject(options)) throw wrongOption(name, options, 'an object')
  const names = [...known]
  for (const key of Object.keys(options)) {
    if (names.includes(key)) continue
    const nearest = names.reduce((best, each) => (likeness(key, each) > likeness(key, best) ? each : best))
    throw new HalfbyteError('unsupported', `${key} is not one of ${name}; the nearest is ${nearest}`, {
      key,
      nearest,
    })
  }
}

/**
 * Applies `read` to a caller's value. Throws `unsupported` if the value cannot be read: proxies and getters
 * may throw, and untyped callers may pass anything.
 */
export function readFrom<Read>(name: string, read: () => Read): Read {
  try {
    return read()
  } catch (cause) {
    if (isHalfbyteError(cause)) throw cause
    throw new HalfbyteError(
      'unsupported',
      `${name} cannot be read (${reasonOf(cause)}); pass plain values of the documented types`,
      { name },
      { cause },
    )
  }
}

/**
 * A copy without proxies that can be sent to another thread. Throws `unsupported` if the value cannot be
 * copied.
 */
export function plainOf<Value>(name: string, value: Value): Value {
  return readFrom(name, () => {
    // The other side would never answer a message that it cannot decode.
    checkLevels(value)
    return unwrap(value)
  })
}

/** Whether the value is an AbortSignal of this page or of one of its frames. */
export function isSignal(value: unknown): value is AbortSignal {
  const { aborted, throwIfAborted, addEventListener } = Object(value) as Partial<AbortSignal>
  const isListener = typeof throwIfAborted === 'function' && typeof addEventListener === 'function'
  return isListener && typeof aborted === 'boolean'
}

/** Throws `unsupported` unless the value is undefined or an AbortSignal. */
export function checkSignal(value: unknown): asserts value is AbortSignal | undefined {
  if (value !== undefined && !isSignal(value)) throw wrongOption('signal', value, 'an AbortSignal')
}

/** The signal in a call's options. Throws `unsupported` if the options are not an object. */
export function signalOf(options: unknown): AbortSignal | undefined {
  return readFrom('the options', () => {
    if (options === undefined) return undefined
    if (!isObject(options)) throw wrongOption('the options', options, 'an object')
    const { signal } = options
    checkSignal(signal)
    return signal
  })
}

/** The share of letters that two words have in common, ignoring case. A typo leaves it high. */
function likeness(left: string, right: string): number {
  // Callers may pass keys of any length.
  const some = new Set(left.slice(0, 40).toLowerCase())
  const others = new Set(right.toLowerCase())
  return [...some].filter((letter) => others.has(letter)).length / (some.size + others.size)
}
