// State budget. In: models that share a memory, and the bytes for all their state. Out: the models, each with
// its part.
import { HalfbyteError } from '../../base/errors.ts'
import { planTotals } from '../../graph/plan/totals.ts'
import type { PreparedModel } from './prepare.ts'

/** A model, and the one that drafts for it. */
interface Models {
  readonly prepared: PreparedModel
  readonly draft: PreparedModel | undefined
}

/**
 * Divides the bytes by the size of a position, so that a model and its draft model hold equally many
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
