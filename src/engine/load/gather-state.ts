// Gathering state. In: a group of shards and their plans. Out: blocks of the whole model, read from and
// written to all shards.
import type { Arena } from '../../runtime/memory/arena.ts'
import type { BlockMirror } from '../../state/block-pool.ts'
import type { ShardedPlans } from './deal-weights.ts'

/**
 * KV heads, and channels of B and C, that several shards hold are the same to the bit, so any copy will do.
 */
export function gatherer(
  arena: Arena,
  { group: shards, plans }: ShardedPlans,
): Pick<BlockMirror, 'wholeBytes' | 'gather' | 'scatter'> {
  /** The part of a group that each shard holds. */
  const held = (group: number) => plans.flatMap(({ pools }) => pools[group] ?? [])
  const wholeBytes = (plans[0]?.pools ?? []).map((pool) => pool.wholeBytes)
  return {
    wholeBytes,
    async gather(group, block) {
      const whole = new Uint8Array(wholeBytes[group] ?? 0)
      const owns = held(group)
      const parts = owns.map((own, shard) =>
        shard === 0
          ? arena.u8.slice(block, block + own.bytes)
          : shards.block(shard, { type: 'block', group, block }),
      )
      for (const [shard, part] of (await Promise.all(parts)).entries()) {
        for (const [here, there, bytes] of owns[shard]!.runs)
          whole.set(part.subarray(here, here + bytes), there)
      }
      return whole
    },
    async scatter(group, block, whole) {
      const written = held(group).map(async (own, shard) => {
        const bytes = new Uint8Array(own.bytes)
        for (const [here, there, length] of own.runs) bytes.set(whole.subarray(there, there + length), here)
        if (shard === 0) arena.u8.set(bytes, block)
        else await shards.block(shard, { type: 'block', group, block, bytes })
      })
      await Promise.all(written)
    },
  }
}
