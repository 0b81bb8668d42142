// Dealing weights. In: a prepared model, the plans of all shards. Out: every shard's slots, filled slab by
// slab.

import { type Encoding, isSparse, sparseTableBytes } from '../../abi/encodings.ts'
import { weightOf } from '../../arch/tensors/names.ts'
import type { Plan, WeightSlot } from '../../graph/plan/plan.ts'
import type { Arena, Ptr } from '../../runtime/memory/arena.ts'
import type { ShardGroup } from '../../runtime/shards/group.ts'
import { type Deal, type DealOptions, dealMatrix, dealVector } from '../../weights/deal.ts'
import { WeightSample } from './fingerprint.ts'
import type { WeightHooks } from './load-weights.ts'
import type { PreparedModel } from './prepare.ts'

/** A group of shards with their plans; the first shard is this thread's. */
export interface ShardedPlans {
  readonly group: ShardGroup
  readonly plans: readonly Plan[]
}

/**
 * Reads every tensor once and sends the other shards their parts by message. The shards already have their
 * plans. Returns the addresses of the first shard's slots and a sample of each complete slot. Throws what
 * `loadWeights` throws.
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
