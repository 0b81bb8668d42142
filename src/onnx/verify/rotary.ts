// Rotary positions, evaluated. In: heads, tables of cosines and sines, positions. Out: the heads with pairs
// of numbers rotated.
import { flagOf, intOf } from '../ir/attributes.ts'
import type { Node } from '../ir/graph.ts'
import { type Evaluation, given, unfit } from '../ir/operator.ts'
import { reader, type Tensor, zeros } from '../ir/tensor.ts'
import { headsOf, headWriter } from './attention.ts'

export interface Rotation {
  /** Index of cosine and sine for the pair of a token. */
  readonly place: (batch: number, row: number, pair: number) => number
  readonly cosines: Tensor
  readonly sines: Tensor
  /** Pairs that are rotated; the numbers after them stay. */
  readonly pairs: number
  /** Neighbours are a pair. Otherwise numbers that are half of the rotated ones apart. */
  readonly isInterleaved: boolean
}

/** The element of a head after the rotation. `at` gives one before it. */
export function rotated(
  { place, cosines, sines, pairs, isInterleaved }: Rotation,
  at: (batch: number, head: number, row: number, dim: number) => number,
): typeof at {
  const [cos, sin] = [reader(cosines), reader(sines)]
  return (b, h, r, d) => {
    if (d >= 2 * pairs) return at(b, h, r, d)
    const pair = isInterleaved ? d >> 1 : d % pairs
    const isFirst = isInterleaved ? d % 2 === 0 : d < pairs
    const other = isInterleaved ? d ^ 1 : isFirst ? d + pairs : d - pairs
    const index = place(b, r, pair)
    const [own, turned] = [at(b, h, r, d) * cos(index), at(b, h, r, other) * sin(index)]
    return isFirst ? own - turned : own + turned
  }
}

/** The row of the tables for a token. Throws `format` for a position that they do not have. */
export function rowOf(node: Node, positions: Tensor, rows: number): (batch: number, row: number) => number {
  const read = reader(positions)
  return (batch, row) => {
    const position = read(batch * (positions.dims[1] ?? 1) + row)
    if (position >= 0 && position < rows) return position
    throw unfit(node, `position ${position} is outside of its tables of ${rows} rows`)
  }
}

export function evaluateRotary(context: Evaluation): Tensor {
  const { node, inputs } = context
  const [x, cosines, sines, positions] = [given(context, 0), given(context, 1), given(context, 2), inputs[3]]
  const heads = headsOf(node, x, intOf(node, 'num_heads', undefined))
  const width = intOf(node, 'rotary_embedding_dim', 0) || heads.size
  const pairs = Math.floor(width / 2)
  const tables = positions === undefined ? [heads.batch, heads.rows, pairs] : [cosines.dims[0]!, pairs]
  if (`${cosines.dims}` !== `${tables}` || `${sines.dims}` !== `${tables}` || width > heads.size)
    throw unfit(node, `tables of shape [${cosines.dims}] and [${sines.dims}] are not [${tables}]`)
  if (positions !== undefined && `${positions.dims}` !== `${[heads.batch, heads.rows]}`)
    throw unfit(
      node,
      `positions of shape [${positions.dims}] are not of ${heads.batch} x ${heads.rows} tokens`,
    )
  const row = positions && rowOf(node, positions, cosines.dims[0]!)
  const at = rotated(
    {
      ...{ cosines, sines, pairs, isInterleaved: flagOf(node, 'interleaved') },
      place: (b, r, pair) => (row ? row(b, r) : b * heads.rows + r) * pairs + pair,
    },
    heads.at,
  )
  return written(heads, x, at)
}

/** A tensor like `x` with the elements that `at` gives. */
export function written(heads: ReturnType<typeof headsOf>, x: Tensor, at: typeof heads.at): Tensor {
  const made = zeros(x.dtype, x.dims)
  const write = headWriter(heads, heads.size, made)
  for (let b = 0; b < heads.batch; b++)
    for (let h = 0; h < heads.heads; h++)
      for (let r = 0; r < heads.rows; r++)
        for (let d = 0; d < heads.size; d++) write(b, h, r, d, at(b, h, r, d))
  return made
}
