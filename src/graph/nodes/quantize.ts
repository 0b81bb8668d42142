// Quantisation. In: f32 rows. Out: a8 rows.
import { expectForm } from '../fit.ts'
import type { Value, WeightRef } from '../ir.ts'
import { type KernelKind, opRecord } from '../node.ts'

/**
 * Converts f32 rows to a8 rows. Used where the producer cannot write a8 rows, and where the readers have
 * their inputs in another order or need the same scale in all groups.
 */
export interface Quantize {
  readonly op: 'quantize'
  readonly input: Value
  readonly output: Value
  readonly order?: WeightRef | undefined
  readonly whole?: boolean
}

export const quantize: KernelKind<Quantize> = {
  shape({ input }) {
    expectForm(input, 'f32')
    return input.shape
  },
  record({ input, output, order, whole }, { rowsAt, slotsOf }) {
    return opRecord('quantize', {
      ...rowsAt({ x: input, q: output }),
      ...slotsOf({ order }),
      n: input.shape[1],
      whole: whole ? 1 : 0,
    })
  },
}
