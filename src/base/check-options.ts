// Checks of options. In: an object that a caller passed, the names of its options. Out: nothing, or an error
// that says what is wrong with it.
import { HalfbyteError } from './errors.ts'
import { wrongOption } from './options.ts'
import { isObject } from './values.ts'

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
