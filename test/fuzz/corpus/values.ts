// Values of past findings. What broke readers of several formats.

/** No code can make a text or a number of it. */
export const TRAP = { toString: 1 } as const

export const nestedLists = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

/** A schema of as many levels. */
export const nestedSchema = (levels: number): string =>
  '{"type":"array","items":'.repeat(levels) + '{}' + '}'.repeat(levels)
