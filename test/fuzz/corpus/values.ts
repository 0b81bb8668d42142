// Values of past findings, which broke readers of several formats.

/** An object that cannot be converted to a string or a number. */
export const TRAP = { toString: 1 } as const

export const nestedLists = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

/** A schema with this many levels. */
export const nestedSchema = (levels: number): string =>
  '{"type":"array","items":'.repeat(levels) + '{}' + '}'.repeat(levels)
