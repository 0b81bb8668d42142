// Counts. In: an untrusted value. Out: whether it is a whole number from 0, or a list of such numbers.

export const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0

export const areCounts = (value: unknown): value is number[] => Array.isArray(value) && value.every(isCount)
