// Measures bandwidths, compute peaks and the cost of waiting, with their spread.
import { isHalfbyteError } from '../../../src/core/base/errors.ts'
import type { Build } from '../../../src/core/runtime/features.ts'
import type { Host } from '../../../src/core/runtime/host.ts'
import { type Arena, offset, type Ptr } from '../../../src/core/runtime/memory/arena.ts'
import { openRuntime, type Runtime } from '../../../src/core/runtime/open-runtime.ts'
import { type Pool, SinglePool } from '../../../src/core/runtime/pool.ts'
import { SharedPool } from '../../../src/core/runtime/shared.ts'
import { type Spread, spread } from '../spread.ts'
import {
  expectedSum,
  LIMIT,
  LIMIT_CODE,
  LIMIT_WORDS,
  PEAK_OPS,
  PEAKS,
  type Peak,
  RESULT_WORDS,
  SLICE_BYTES,
} from './kernels.ts'
import { callsFor, type Sampling, timeOf } from './sample.ts'

export interface LimitOptions extends Sampling {
  readonly build: Build
  /** Thread counts; those above 1 are skipped if memory cannot be shared. */
  readonly threads: readonly number[]
  /** Working sets in bytes, ascending; those that cannot be allocated are skipped. */
  readonly sets: readonly number[]
  /** Whether the cost of waiting is measured too. Default true. */
  readonly waits?: boolean
}

interface ReadLimit {
  readonly streams: 1 | 8
  readonly threads: number
  readonly bytes: number
  readonly gigabytesPerSecond: Spread
}
interface PeakLimit {
  readonly peak: Peak
  readonly threads: number
  readonly gigaopsPerSecond: Spread
}
/** Waiting, for two threads and more. */
interface WaitLimit {
  readonly threads: number
  /** Microseconds of an op without work: claiming a tile, and the barrier. */
  readonly barrierUs: Spread
  /** Microseconds to run one such op while the workers spin, including the call from JavaScript. */
  readonly runUs: Spread
  /** The same after the workers have gone to sleep. */
  readonly wakeUs: Spread
  /** Time to start the workers. */
  readonly startMs: Spread
}
export interface Limits {
  readonly build: Build
  readonly memoryKind: Runtime['memoryKind']
  readonly reads: readonly ReadLimit[]
  readonly peaks: readonly PeakLimit[]
  readonly waits: readonly WaitLimit[]
}

/** Records of the sync bench, which is the number of barriers in one run. */
const BARRIERS = 1000
const PEAK_ROUNDS = 50_000
/** Longer than any worker spins. */
const ASLEEP_MS = 10
const OVERHEAD_BYTES = 8 << 20

/**
 * Measures everything in turn, round by round, so that a disturbance affects one sample of many figures
 * rather than all samples of one. `onProgress` receives the share done, 0 to 1. Throws what opening a runtime
 * throws, and an error if a result is wrong.
 */
export async function measureLimits(
  host: Host,
  options: LimitOptions,
  onProgress: (done: number) => void = () => {},
): Promise<Limits> {
  const most = Math.max(...options.threads)
  const largest = Math.max(...options.sets)
  const bytes = {
    needBytes: Math.min(largest, 64 << 20) + OVERHEAD_BYTES,
    wantBytes: largest + OVERHEAD_BYTES,
  }
  const runtime = await openRuntime({ host, build: options.build, threads: most, ...bytes })
  const bench = new LimitBench(host, runtime, options)
  try {
    return await bench.measure(onProgress)
  } finally {
    bench.pool.dispose()
  }
}

/** One figure being measured. */
interface Measurement {
  readonly threads: number
  /** Called once before each sample. */
  readonly warm?: () => void
  readonly work: () => void
  calls: number
  /** Milliseconds per call. */
  readonly ms: number[]
  /** Computes the result from the samples. */
  readonly finish: (ms: readonly number[]) => void
}

class LimitBench {
  readonly pool: Pool
  readonly #host: Host
  readonly #runtime: Runtime
  readonly #options: LimitOptions
  readonly #arena: Arena
  readonly #records: Ptr
  readonly #results: Ptr
  readonly #threads: readonly number[]
  readonly #reads: ReadLimit[] = []
  readonly #peaks: PeakLimit[] = []
  readonly #waits: WaitLimit[] = []

  constructor(host: Host, runtime: Runtime, options: LimitOptions) {
    this.#host = host
    this.#runtime = runtime
    this.#options = options
    this.#arena = runtime.arena
    this.#threads = options.threads.filter((threads) => threads <= runtime.maxThreads)
    this.#records = runtime.arena.allocate(BARRIERS * LIMIT_WORDS * 4, 'the bench')
    this.#results = runtime.arena.allocate(Math.max(1, ...this.#threads) * RESULT_WORDS * 4, 'the bench')
    this.pool = this.#openPool()
  }

  async measure(onProgress: (done: number) => void): Promise<Limits> {
    const waiting = this.#threads.filter((threads) => threads > 1 && this.#options.waits !== false)
    const parts = this.#threads.length * (1 + this.#options.samples) + waiting.length
    let done = 0
    const step = () => onProgress(++done / parts)
    const set = this.#fill()
    const measurements = this.#threads.flatMap((threads) => [
      ...this.#readMeasurements(set, threads),
      ...PEAKS[this.#options.build].map((peak) => this.#peakMeasurement(peak, threads)),
    ])
    await this.#sample(measurements, step)
    for (const threads of waiting) {
      this.#waits.push(await this.#measureWaits(threads))
      step()
    }
    const { build, memoryKind } = this.#runtime
    return { build, memoryKind, reads: this.#reads, peaks: this.#peaks, waits: this.#waits }
  }

  async #sample(measurements: readonly Measurement[], step: () => void): Promise<void> {
    const { samples } = this.#options
    const now = () => this.#host.now()
    for (let round = 0; round <= samples; round++) {
      for (const threads of this.#threads) {
        await this.#resize(threads)
        for (const one of measurements.filter((each) => each.threads === threads)) {
          one.warm?.()
          if (round === 0) one.calls = callsFor(one.work, this.#options, now)
          else one.ms.push(timeOf(one.work, one.calls, now))
        }
        step()
      }
    }
    for (const one of measurements) one.finish(one.ms)
  }

  #readMeasurements(set: { address: Ptr; bytes: number }, threads: number): Measurement[] {
    const sets = this.#options.sets.filter((bytes) => bytes <= set.bytes)
    return sets.flatMap((bytes) =>
      ([1, 8] as const).map((streams) => {
        const slice = Math.floor(bytes / threads / SLICE_BYTES) * SLICE_BYTES
        const code = streams === 1 ? LIMIT_CODE.read_one : LIMIT_CODE.read_eight
        const expected = expectedSum(slice, 1)
        const work = () => {
          this.#write({ code, address: set.address, bytes: slice, rounds: 1, results: this.#results })
          this.pool.run(this.#records, this.#records, 0, 1)
          this.#check(threads, expected)
        }
        const finish = (ms: readonly number[]) => {
          const gigabytesPerSecond = spread(ms.map((each) => (slice * threads) / each / 1e6))
          this.#reads.push({ streams, threads, bytes, gigabytesPerSecond })
        }
        return { threads, warm: work, work, calls: 1, ms: [], finish }
      }),
    )
  }

  #peakMeasurement(peak: Peak, threads: number): Measurement {
    const work = () => {
      const results = this.#results
      this.#write({ code: LIMIT_CODE[peak], address: 0, bytes: 0, rounds: PEAK_ROUNDS, results })
      this.pool.run(this.#records, this.#records, 0, 1)
    }
    const ops = PEAK_OPS[peak] * PEAK_ROUNDS * threads
    const finish = (ms: readonly number[]) =>
      this.#peaks.push({ peak, threads, gigaopsPerSecond: spread(ms.map((each) => ops / each / 1e6)) })
    return { threads, work, calls: 1, ms: [], finish }
  }

  async #measureWaits(threads: number): Promise<WaitLimit> {
    const { samples } = this.#options
    const now = () => this.#host.now()
    const rounds = Array.from({ length: samples })
    await this.#resize(threads)
    for (let i = 0; i < BARRIERS; i++) {
      this.#write({ code: LIMIT_CODE.nothing, address: 0, bytes: 0, rounds: 0, results: 0 }, i)
    }
    const runs = (count: number) => () => this.pool.run(this.#records, this.#records, 0, count)
    const barriers = rounds.map(() => (timeOf(runs(BARRIERS), 1, now) * 1000) / BARRIERS)
    const awake = rounds.map(() => timeOf(runs(1), BARRIERS, now) * 1000)
    const asleep: number[] = []
    for (const _ of rounds) {
      await new Promise((resolve) => setTimeout(resolve, ASLEEP_MS))
      asleep.push(timeOf(runs(1), 1, now) * 1000)
    }
    const starts: number[] = []
    for (const _ of rounds) starts.push(await this.#start(threads))
    return {
      threads,
      barrierUs: spread(barriers),
      runUs: spread(awake),
      wakeUs: spread(asleep),
      startMs: spread(starts),
    }
  }

  async #start(threads: number): Promise<number> {
    const mark = this.#arena.mark()
    const pool = this.#openPool()
    const start = this.#host.now()
    try {
      if (pool instanceof SharedPool) await pool.resize(threads)
      return this.#host.now() - start
    } finally {
      pool.dispose()
      this.#arena.reset(mark)
    }
  }

  #openPool(): Pool {
    const { engine, module, arena, memoryKind } = this.#runtime
    const startWorker = this.#host.startWorker?.bind(this.#host)
    if (memoryKind === 'plain' || startWorker === undefined) return new SinglePool(engine, arena)
    return new SharedPool({ engine, module, arena, startWorker })
  }

  async #resize(threads: number): Promise<void> {
    if (this.pool instanceof SharedPool && this.pool.threads !== threads) await this.pool.resize(threads)
  }

  /**
   * Allocates the largest possible working set and sets every word to 1, because unwritten pages may all map
   * to one page.
   */
  #fill(): { address: Ptr; bytes: number } {
    for (const bytes of this.#options.sets.toSorted((a, b) => b - a)) {
      try {
        const address = this.#arena.allocate(bytes, 'the working set')
        this.#arena.u32.fill(1, address / 4, offset(address, bytes) / 4)
        return { address, bytes }
      } catch (error) {
        if (!isHalfbyteError(error) || error.code !== 'out-of-memory') throw error
      }
    }
    return { address: this.#records, bytes: 0 }
  }

  #write(fields: Readonly<Record<keyof typeof LIMIT, number>>, index = 0): void {
    const { u32 } = this.#arena
    const word = this.#records / 4 + index * LIMIT_WORDS
    for (const name of Object.keys(LIMIT) as (keyof typeof LIMIT)[]) u32[word + LIMIT[name]] = fields[name]
  }

  /** Checks that every thread has read all of its bytes; otherwise the figure would be wrong. */
  #check(threads: number, expected: number): void {
    for (let thread = 0; thread < threads; thread++) {
      const found = this.#arena.u32[this.#results / 4 + thread * RESULT_WORDS]
      if (found !== expected) throw new Error(`thread ${thread} read a sum of ${found}, not ${expected}`)
    }
  }
}
