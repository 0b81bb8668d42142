// Fills every weight slot slab by slab, on all shards, and computes the fingerprint that ties saved state to
// these weights.

import { type Encoding, isSparse, roundUp, sparseTableBytes } from '../../core/abi/encodings.ts'
import type { ModelConfig } from '../../core/arch/config/config.ts'
import { storedConfig } from '../../core/arch/config/config-hbm.ts'
import { weightOf } from '../../core/arch/tensors/names.ts'
import { sha256 } from '../../core/base/sha256.ts'
import type { TensorInfo } from '../../core/formats/tensors.ts'
import { FP8_CODES } from '../../core/graph/plan/layouts.ts'
import type { Plan, WeightSlot } from '../../core/graph/plan/plan.ts'
import { ALIGNMENT, type Arena, offset, type Ptr } from '../../core/runtime/memory/arena.ts'
import { type MoverOptions, openMover } from '../../core/runtime/row-mover.ts'
import type { ShardGroup } from '../../core/runtime/shards/shard-group.ts'
import { type Deal, type DealOptions, dealMatrix, dealVector } from '../../core/weights/deal.ts'
import type { StreamOptions } from '../../core/weights/part.ts'
import { streamMatrix, streamVector } from '../../core/weights/stream-weights.ts'
import type { StoredPlacing } from './place-stored.ts'
import type { PreparedModel } from './prepare.ts'

/**
 * Bytes sampled from each weight. Training changes every part of a weight, so any sample distinguishes two
 * models.
 */
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

  /** Samples the bytes at `offset` of the slot. */
  see(offset: number, bytes: Uint8Array): void {
    const at = offset - this.#start
    const part = bytes.subarray(Math.max(0, -at), Math.max(0, this.bytes.length - at))
    if (part.length > 0) this.bytes.set(part, Math.max(0, at))
  }
}

/**
 * SHA-256 of the model's description, of how its weights and state are stored, and of a piece from the middle
 * of every weight. It covers the whole model, even if it is spread over several memories. All builds, pools
 * and thread counts have the same hash, because their state is the same too.
 */
export async function modelFingerprint(
  config: ModelConfig,
  { slots, stateGroups, slabBytes }: Plan,
  samples: readonly WeightSample[] = [],
): Promise<string> {
  const hasFp8 = stateGroups.some(({ format }) => format.v === 'fp8')
  const fp8 = hasFp8 ? { fp8: FP8_CODES } : {}
  const form = JSON.stringify({ config: storedConfig(config), slots, stateGroups, slabBytes, ...fp8 })
  const all = new Blob([form, ...samples.map(({ bytes }) => bytes)])
  return sha256(new Uint8Array(await all.arrayBuffer()))
}

/** A group of shards with their plans; the first shard is this thread's. */
export interface ShardedPlans {
  readonly group: ShardGroup
  readonly plans: readonly Plan[]
}

/**
 * Reads every tensor once and sends the other shards their parts by message. The shards already have their
 * plans. Returns the addresses of the first shard's slots and a sample of each complete slot. Throws the same
 * errors as `loadWeights`.
 */
export async function dealWeights(
  arena: Arena,
  prepared: PreparedModel,
  { group, plans }: ShardedPlans,
  hooks: WeightHooks = {},
): Promise<{ readonly addresses: Ptr[]; readonly samples: WeightSample[] }> {
  const samples = prepared.plan.slots.map((slot) => new WeightSample(slot))
  const slots = plans[0]?.slots ?? []
  const addresses = slots.map(({ bytes }) => arena.allocate(bytes, 'the weights'))
  for (const [index, slot] of slots.entries()) {
    const held = plans.map((plan) => (plan.slots[index] as WeightSlot).ref)
    const parts = slot.ref.parts.map(({ name, n, rows }) => ({
      tensor: weightOf(prepared.weights, name),
      n: rows?.whole ?? n,
    }))
    const deal: Deal = (shard, offset, bytes) => {
      if (shard === 0) arena.u8.set(bytes, (addresses[index] as Ptr) + offset)
      return shard === 0 ? undefined : group.fill(shard, index, offset, bytes)
    }
    const whole = prepared.plan.slots[index]
    let at = whole !== undefined && isSparse(whole.encoding) ? sparseTableBytes(whole.n) : 0
    const onPacked: DealOptions['onPacked'] = (offset, bytes, strips) => {
      if (at === 0) samples[index]?.see(offset, bytes)
      else if (strips !== undefined) {
        samples[index]?.see(at, strips)
        at += strips.length
      }
    }
    const options = { ...hooks, onPacked }
    const k = slot.ref.columns?.whole ?? slot.ref.k
    if (slot.ref.kind === 'vector') await dealVector(parts, held, deal, options)
    else await dealMatrix(parts, k, slot.encoding as Encoding, held, deal, options)
    await hooks.yieldTask?.()
    hooks.signal?.throwIfAborted()
    hooks.onWeight?.(index + 1, slots.length)
  }
  return { addresses, samples }
}

export interface WeightHooks {
  readonly signal?: AbortSignal | undefined
  /** Number of weights in memory so far, and their total. */
  readonly onWeight?: ((done: number, total: number) => void) | undefined
  /**
   * Starts a new task. Stored files are read synchronously, so without it a long load would not answer
   * messages and count as dead.
   */
  readonly yieldTask?: (() => Promise<void>) | undefined
  /** What moves rows as they are read. Default: nothing, so they are packed one slab after the other. */
  readonly helpers?: WeightHelpers | undefined
}

interface WeightHelpers extends Pick<MoverOptions, 'engine' | 'pool'> {
  /** What all threads already place, if the weights are in files on this device. */
  readonly placing?: StoredPlacing | undefined
  /** Whether one of the threads has died. Default: there are none. */
  readonly hasDied?: (() => boolean) | undefined
}

/** Allocates the slots. Throws `out-of-memory`. */
export function reserveWeights(arena: Arena, { slots }: Pick<Plan, 'slots'>): Ptr[] {
  // In one piece: memory that grows in many steps is slower to touch for the first time.
  const sizes = slots.map(({ bytes }) => roundUp(bytes, ALIGNMENT))
  let end = arena.allocate(
    sizes.reduce((sum, bytes) => sum + bytes, 0),
    'the weights',
  )
  return sizes.map((bytes) => {
    const address = end
    end = offset(end, bytes)
    return address
  })
}

/**
 * Fills the reserved slots, by default new ones. Throws `out-of-memory` before reading anything,
 * `architecture` if a tensor has the wrong shape, and read errors.
 */
export async function loadWeights(
  arena: Arena,
  prepared: PreparedModel,
  hooks: WeightHooks = {},
  reserved?: readonly Ptr[],
): Promise<readonly Ptr[]> {
  const { slots } = prepared.plan
  const addresses = reserved ?? reserveWeights(arena, prepared.plan)
  const { helpers, yieldTask, signal } = hooks
  let most = 0
  const onWeight = (done: number): void => {
    // Weights may have to be read again.
    most = Math.max(most, done)
    hooks.onWeight?.(most, slots.length)
  }
  /** `tensorOf`: the tensor to read in place of a stored one. */
  const fill = async (
    index: number,
    options: StreamOptions,
    tensorOf: (tensor: TensorInfo) => TensorInfo = (tensor) => tensor,
  ): Promise<void> => {
    const slot = slots[index] as WeightSlot
    const address = addresses[index] as Ptr
    const view = () => arena.u8.subarray(address, address + slot.bytes)
    const parts = slot.ref.parts.map(({ name, n }) => ({
      tensor: tensorOf(weightOf(prepared.weights, name)),
      n,
    }))
    if (slot.ref.kind === 'vector') await streamVector(parts, view, options)
    else await streamMatrix(parts, slot.ref.k, slot.encoding, view, options)
  }
  if (helpers?.placing !== undefined && yieldTask !== undefined) {
    const { placing, hasDied = () => false } = helpers
    const isPlaced = await placing.finish({
      signal,
      yieldTask,
      hasDied,
      fill: (index, tensorOf) => fill(index, { signal }, tensorOf),
      onShare: (share) => onWeight(Math.floor(share * (slots.length - 1))),
    })
    if (isPlaced) {
      onWeight(slots.length)
      return addresses
    }
  }
  const mover = helpers && yieldTask && openMover({ arena, ...helpers, yieldTask })
  for (const index of slots.keys()) {
    await fill(index, { ...hooks, mover })
    await yieldTask?.()
    signal?.throwIfAborted()
    onWeight(index + 1)
  }
  mover?.settle()
  mover?.close()
  return addresses
}
