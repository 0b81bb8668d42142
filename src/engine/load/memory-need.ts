// Memory need. In: prepared models that share a memory. Out: the bytes with which they run, and run well.
import { BLOCK_POSITIONS } from '../../abi/constants.ts'
import { planTotals } from '../../graph/plan/totals.ts'
import type { PreparedModel } from './prepare.ts'

/**
 * Linear memory in bytes: without it nothing runs; with it a whole conversation fits; with it a second one
 * does.
 */
export interface MemoryNeed {
  readonly needBytes: number
  readonly fullBytes: number
  readonly wantBytes: number
}

/** Slabs of a conversation that is forked and edited: its own, and checkpoints to come back to. */
const SLABS = 16
/** Step descriptors, block tables, stacks, padding: small beside everything else. */
const OVERHEAD_BYTES = 8 << 20

/** Of models that share a memory. */
export function memoryNeed(...models: readonly PreparedModel[]): MemoryNeed {
  const sum = { needBytes: 0, fullBytes: 0, wantBytes: 0 }
  for (const { plan, contextLength, stateBytes = Number.POSITIVE_INFINITY } of models) {
    const { weightBytes, arenaBytes, blockBytes, slabBytes } = planTotals(plan)
    const base = weightBytes + arenaBytes + OVERHEAD_BYTES
    const block = blockBytes.reduce((all, bytes) => all + bytes, 0)
    const context = Math.ceil(contextLength / BLOCK_POSITIONS) * block
    sum.needBytes += base + block + slabBytes
    sum.fullBytes += base + Math.min(context + slabBytes, stateBytes)
    sum.wantBytes += base + Math.min(2 * context + (SLABS + 1) * slabBytes, stateBytes)
  }
  return sum
}
