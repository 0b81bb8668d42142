// Unique items with listed values. In: cases, and the values that items allow. Out: the values as a list, and
// how many of an item's values the earlier items can use up.
import { type Case, canonical } from './cases.ts'
import type { Json } from './json-text.ts'

/**
 * The values that the cases allow, each once. Undefined if there are more than `most`, or if a case does not
 * list its values.
 */
export function listedValues(cases: readonly Case[], most: number): readonly Json[] | undefined {
  const listed = new Map<string, Json>()
  for (const one of cases) {
    if (one.type !== 'literal' && one.type !== 'boolean' && one.type !== 'null') return undefined
    const values = one.type === 'literal' ? [one.value] : one.type === 'null' ? [null] : [true, false]
    for (const value of values) listed.set(canonical(value), value)
    if (listed.size > most) return undefined
  }
  return [...listed.values()]
}

/**
 * The maximum number of `values` that the items can use if each takes a different one: the size of a maximum
 * matching, by augmenting paths. The remaining items still find other values if all items can find one: given
 * a matching that covers the values and one that covers the items, there is one that covers both.
 */
export function mostTaken(
  values: number,
  items: number,
  canTake: (value: number, item: number) => boolean,
): number {
  /** The value that each item takes. */
  const taken = new Map<number, number>()
  const finds = (value: number, seen: Set<number>): boolean => {
    for (let item = 0; item < items; item++) {
      if (seen.has(item) || !canTake(value, item)) continue
      seen.add(item)
      const other = taken.get(item)
      if (other === undefined || finds(other, seen)) {
        taken.set(item, value)
        return true
      }
    }
    return false
  }
  let count = 0
  for (let value = 0; value < values; value++) if (finds(value, new Set())) count += 1
  return count
}
