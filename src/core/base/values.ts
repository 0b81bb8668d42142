// Checks untrusted values (objects, whole numbers, lists), copies values without proxies, caches values
// computed on first use, and generates unique names.

import { hex } from './sha256.ts'

/** A Map or a WeakMap. */
type Memory<Key, Value> = Pick<Map<Key, Value>, 'has' | 'get'> & { set(key: Key, value: Value): unknown }

/** Returns the map's value for the key, or creates and stores it if there is none. */
export function memo<Key, Value>(map: Memory<Key, Value>, key: Key, make: () => Value): Value {
  if (!map.has(key)) map.set(key, make())
  return map.get(key) as Value
}

/** `Map.groupBy`, which Safari before 17.4 and Node before 21 lack. */
export function groupBy<Key, Item>(items: Iterable<Item>, keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>()
  for (const item of items) memo(groups, keyOf(item), () => []).push(item)
  return groups
}

/**
 * 128 random bits as 32 hex digits. `crypto.randomUUID` exists only on secure pages, and a phone may open a
 * page over plain HTTP.
 */
export function randomId(): string {
  return hex(crypto.getRandomValues(new Uint8Array(16)))
}

/** A parsed but not yet validated object. */
export type JsonObject = { readonly [key: string]: unknown }

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0

export const areCounts = (value: unknown): value is number[] => Array.isArray(value) && value.every(isCount)

/**
 * Copies lists and plain objects, which structured cloning rejects if they are proxies (reactive state of
 * Vue, MobX and others). Other values are returned unchanged. An object that occurs twice is copied once.
 */
export function unwrap<Value>(value: Value, seen = new Map<unknown, unknown>()): Value {
  const known = seen.get(value)
  if (known) return known as Value
  const kind = (value as object | undefined)?.constructor
  if (kind !== Array && kind !== Object) return value
  // Without a prototype, so that `__proto__` is an ordinary key.
  const copy = (kind === Array ? [] : { __proto__: null }) as Record<string, unknown>
  seen.set(value, copy)
  for (const key of Object.keys(value as object)) copy[key] = unwrap((value as typeof copy)[key], seen)
  return copy as Value
}
