// Options. In: a value that a caller passed. Out: a short text of it, and errors for wrong options.
import { HalfbyteError } from './errors.ts'
import { isObject } from './values.ts'

/**
 * A short text of any value, for error messages. Never throws, not even for values like `{ toString: 1 }` for
 * which `String(value)` does.
 */
export function shown(value: unknown): string {
  const text = written(value)
  return text.length <= 60 ? text : `${text.slice(0, 56)}...${text.at(-1)}`
}

function written(value: unknown): string {
  // JSON has no NaN, Infinity or bigint.
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  try {
    return JSON.stringify(typeof value === 'string' ? value.slice(0, 60) : value) ?? String(value)
  } catch {
    // The value is circular, or nested too deeply for the stack.
    return Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`
  }
}

/** `wanted` completes "must be", e.g. `a whole number from 1`. */
export function wrongOption(name: string, value: unknown, wanted: string): HalfbyteError {
  return new HalfbyteError(
    'unsupported',
    `${name} is ${shown(value)} but must be ${wanted}; change it or leave it out`,
    { name },
  )
}

/** Throws `unsupported` if `options` is no object or has a key that is none of `known`. */
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

/** Throws `unsupported` if the option is given and none of `choices`. */
export function checkChoice(name: string, value: unknown, choices: readonly string[]): void {
  if (value !== undefined && !choices.includes(value as string))
    throw wrongOption(name, value, choices.join(' or '))
}

/** The share of letters that two words have in common, in any case. A typing error changes few. */
function likeness(left: string, right: string): number {
  // A key may be as long as its caller likes.
  const [some, others] = [new Set(left.slice(0, 40).toLowerCase()), new Set(right.toLowerCase())]
  return [...some].filter((letter) => others.has(letter)).length / (some.size + others.size)
}
