// Embedding. In: a table. Out: a row of it for each row of the step.
import { ENCODINGS, groupEncoding } from '../../abi/encodings.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { expectKind, rowsOf } from '../fit.ts'
import type { Value, WeightRef } from '../ir.ts'
import { type KernelKind, opRecord } from '../node.ts'

export interface Embed {
  readonly op: 'embed'
  readonly output: Value
  readonly table: WeightRef
  readonly scale: number
  /** What selects a row of the table: the token's id or its position. */
  readonly by: 'id' | 'position'
}

export const embed: KernelKind<Embed> = {
  shape({ table }) {
    expectKind(table, 'matrix')
    return ['tokens', table.k]
  },
  record(node, { slotOf, rowsAt }) {
    const { slot, encoding } = slotOf(node.table)
    if (encoding !== groupEncoding(encoding)) {
      const name = node.table.parts[0]?.name
      throw new HalfbyteError('unsupported', `no embedding is read from ${encoding}; convert ${name} densely`)
    }
    const vocab = rowsOf(node.table)
    const { runs: [run] = [], whole = vocab } = node.table.parts[0]?.rows ?? {}
    const table = {
      table: { slot },
      encoding: ENCODINGS[encoding].code,
      vocab,
      first: run?.first ?? 0,
      whole,
    }
    const by_position = node.by === 'position' ? 1 : 0
    const size = { n: node.table.k, scale: node.scale, by_position }
    return opRecord('embed', { ...table, ...size, ...rowsAt({ y: node.output }) })
  },
}
