// Exchanges. In: rows that one shard made. Out: rows of all shards, summed or side by side.
import { expectSame, expectWidth } from '../fit.ts'
import type { Value } from '../ir.ts'
import type { NodeKind } from '../node.ts'

/**
 * Sums what all shards made of `input`, in shard order, onto the residual, which is overwritten. Every shard
 * gets the same bits. Without a residual, the input is overwritten.
 */
export interface Exchange {
  readonly op: 'exchange'
  readonly input: Value
  readonly residual?: Value | undefined
  readonly shard: number
  readonly shards: number
  readonly output: Value
}

export const exchange: NodeKind<Exchange> = {
  shape({ input, residual }) {
    if (residual !== undefined) expectSame(input, residual)
    return input.shape
  },
}

/**
 * Puts the columns that each shard made side by side on the first shard. The other shards only send theirs.
 */
export interface Collect {
  readonly op: 'collect'
  readonly input: Value
  readonly shard: number
  /** How many columns each shard made. */
  readonly widths: readonly number[]
  readonly output: Value
}

export const collect: NodeKind<Collect> = {
  shape({ input, widths, shard }) {
    const own = widths[shard] ?? 0
    expectWidth(input, own, `the columns of shard ${shard}`)
    return [input.shape[0], shard === 0 ? widths.reduce((sum, width) => sum + width, 0) : own]
  },
}
