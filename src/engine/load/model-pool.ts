// Model pools. In: a runtime, a model in its memory, its shards if there are any. Out: what runs the model's steps.
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
  /** What was measured before. */
  readonly note?: Note | undefined
  /** Called once when a thread dies, but for one that dies while `auto` measures. */
  readonly onDeath: (error: HalfbyteError) => void
}

export interface ModelPool {
  /** Runs the model. */
  readonly pool: Pool | AsyncPool
  /** Runs what concerns this thread's memory alone: moves of positions, a draft model. */
  readonly local: Pool
  readonly kind: PoolKind
  /**
   * Finds the number of threads anew, or lets the next load do so; absent where there is nothing to find. Resolves to whether
   * there are fewer than there were.
   */
  readonly retune?: (() => Promise<boolean>) | undefined
}

/** Throws `internal` when a thread that was asked for cannot be started, `out-of-memory`. */
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
