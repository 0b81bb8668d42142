// Values from outside. In: a value of any type. Out: whether it is an object, a whole number from 0, or a
// list
// of such numbers.

/** Parsed and not yet looked at. */
export type JsonObject = { readonly [key: string]: unknown }

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0

export const areCounts = (value: unknown): value is number[] => Array.isArray(value) && value.every(isCount)
