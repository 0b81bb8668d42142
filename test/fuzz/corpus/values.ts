// Values of past findings. They broke readers of several formats.

/** No code can convert it to a text or a number. */
export const TRAP = { toString: 1 } as const

export const nestedLists = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

/** A schema with that many levels. */
export const nestedSchema = (levels: number): string =>
  '{"type":"array","items":'.repeat(levels) + '{}' + '}'.repeat(levels)
