// Chooses the number of shards and the share of each, from measured speeds and the bytes of a step.

import { ABI, STEP, STEP_WORDS, SYNC_WORDS } from '../../abi/constants.ts'
import { a8Stride, floatStride, matrixBytes } from '../../abi/encodings.ts'
import { steadyClock } from '../../base/time/clocks.ts'
import type { PlanOp } from '../../graph/plan/plan.ts'
import type { Arena } from '../memory/arena.ts'
import type { EngineExports } from '../module.ts'
import { writeRecord } from '../write-plan.ts'
import type { ShardGroup } from './shard-group.ts'

/** Larger than the private caches of a core. */
const SIZE = { n: 8192, k: 1024 } as const
const WINDOWS = 3
/** Ends a measurement if the clock stands still: enough runs for a rate. */
const MAX_RUNS = 128
/** Less than any run takes, so that a coarse clock does not lead to an infinite rate. */
const LEAST_MS = 0.001

/**
 * Decodes with one matrix for about `ms`. The time is divided into three parts, and the best one counts.
 * Leaves the arena unchanged.
 */
export function measureRate(
  engine: EngineExports,
  arena: Arena,
  ms: number,
  clock: () => number = () => performance.now(),
): number {
  const now = steadyClock(clock)
  const mark = arena.mark()
  const { n, k } = SIZE
  const bytes = matrixBytes('w4_g32', n, k)
  const take = (size: number): number => arena.allocate(size, 'a measurement')
  const [w, x, y, step, sync, record] = [
    take(bytes),
    take(a8Stride(k)),
    take(floatStride(n)),
    take(STEP_WORDS * 4),
    take(SYNC_WORDS * 4),
    take(ABI.OP_BYTES),
  ] as [number, number, number, number, number, number]
  arena.u32.fill(0, sync / 4, sync / 4 + SYNC_WORDS)
  arena.u32.fill(0, step / 4, step / 4 + STEP_WORDS)
  arena.u32[step / 4 + STEP.tokens] = 1
  arena.u8.fill(0, x, y)
  const fields: PlanOp['fields'] = {
    rows: 0,
    w,
    bias: 0,
    n,
    k,
    x,
    x_stride: a8Stride(k),
    y,
    y_stride: floatStride(n),
    accumulate: 0,
  }
  writeRecord(arena, record, { name: 'linear_w4a8_g32', label: 'measure', fields }, () => 0)
  const run = (): void => void engine.run(sync, record, step, 0, 1, 0, 1)
  // Warms up: touches the memory for the first time, and lets the engine optimise the code.
  arena.u8.fill(0, w, w + bytes)
  run()
  let best = 0
  for (let window = 0; window < WINDOWS; window++) {
    const start = now()
    let runs = 0
    let spent = 0
    while (spent < ms / WINDOWS && runs < MAX_RUNS) {
      run()
      runs++
      spent = now() - start
    }
    best = Math.max(best, (runs * bytes) / Math.max(spent, LEAST_MS))
  }
  // The next user of this memory relies on its being zero.
  arena.u8.fill(0, mark, arena.mark())
  arena.reset(mark)
  return best
}

/** The methods of a group that measurements need. */
export type MeasuredGroup = Pick<ShardGroup, 'shards' | 'measure' | 'meet'>

export interface ShardMeasurement {
  readonly engine: EngineExports
  readonly arena: Arena
  readonly now: () => number
  /** Bytes of weights that a decode step of the whole model reads. */
  readonly decodeBytes: number
  /** Exchanges per step, and values per exchanged row. */
  readonly meetings: number
  readonly width: number
}

/** How long each number of workers is measured, in milliseconds. */
const MEASURE_MS = 36
/**
 * How often a slow worker is measured. Its best result counts, because other load on the machine says nothing
 * about its speed.
 */
const ROUNDS = 3
/** The share of the time that another worker must save to be worth its core. */
const LEAST_GAIN = 0.04
/** Workers whose speeds differ by less than this fraction count as equal, because short measurements vary. */
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

/** Makes the shares equal for workers of about the same speed. */
export function sharesOf(rates: readonly number[]): number[] {
  return isEqual(rates) ? rates.map(() => 1) : [...rates]
}

const isEqual = (rates: readonly number[]): boolean =>
  Math.min(...rates) >= Math.max(...rates) * (1 - SAME_SPEED)

/** The shares for the number of workers, from 1 to the whole group, with which decoding should be fastest. */
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
