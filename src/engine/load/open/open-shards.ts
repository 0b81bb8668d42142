// Starts the shard workers with their plans, or explains why there are none.
import { type EngineNote, PLAIN_NOTES } from '../../../core/base/engine-notes.ts'
import { type HalfbyteError, isHalfbyteError } from '../../../core/base/errors.ts'
import { planTotals } from '../../../core/graph/plan/cost.ts'
import type { Plan } from '../../../core/graph/plan/plan.ts'
import type { Host, Note } from '../../../core/runtime/host.ts'
import type { Runtime } from '../../../core/runtime/open-runtime.ts'
import { chooseShares, type ShardMeasurement } from '../../../core/runtime/shards/choose-shards.ts'
import { ShardGroup } from '../../../core/runtime/shards/shard-group.ts'
import type { ShardedPlans } from '../load-weights.ts'
import type { PreparedModel } from '../prepare.ts'

export interface ShardOptions {
  readonly host: Host
  readonly threads: number | 'auto'
  /** The share of each shard, above 0. Default: measured with `auto`, otherwise equal. */
  readonly shares?: readonly number[] | undefined
  /** Shares from an earlier measurement. */
  readonly note?: Note | undefined
}

/**
 * Shards, with a note if they are fewer than requested; or a note that says why one thread does all the
 * work.
 */
export type Shards =
  | { readonly sharded: ShardedPlans; readonly note: EngineNote | undefined }
  | { readonly sharded?: undefined; readonly note: EngineNote }

/**
 * With `auto`, it starts as many workers as may help, measures them, and keeps those that do; a worker that
 * fails to start only costs speed. With a given number, workers get equal parts, so that sums, and therefore
 * tokens, are the same in every load. Throws `internal` if one of these cannot be started, or
 * `out-of-memory`.
 */
export async function openShards(
  prepared: PreparedModel,
  { engine, arena, module, maxShards }: Runtime,
  { host, threads, shares, note }: ShardOptions,
): Promise<Shards> {
  const { most, why } = mostShards(prepared, maxShards)
  if (most === 1 || host.startWorker === undefined) return { note: why ?? PLAIN_NOTES['no-workers'] }
  let group: ShardGroup | undefined
  try {
    let known =
      shares?.slice(0, most) ??
      (threads === 'auto' ? knownShares(await note?.read(), most) : Array<number>(most).fill(1))
    if (known?.length !== 1) {
      group = await ShardGroup.start(known?.length ?? most, {
        module,
        startWorker: host.startWorker.bind(host),
      })
      if (known === undefined) {
        known = await chooseShares(
          group,
          measurementOf(prepared, most, { engine, arena, now: () => host.now() }),
        )
        note?.write(known)
        group.keep(known.length)
      }
    }
    if (group === undefined || known.length === 1) {
      return { note: PLAIN_NOTES['one-thread'] }
    }
    const cut = known
    const plans = cut.map((_, shard) => prepared.shardPlan(cut, shard))
    return { sharded: { group, plans }, note: threads === 'auto' ? undefined : why }
  } catch (error) {
    group?.dispose()
    if (threads !== 'auto' || !isHalfbyteError(error) || error.code !== 'internal') throw error
    const { message } = error
    return { note: { code: 'failed-shards', text: message, values: { reason: message } } }
  }
}

/** Stored shares, if they are valid for at most this many shards. The stored value is not trusted. */
function knownShares(value: unknown, most: number): readonly number[] | undefined {
  const isShare = (share: unknown) =>
    typeof share === 'number' && share > 0 && share < Number.POSITIVE_INFINITY
  const areShares = Array.isArray(value) && value.length > 0 && value.length <= most && value.every(isShare)
  return areShares ? value : undefined
}

function measurementOf(
  prepared: PreparedModel,
  shards: number,
  machine: Pick<ShardMeasurement, 'engine' | 'arena' | 'now'>,
): ShardMeasurement {
  const { exchanges } = prepared.shardPlan(Array(shards).fill(1), 0)
  const { decodeBytes } = planTotals(prepared.plan)
  return { ...machine, decodeBytes, meetings: exchanges.length, width: exchanges[0]?.own.width ?? 1 }
}

/** The maximum number of shards, up to `limit`, that the model can be split into, and what prevents more. */
function mostShards(prepared: PreparedModel, limit: number): { most: number; why: EngineNote | undefined } {
  let why: EngineNote | undefined
  for (let most = limit; most > 1; most--) {
    const plan = tryPlan(prepared, most)
    if (!isHalfbyteError(plan)) return { most, why }
    const { message } = plan
    why = { code: 'uncut-model', text: message, values: { reason: message } }
  }
  return { most: 1, why }
}

function tryPlan(prepared: PreparedModel, shards: number): Plan | HalfbyteError {
  try {
    return prepared.shardPlan(Array(shards).fill(1), 0)
  } catch (error) {
    if (isHalfbyteError(error) && error.code === 'unsupported') return error
    throw error
  }
}
