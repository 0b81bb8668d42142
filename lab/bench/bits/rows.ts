// The rows of a measurement of fewer bits: parsing, and the format of each matrix.
import { CODES, type GridFormat, groupCount } from '../../../src/tools/shrink/codes/coded-matrix.ts'

export interface Row {
  readonly name: string
  readonly method: 'round' | 'solve'
  readonly format: GridFormat
  /** The format of the products that lose most for their size, up to half of the weights. */
  readonly better?: GridFormat | undefined
}

/** `solve:w3_g64`, or `solve:w3_g64+w4_g64`. Throws an Error for anything else. */
export function parseRow(name: string): Row {
  const [, method, format = '', better] = /^(round|solve):(\w+)(?:\+(\w+))?$/.exec(name) ?? []
  const formats = [format, ...(better === undefined ? [] : [better])]
  if (method === undefined || formats.some((each) => !Object.hasOwn(CODES, each))) {
    throw new Error(`${name} is not a row; use one like round:w4_g32, solve:w3_g64 or solve:w3_g64+w4_g64`)
  }
  return {
    name,
    method: method as Row['method'],
    format: format as GridFormat,
    better: better as GridFormat | undefined,
  }
}

/** Bits of a row of k weights, scales in f16 included. */
export function bitsOf(format: GridFormat, k: number): number {
  const { most } = CODES[format]
  return Math.ceil(Math.log2(most + 1)) * k + 16 * (format === 'w4m_g32' ? 2 : 1) * groupCount(format, k)
}

interface SensitiveProduct {
  readonly parts: readonly string[]
  readonly weights: number
  /** Error of its products relative to their energy. */
  readonly loss: number
}

/** The matrices that lose most for their size: whole products, up to half of all weights. */
export function sensitiveHalf(products: readonly SensitiveProduct[]): ReadonlySet<string> {
  let left = products.reduce((sum, { weights }) => sum + weights, 0) / 2
  const chosen = new Set<string>()
  for (const { parts, weights } of products.toSorted((a, b) => b.loss / b.weights - a.loss / a.weights)) {
    if (weights > left) continue
    left -= weights
    for (const name of parts) chosen.add(name)
  }
  return chosen
}
