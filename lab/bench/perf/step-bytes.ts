// Counts the bytes of a GGUF file that one decode step of Halfbyte must read at a position.
import { openAsBlob } from 'node:fs'
import { openModel } from '../../../src/core/arch/open-model.ts'
import { blobSource } from '../../../src/core/base/bytes.ts'
import { planCosts } from '../../../src/core/graph/plan/cost.ts'
import { prepareModel } from '../../../src/engine/load/prepare.ts'
import { CONTEXT } from './engines.ts'

/** Weights and state; activations stay in the caches. */
export async function stepBytesOf(gguf: URL): Promise<(position: number) => number> {
  const file = await openModel([blobSource(gguf.pathname, await openAsBlob(gguf))])
  const { plan } = await prepareModel(file, { weights: 'auto', contextLength: CONTEXT })
  return (position) =>
    planCosts(plan, { tokens: 1, logitRows: 1, position }).reduce(
      (sum, { weightBytes, stateBytes }) => sum + weightBytes + stateBytes,
      0,
    )
}
