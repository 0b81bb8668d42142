// Choosing shards. In: a group of workers, the bytes and exchanges of a step. Out: how many to use, and each
// one's share.
import { steadyClock } from '../../base/time/clocks.ts'
import type { Arena } from '../memory/arena.ts'
import type { EngineExports } from '../module.ts'
import type { ShardGroup } from './group.ts'
import { measureRate } from './measure.ts'

/** The methods of a group that measurements use. */
export type MeasuredGroup = Pick<ShardGroup, 'shards' | 'measure' | 'meet'>

export interface ShardMeasurement {
  readonly engine: EngineExports
  readonly arena: Arena
  readonly now: () => number
  /** Bytes of weights that a decode step of the whole model reads. */
  readonly decodeBytes: number
  /** Exchanges per step, and values in a row that is exchanged. */
  readonly meetings: number
  readonly width: number
}

/** How long each number of workers is measured, in ms. */
const MEASURE_MS = 36
/**
 * A slow worker is measured this many times, and its best result counts. Other work of the machine is not its
 * speed.
 */
const ROUNDS = 3
/** The share of the time that another worker must save to be worth its core. */
const LEAST_GAIN = 0.04
/** Workers whose speeds differ by less than this share count as equal, because short measurements vary. */
const SAME_SPEED = 0.12

/** Speeds of `shards` workers while all of them work, in bytes of weights per ms. */
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

/** Makes shares equal for workers of about the same speed. */
export function sharesOf(rates: readonly number[]): number[] {
  return isEqual(rates) ? rates.map(() => 1) : [...rates]
}

const isEqual = (rates: readonly number[]): boolean =>
  Math.min(...rates) >= Math.max(...rates) * (1 - SAME_SPEED)

/** The shares for the number of workers, from 1 to the whole group, that is expected to decode fastest. */
export async function chooseShares(group: MeasuredGroup, measurement: ShardMeasurement): Promise<number[]> {
  const { decodeBytes, meetings, width } = measurement
  const now = steadyClock(measurement.now)
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
