// Groups of a scale. In: a group's weights, its corner of the factor, a grid. Out: its codes on that grid,
// and what they cost.

import { GROUP_SIZE } from '../../abi/encodings.ts'
import { CODES, type Format } from '../codes/coded-matrix.ts'
import { type Grid, setGrid } from './grid.ts'

/** What solving one group reads and makes, close together: it is done many times. */
export interface Group {
  /** Rows and columns of C that belong to the group, [GROUP_SIZE][GROUP_SIZE]. */
  readonly corner: Float64Array
  readonly weights: Float64Array
  readonly sums: Float64Array
  readonly errors: Float64Array
  readonly codes: Uint8Array
}

export const newGroup = (): Group => ({
  corner: new Float64Array(GROUP_SIZE * GROUP_SIZE),
  weights: new Float64Array(GROUP_SIZE),
  sums: new Float64Array(GROUP_SIZE),
  errors: new Float64Array(GROUP_SIZE),
  codes: new Uint8Array(GROUP_SIZE),
})

// hot
/** Chooses the codes of a group on a grid and returns its loss. */
export function solveGroup(
  { corner, weights, sums, errors, codes }: Group,
  count: number,
  format: Format,
  grid: Grid,
): number {
  const { least, most, zero } = CODES[format]
  const { scale, minimum, inverse } = grid
  let loss = 0
  for (let j = 0; j < count; j++) {
    const at = j * GROUP_SIZE
    let sum = sums[j]!
    for (let i = 0; i < j; i++) sum += errors[i]! * corner[at + i]!
    const root = corner[at + j]!
    const weight = weights[j]!
    let code = Math.floor((weight + sum / root - minimum) * inverse + (zero + 0.5))
    code = code > most ? most : code < least ? least : code
    codes[j] = code
    const error = weight - (scale * (code - zero) + minimum)
    errors[j] = error
    sum += error * root
    loss += sum * sum
  }
  return loss
}

/** Stretches about zero, or about the middle of the codes. False where that is the same grid or none. */
export function stretchGrid(
  format: Format,
  grid: Grid,
  scale: number,
  minimum: number,
  stretch: number,
): boolean {
  if (scale === 0 || format === 'w8_g32') return false
  if (format !== 'w4m_g32') setGrid(grid, scale * stretch, 0)
  else if (stretch < 0) return false
  else setGrid(grid, scale * stretch, minimum + 7.5 * scale * (1 - stretch))
  return true
}
