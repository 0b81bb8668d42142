// The bytes that models in one memory need at least and at best, and the bytes of their state.
import { BLOCK_POSITIONS } from '../../core/abi/constants.ts'
import { HalfbyteError } from '../../core/base/errors.ts'
import { planTotals } from '../../core/graph/plan/cost.ts'
import type { PreparedModel } from './prepare.ts'

/** A model and its draft model. */
interface Models {
  readonly prepared: PreparedModel
  readonly draft: PreparedModel | undefined
}

/**
 * Divides the bytes by the size of a position, so that a model and its draft model have the same number of
 * positions. Throws `out-of-memory` if one block of each does not fit.
 */
export function withStateBudget({ prepared, draft }: Models, stateBytes: number | undefined): Models {
  if (stateBytes === undefined) return { prepared, draft }
  const least = blockOf(prepared) + (draft === undefined ? 0 : blockOf(draft))
  if (least > stateBytes) {
    throw new HalfbyteError(
      'out-of-memory',
      `stateBytes is ${stateBytes} but 64 tokens of state need ${least}; raise it or leave it out`,
      { neededBytes: least, grantedBytes: stateBytes },
    )
  }
  const part = (model: PreparedModel): PreparedModel => ({
    ...model,
    stateBytes: Math.floor((stateBytes * blockOf(model)) / least),
  })
  return { prepared: part(prepared), draft: draft && part(draft) }
}

/** Bytes of 64 positions, and of the state that does not grow with them. */
function blockOf({ plan }: PreparedModel): number {
  const { blockBytes, slabBytes } = planTotals(plan)
  return blockBytes.reduce((sum, bytes) => sum + bytes, slabBytes)
}

/**
 * Linear memory in bytes: the minimum to run, enough for a full conversation, and enough for a second one.
 */
interface MemoryNeed {
  readonly needBytes: number
  readonly fullBytes: number
  readonly wantBytes: number
}

/** Slabs of a conversation that is forked and edited: its own, plus checkpoints to restore from. */
const SLABS = 16
/** Step descriptors, block tables, stacks, padding: small compared with everything else. */
const OVERHEAD_BYTES = 8 << 20

/** Needs of models that share a memory. */
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
