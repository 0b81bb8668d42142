// Memos. In: a map, a key and a function that makes a value. Out: the value, made at first use.

/** A Map or a WeakMap. */
type Memory<Key, Value> = Pick<Map<Key, Value>, 'has' | 'get'> & { set(key: Key, value: Value): unknown }

/** Returns the map's value for the key; makes and stores it when there is none. */
export function memo<Key, Value>(map: Memory<Key, Value>, key: Key, make: () => Value): Value {
  if (!map.has(key)) map.set(key, make())
  return map.get(key) as Value
}

/** Like `memo`, but keeps at most `most` values and drops the least recently used one. */
export function recentMemo<Key, Value>(
  map: Map<Key, Value>,
  key: Key,
  most: number,
  make: () => Value,
): Value {
  const value = memo(map, key, make)
  map.delete(key)
  map.set(key, value)
  if (map.size > most) map.delete(map.keys().next().value as Key)
  return value
}
