// Gathering state. In: a group of shards and their plans. Out: blocks of the whole model, read from and written to all of them.
import type { StateGroup } from '../graph/ir.ts'
import { blockBytes, blockRuns } from '../graph/state-layout.ts'
import type { Arena } from '../runtime/arena.ts'
import type { BlockMirror } from '../state/block-pool.ts'
import type { ShardedPlans } from './deal-weights.ts'

/** KV heads that several shards have are the same to the bit, so any of them gives its own. */
export function gatherer(
  arena: Arena,
  { group: shards, plans }: ShardedPlans,
): Pick<BlockMirror, 'wholeBytes' | 'gather' | 'scatter'> {
  /** What each shard has of a group. */
  const held = (group: number) => plans.map(({ stateGroups }) => stateGroups[group] as StateGroup)
  const wholeBytes = (plans[0]?.stateGroups ?? []).map((group) =>
    blockBytes({ ...group, kvHeads: group.held?.whole ?? group.kvHeads }),
  )
  return {
    wholeBytes,
    async gather(group, block) {
      const whole = new Uint8Array(wholeBytes[group] ?? 0)
      const owns = held(group)
      const parts = owns.map((own, shard) =>
        shard === 0
          ? arena.u8.slice(block, block + blockBytes(own))
          : shards.block(shard, { type: 'block', group, block }),
      )
      for (const [shard, part] of (await Promise.all(parts)).entries()) {
        for (const [here, there, bytes] of blockRuns(owns[shard]!))
          whole.set(part.subarray(here, here + bytes), there)
      }
      return whole
    },
    async scatter(group, block, whole) {
      const written = held(group).map(async (own, shard) => {
        const bytes = new Uint8Array(blockBytes(own))
        for (const [here, there, length] of blockRuns(own))
          bytes.set(whole.subarray(there, there + length), here)
        if (shard === 0) arena.u8.set(bytes, block)
        else await shards.block(shard, { type: 'block', group, block, bytes })
      })
      await Promise.all(written)
    },
  }
}
