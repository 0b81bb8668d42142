// Memos. In: a map, a key and how a value is made. Out: the value, made when it is first asked for.

/** The map's value for the key; makes and keeps it when there is none. */
export function memo<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  if (!map.has(key)) map.set(key, make())
  return map.get(key) as Value
}

/** The same; of more than `most` values the one that was asked for longest ago is given up. */
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
