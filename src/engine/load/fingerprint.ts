// Fingerprint. In: a plan and pieces of its weights. Out: a hash that ties saved state to its model.

import { isSparse, sparseTableBytes } from '../../abi/encodings.ts'
import type { ModelConfig } from '../../arch/config/config.ts'
import { storedConfig } from '../../arch/config/config-hbm.ts'
import { sha256 } from '../../base/sha256.ts'
import type { Plan, WeightSlot } from '../../graph/plan/plan.ts'

/** Bytes sampled from each weight. Training changes all of a weight, so any piece tells two models apart. */
const SAMPLE_BYTES = 1024

/** A piece from the middle of a weight's slot; for a sparse weight, after its table. */
export class WeightSample {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly #start: number

  constructor({ bytes, encoding, n }: WeightSlot) {
    const table = isSparse(encoding) ? sparseTableBytes(n) : 0
    this.bytes = new Uint8Array(Math.min(bytes - table, SAMPLE_BYTES))
    this.#start = table + Math.floor((bytes - table - this.bytes.length) / 2)
  }

  /** Takes what it needs from the bytes at `offset` of the slot. */
  see(offset: number, bytes: Uint8Array): void {
    const at = offset - this.#start
    const part = bytes.subarray(Math.max(0, -at), Math.max(0, this.bytes.length - at))
    if (part.length > 0) this.bytes.set(part, Math.max(0, at))
  }
}

/**
 * SHA-256 of the model's description, of how its weights and state are stored, and of a piece from the middle
 * of every weight. It covers the whole model, even if it lies in several memories. All builds, pools and
 * thread counts give the same hash, because their state is the same too.
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
