// Model pools. In: a runtime, a model in its memory, its shards if any. Out: the pool that runs the model's
// steps.
import type { HalfbyteError } from '../../base/errors.ts'
import { probeStep, warmStep } from '../../generate/probe.ts'
import type { Host, Note } from '../../runtime/host.ts'
import { openPool, type Runtime, retuner } from '../../runtime/open.ts'
import type { AsyncPool, Pool, PoolKind } from '../../runtime/pool.ts'
import { ShardsPool } from '../../runtime/shards/pool.ts'
import { SharedPool } from '../../runtime/shared.ts'
import { SinglePool } from '../../runtime/single.ts'
import type { ShardedPlans } from './deal-weights.ts'
import type { PlacedModel } from './place-model.ts'

export interface ModelPoolOptions {
  readonly host: Host
  readonly threads: number | 'auto'
  /** Earlier measurements. */
  readonly note?: Note | undefined
  /** Called once when a thread dies, except while `auto` measures. */
  readonly onDeath: (error: HalfbyteError) => void
}

export interface ModelPool {
  /** Runs the model. */
  readonly pool: Pool | AsyncPool
  /** Runs work on this thread's memory only: moves of positions, a draft model. */
  readonly local: Pool
  readonly kind: PoolKind
  /**
   * Measures the number of threads again, or lets the next load do so. Absent if there is nothing to measure.
   * Resolves to whether there are fewer threads than before.
   */
  readonly retune?: (() => Promise<boolean>) | undefined
}

/** Throws `internal` if a requested thread cannot be started, or `out-of-memory`. */
export async function openModelPool(
  runtime: Runtime,
  { plan, written, step, cache }: PlacedModel,
  sharded: ShardedPlans | undefined,
  { host, threads, note, onDeath }: ModelPoolOptions,
): Promise<ModelPool> {
  const { engine, arena } = runtime
  if (sharded === undefined) {
    const probe = (candidate: Pool): void => probeStep(candidate, written, step, cache)
    const pool = await openPool(runtime, { host, threads, probe, note, onDeath })
    const mayChange = threads === 'auto' && pool instanceof SharedPool
    return {
      pool,
      local: pool,
      kind: pool.threads > 1 ? 'shared' : 'single',
      retune: mayChange ? retuner(pool, runtime, { host, probe, note }) : undefined,
    }
  }
  const { group } = sharded
  const pool = new ShardsPool({ engine, arena, plan, written, group, onDeath })
  await warmStep(pool, written, step, cache)
  const forget = async (): Promise<boolean> => {
    void note?.write(undefined)
    return false
  }
  return { pool, local: new SinglePool(engine, arena), kind: 'shards', retune: forget }
}
