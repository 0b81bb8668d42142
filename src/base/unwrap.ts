// Unwrapping. In: a value that may be, or contain, proxies. Out: the same lists and plain objects without
// them.

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
