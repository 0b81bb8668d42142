// Counts the tiles of an op, which threads share, as the kernels divide it.
import { BLOCK_POSITIONS } from '../../../src/core/abi/constants.ts'
import { opEntry } from '../../../src/core/abi/ops.ts'
import { rowsOf, type StepShape } from '../../../src/core/graph/plan/cost.ts'
import type { PlanOp } from '../../../src/core/graph/plan/plan.ts'

/** wasm/linear/linear.h and linear-swiglu.c; wasm/core/kernel.h; wasm/attention/attention.c. */
const OUTPUTS = 32
const TOKEN_CHUNK = 35
const MANY = 16
const LEAST_TILES = 16
const COLUMN_CHUNK = 1024
const SPLIT_ROWS = 8
const SEGMENT = 4 * BLOCK_POSITIONS
const ATTENTION_ROWS = 16

/** Ops that divide long rows. */
const BY_COLUMNS: ReadonlySet<string> = new Set(['add', 'swiglu', 'quantize', 'combine', 'clamp', 'rescale'])

/**
 * At least 1. An op of a kind that is not listed here counts as one tile per row, or per head if its state
 * makes rows depend on each other.
 */
export function tilesOf({ name, fields }: PlanOp, shape: StepShape): number {
  const number = (field: string) => {
    const value = fields[field]
    return typeof value === 'number' ? value : 0
  }
  const { kind, state } = opEntry(name)
  const rows = rowsOf(number('rows'), shape)
  const chunks = Math.ceil(rows / TOKEN_CHUNK)
  if (kind === 'linear') {
    const strips = Math.ceil(number('n') / OUTPUTS)
    if (name.includes('swiglu')) {
      const pairs = Math.ceil(strips / 2)
      const each = Math.min(Math.ceil(pairs / LEAST_TILES), Math.max(1, Math.floor(TOKEN_CHUNK / rows)))
      return chunks * Math.ceil(pairs / each)
    }
    if (name === 'linear_experts') return strips * Math.min(rows, number('experts'))
    return chunks * Math.ceil(strips / (rows < MANY ? 1 : 2))
  }
  if (kind === 'attention') {
    const runs =
      rows <= SPLIT_ROWS
        ? rows * Math.round(Math.max(1, (shape.position + rows) / SEGMENT))
        : Math.ceil(rows / ATTENTION_ROWS)
    return number('kv_heads') * runs
  }
  if (BY_COLUMNS.has(name)) return rows * Math.ceil(number('n') / COLUMN_CHUNK)
  return Math.max(
    1,
    state !== undefined && number('head_dim') > 0 && name !== 'rope_kv' ? number('heads') : rows,
  )
}
