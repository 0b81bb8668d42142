// Fingerprint. In: a plan and its weights in linear memory. Out: a hash by which saved state knows its own model again.
import type { ModelConfig } from '../arch/config.ts'
import { sha256 } from '../base/sha256.ts'
import type { Plan } from '../graph/plan.ts'
import type { Arena, Ptr } from '../runtime/arena.ts'

/** Bytes looked at in each weight: what was trained on differs everywhere. */
const SAMPLE_BYTES = 4096

/**
 * SHA-256 over what the model is, how its weights and state are stored, and a piece from the middle of every weight. The
 * same for all builds and threads, whose state is the same too.
 */
export async function modelFingerprint(
  arena: Arena,
  config: ModelConfig,
  { slots, stateGroups, slabBytes }: Plan,
  addresses: readonly Ptr[],
): Promise<string> {
  const form = new TextEncoder().encode(JSON.stringify({ config, slots, stateGroups, slabBytes }))
  const pieces = [form]
  for (const [index, { bytes }] of slots.entries()) {
    const length = Math.min(bytes, SAMPLE_BYTES)
    const start = addresses[index]! + Math.floor((bytes - length) / 2)
    pieces.push(arena.u8.slice(start, start + length))
  }
  const all = new Uint8Array(pieces.reduce((sum, { byteLength }) => sum + byteLength, 0))
  let at = 0
  for (const piece of pieces) {
    all.set(piece, at)
    at += piece.byteLength
  }
  return sha256(all)
}
