// Rotations of pairs of numbers within heads, shared by the evaluators of attention.
import type { Node } from '../ir/graph.ts'
import { unfit } from '../ir/operator.ts'
import { reader, type Tensor, zeros } from '../ir/tensor.ts'
import { type headsOf, headWriter } from './attention.ts'

interface Rotation {
  /** Index of the cosine and sine for a token's pair. */
  readonly place: (batch: number, row: number, pair: number) => number
  readonly cosines: Tensor
  readonly sines: Tensor
  /** Number of rotated pairs; the numbers after them are unchanged. */
  readonly pairs: number
  /** Neighbours form a pair. Otherwise the two numbers of a pair are half the rotated width apart. */
  readonly isInterleaved: boolean
}

/** An element of a head after the rotation. `at` returns the elements before the rotation. */
export function rotated(
  { place, cosines, sines, pairs, isInterleaved }: Rotation,
  at: (batch: number, head: number, row: number, dim: number) => number,
): typeof at {
  const cos = reader(cosines)
  const sin = reader(sines)
  return (b, h, r, d) => {
    if (d >= 2 * pairs) return at(b, h, r, d)
    const pair = isInterleaved ? d >> 1 : d % pairs
    const isFirst = isInterleaved ? d % 2 === 0 : d < pairs
    const other = isInterleaved ? d ^ 1 : isFirst ? d + pairs : d - pairs
    const index = place(b, r, pair)
    const own = at(b, h, r, d) * cos(index)
    const turned = at(b, h, r, other) * sin(index)
    return isFirst ? own - turned : own + turned
  }
}

/** The tables' row for a token. Throws `format` for a position outside the tables. */
export function rowOf(node: Node, positions: Tensor, rows: number): (batch: number, row: number) => number {
  const read = reader(positions)
  return (batch, row) => {
    const position = read(batch * (positions.dims[1] ?? 1) + row)
    if (position >= 0 && position < rows) return position
    throw unfit(node, `position ${position} is outside of its tables of ${rows} rows`)
  }
}

/** A tensor of `x`'s shape and type with the elements that `at` returns. */
export function written(heads: ReturnType<typeof headsOf>, x: Tensor, at: typeof heads.at): Tensor {
  const made = zeros(x.dtype, x.dims)
  const write = headWriter(heads, heads.size, made)
  for (let b = 0; b < heads.batch; b++)
    for (let h = 0; h < heads.heads; h++)
      for (let r = 0; r < heads.rows; r++)
        for (let d = 0; d < heads.size; d++) write(b, h, r, d, at(b, h, r, d))
  return made
}
