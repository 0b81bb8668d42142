// Views. In: rows. Out: some of their columns or rows, where they lie; no kernel runs.
import { broken } from '../fit.ts'
import type { Value } from '../ir.ts'
import type { NodeKind } from '../node.ts'

/** Columns [start, start + width) of a value: one part of a merged linear. Costs nothing in the plan. */
export interface Slice {
  readonly op: 'slice'
  readonly input: Value
  readonly output: Value
  readonly start: number
  readonly width: number
}

export const slice: NodeKind<Slice> = {
  shape({ input, start, width }) {
    if (start >= 0 && start + width <= input.shape[1]) return [input.shape[0], width]
    throw broken(input, `is cut at [${start}, ${start + width})`)
  },
}

/** Keeps the rows whose logits are wanted. Costs nothing in the plan: the next norm gathers them. */
export interface TakeRows {
  readonly op: 'takeRows'
  readonly input: Value
  readonly output: Value
}

export const takeRows: NodeKind<TakeRows> = {
  shape({ input }) {
    if (input.shape[0] !== 'tokens') throw broken(input, 'has no token rows to take')
    return ['logitRows', input.shape[1]]
  },
}
