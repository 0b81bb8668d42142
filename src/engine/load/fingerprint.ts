// Fingerprint. In: a plan and pieces of its weights. Out: a hash by which saved state knows its own model again.

import { isSparse, sparseTableBytes } from '../../abi/encodings.ts'
import type { ModelConfig } from '../../arch/config/config.ts'
import { storedConfig } from '../../arch/config/config-hbm.ts'
import { sha256 } from '../../base/sha256.ts'
import type { Plan, WeightSlot } from '../../graph/plan/plan.ts'

/** Bytes looked at in each weight: what was trained on differs everywhere. */
const SAMPLE_BYTES = 1024

/** A piece from the middle of a weight's slot, behind the table of a sparse one. */
export class WeightSample {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly #start: number

  constructor({ bytes, encoding, n }: WeightSlot) {
    const table = isSparse(encoding) ? sparseTableBytes(n) : 0
    this.bytes = new Uint8Array(Math.min(bytes - table, SAMPLE_BYTES))
    this.#start = table + Math.floor((bytes - table - this.bytes.length) / 2)
  }

  /** Takes what it needs of the bytes that lie at `offset` of the slot. */
  see(offset: number, bytes: Uint8Array): void {
    const at = offset - this.#start
    const part = bytes.subarray(Math.max(0, -at), Math.max(0, this.bytes.length - at))
    if (part.length > 0) this.bytes.set(part, Math.max(0, at))
  }
}

/**
 * SHA-256 over what the model is, how its weights and state are stored, and a piece from the middle of every weight: of the
 * whole model, also where it lies in several memories. The same for all builds, pools and threads, whose state is the same too.
 */
export async function modelFingerprint(
  config: ModelConfig,
  { slots, stateGroups, slabBytes }: Plan,
  samples: readonly WeightSample[] = [],
): Promise<string> {
  const form = JSON.stringify({ config: storedConfig(config), slots, stateGroups, slabBytes })
  const all = new Blob([form, ...samples.map(({ bytes }) => bytes)])
  return sha256(new Uint8Array(await all.arrayBuffer()))
}
