// Starts the threads or shards that run a placed model.
import type { HalfbyteError } from '../../core/base/errors.ts'
import { probeStep, warmStep } from '../../core/generate/probe-step.ts'
import type { Host, Note } from '../../core/runtime/host.ts'
import { type EarlyThreads, openPool, type Runtime, retuner } from '../../core/runtime/open-runtime.ts'
import { type AsyncPool, type Pool, type PoolKind, SinglePool } from '../../core/runtime/pool.ts'
import { ShardsPool } from '../../core/runtime/shards/shards-pool.ts'
import { SharedPool } from '../../core/runtime/shared.ts'
import type { ShardedPlans } from './load-weights.ts'
import type { PlacedModel } from './place-model.ts'

interface ModelPoolOptions {
  readonly host: Host
  readonly threads: number | 'auto'
  /** Earlier measurements. */
  readonly note?: Note | undefined
  /** Called once when a thread dies, except while `auto` measures. */
  readonly onDeath: (error: HalfbyteError) => void
  /** Threads that have been started before. */
  readonly early?: EarlyThreads | undefined
}

export interface ModelPool {
  /** Runs the model. */
  readonly pool: Pool | AsyncPool
  /** Runs work that only needs this thread's memory: moving positions, or a draft model. */
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
  { host, threads, note, onDeath, early }: ModelPoolOptions,
): Promise<ModelPool> {
  const { engine, arena } = runtime
  if (sharded === undefined) {
    const probe = (candidate: Pool): void => probeStep(candidate, written, step, cache)
    const pool = await openPool(runtime, { host, threads, probe, note, onDeath, early })
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
