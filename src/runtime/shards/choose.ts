// Choosing shards. In: a group of workers, what a step reads and how often shards meet. Out: how many, and each one's share.
import type { Arena } from '../arena.ts'
import type { EngineExports } from '../module.ts'
import type { ShardGroup } from './group.ts'
import { measureRate } from './measure.ts'

/** What is asked of a group. */
export type MeasuredGroup = Pick<ShardGroup, 'shards' | 'measure' | 'meet'>

export interface ShardMeasurement {
  readonly engine: EngineExports
  readonly arena: Arena
  readonly now: () => number
  /** Weights that a decode step of the whole model reads. */
  readonly decodeBytes: number
  /** Exchanges of a step, and values of a row that is exchanged. */
  readonly meetings: number
  readonly width: number
}

/** How long each number of workers is measured. */
const MEASURE_MS = 36
/** A worker that is slow is measured so often, and its best counts: what else the machine did is not its speed. */
const ROUNDS = 3
/** Another worker must save this share of the time to be worth its core. */
const LEAST_GAIN = 0.04
/** Workers whose speeds differ by less than this share are taken for equal: short measurements differ by themselves. */
const SAME_SPEED = 0.12

/** Speeds of `shards` workers, each while all of them work; [bytes of weights per ms]. */
export async function measureShares(
  group: MeasuredGroup,
  { engine, arena }: ShardMeasurement,
  shards: number,
): Promise<number[]> {
  let rates: number[] = []
  for (let round = 1; ; round++) {
    const others = group.measure(shards, MEASURE_MS)
    const own = measureRate(engine, arena, MEASURE_MS)
    rates = [own, ...(await others)].map((rate, shard) => Math.max(rate, rates[shard] ?? 0))
    if (round === ROUNDS || isEqual(rates)) return rates
  }
}

/** Equal shares for workers of about one speed. */
export function sharesOf(rates: readonly number[]): number[] {
  return isEqual(rates) ? rates.map(() => 1) : [...rates]
}

const isEqual = (rates: readonly number[]): boolean =>
  Math.min(...rates) >= Math.max(...rates) * (1 - SAME_SPEED)

/** The shares of the number of workers, 1 to all of the group, that is expected to decode fastest. */
export async function chooseShares(group: MeasuredGroup, measurement: ShardMeasurement): Promise<number[]> {
  const { decodeBytes, meetings, width, now } = measurement
  let best = [1]
  let bestMs = Number.POSITIVE_INFINITY
  for (let shards = 1; shards <= group.shards; shards++) {
    const rates = await measureShares(group, measurement, shards)
    const meetMs = shards === 1 ? 0 : await group.meet(shards, width, now)
    const ms = decodeBytes / rates.reduce((sum, rate) => sum + rate, 0) + meetings * meetMs
    if (ms >= bestMs * (1 - LEAST_GAIN)) continue
    best = sharesOf(rates)
    bestMs = ms
  }
  return best
}
