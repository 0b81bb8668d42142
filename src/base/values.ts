// Values from outside. In: a value of any type. Out: whether it is an object, a whole number from 0, or a
// list of such numbers; a copy without proxies.

/** Parsed and not yet looked at. */
export type JsonObject = { readonly [key: string]: unknown }

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0

export const areCounts = (value: unknown): value is number[] => Array.isArray(value) && value.every(isCount)

/**
 * Copies lists and plain objects, which structured cloning refuses when they are proxies (reactive state of
 * Vue, MobX and others). Everything else is the same value as before. What occurs twice is copied once.
 */
export function unwrap<Value>(value: Value, seen = new Map<unknown, unknown>()): Value {
  const known = seen.get(value)
  if (known) return known as Value
  const kind = (value as object | undefined)?.constructor
  if (kind !== Array && kind !== Object) return value
  // Without a prototype, so that the key `__proto__` is a key like others.
  const copy = (kind === Array ? [] : { __proto__: null }) as Record<string, unknown>
  seen.set(value, copy)
  for (const key of Object.keys(value as object)) copy[key] = unwrap((value as typeof copy)[key], seen)
  return copy as Value
}
