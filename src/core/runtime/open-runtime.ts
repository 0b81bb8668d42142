// Opens a runtime: the engine's module and arena, and later the pool with the fastest number of threads.

import { type HalfbyteError, isHalfbyteError } from '../base/errors.ts'
import { steadyClock } from '../base/time/clocks.ts'
import { type Build, chooseBuild, detectFeatures, type MemoryKind } from './features.ts'
import type { Host, Note } from './host.ts'
import { Arena } from './memory/arena.ts'
import { createMemory } from './memory/linear-memory.ts'
import { type EngineExports, instantiateEngine } from './module.ts'
import { type Pool, type PoolKind, SinglePool } from './pool.ts'
import { type EarlyWork, SharedPool, type SharedPoolOptions } from './shared.ts'

interface RuntimeOptions {
  readonly host: Host
  /** Default `auto`: relaxed if it runs here. */
  readonly build?: Build | 'auto'
  /** Default `auto`: found by measuring, at most 4 and at most the number of cores. */
  readonly threads?: number | 'auto'
  /** Default `auto`: `shared` if memory can be shared, otherwise `shards`. */
  readonly pool?: PoolKind | 'auto'
  /** Minimum bytes that the model needs to run: weights, activations, some state. */
  readonly needBytes: number
  /** Bytes that the model could use, including a full context. Default: `needBytes`. */
  readonly wantBytes?: number
}

/** One engine's memory and code. Its pool is created once the weights are loaded. */
export interface Runtime {
  readonly build: Build
  readonly memoryKind: MemoryKind
  readonly arena: Arena
  readonly engine: EngineExports
  readonly module: WebAssembly.Module
  /** Maximum number of threads in a pool of this runtime. */
  readonly maxThreads: number
  /** Maximum number of shards in a group whose first shard is this runtime. 1: no other shards. */
  readonly maxShards: number
}

/** Bytes needed besides the model's: the module's data and stacks, the plan and the step. */
export const ENGINE_BYTES = 4 * 1024 * 1024
/** Measurements have shown no gain from more threads than this. */
const MAX_AUTO_THREADS = 4

/**
 * Loads the module that fits this host and creates its memory. Throws `unsupported` without WebAssembly SIMD,
 * `network` if the module cannot be fetched, `out-of-memory`.
 */
export async function openRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { host, pool = 'auto' } = options
  const needBytes = options.needBytes + ENGINE_BYTES
  const wantBytes = Math.max(needBytes, (options.wantBytes ?? 0) + ENGINE_BYTES)
  const features = detectFeatures(host.globals)
  const build = chooseBuild(features, options.build)
  const wanted = options.threads ?? 'auto'
  const most = wanted === 'auto' ? Math.min(host.cores, MAX_AUTO_THREADS) : Math.max(1, Math.floor(wanted))
  const threads = pool === 'single' || host.startWorker === undefined ? 1 : most
  const mayShare = threads > 1 && features.sharedMemory && pool !== 'shards'
  const memory = (mayShare && trySharedMemory(needBytes, wantBytes)) || createMemory('plain', needBytes)
  const memoryKind = memory.buffer instanceof ArrayBuffer ? 'plain' : 'shared'
  const module = await host.loadModule(build, memoryKind)
  const engine = instantiateEngine(module, memory)
  const arena = new Arena(memory, Number(engine.__heap_base.value))
  const isShared = memoryKind === 'shared'
  const limits = {
    maxThreads: isShared ? threads : 1,
    maxShards: isShared || pool === 'shared' ? 1 : threads,
  }
  return { build, memoryKind, arena, engine, module, ...limits }
}

/** Devices that reserve shared memory up front may fail at a size to which a plain memory can grow. */
function trySharedMemory(needBytes: number, wantBytes: number): WebAssembly.Memory | undefined {
  try {
    return createMemory('shared', needBytes, wantBytes)
  } catch (error) {
    if (isHalfbyteError(error) && error.code === 'out-of-memory') return undefined
    throw error
  }
}

/** Threads that are started before `openPool`. */
export interface EarlyThreads {
  readonly pool: SharedPool
  /** Resolves when they have started or died. */
  readonly started: Promise<void>
  /** Why one of them died. */
  death?: HalfbyteError
  onDeath?: ((error: HalfbyteError) => void) | undefined
}

/**
 * Starts as many threads as `openPool` may need: with `auto` those that were found earlier, otherwise all
 * that are allowed. They do `work`, and then take part in the pool's runs. Undefined without other threads.
 */
export async function startThreads(
  { engine, module, arena, maxThreads }: Runtime,
  { host, threads = 'auto', note }: Pick<PoolOptions, 'host' | 'threads' | 'note'>,
  work: EarlyWork,
): Promise<EarlyThreads | undefined> {
  if (maxThreads === 1 || host.startWorker === undefined) return undefined
  const count = (threads === 'auto' ? await knownThreads(note, maxThreads) : undefined) ?? maxThreads
  if (count === 1) return undefined
  const onDeath = (error: HalfbyteError): void => {
    early.death = error
    early.onDeath?.(error)
  }
  const startWorker = host.startWorker.bind(host)
  const pool = new SharedPool({ engine, module, arena, startWorker, onDeath })
  const started = pool.resize(count, work).catch(() => undefined)
  const early: EarlyThreads = { pool, started }
  return early
}

/** The number of threads that was found earlier, if it is valid. */
async function knownThreads(note: Note | undefined, most: number): Promise<number | undefined> {
  const known = (await note?.read()) as number
  return Number.isInteger(known) && known > 0 && known <= most ? known : undefined
}

interface PoolOptions {
  readonly host: Host
  /** As passed to `openRuntime`. */
  readonly threads?: number | 'auto'
  /**
   * Runs one small step on the pool, synchronously. The runs are timed to find the best number of threads.
   */
  readonly probe: (pool: Pool) => void
  /** Where the number of threads found earlier is stored. */
  readonly note?: Note | undefined
  readonly onDeath?: (error: HalfbyteError) => void
  /** Threads that have been started before. Default: none. */
  readonly early?: EarlyThreads | undefined
}

/**
 * Creates the pool. `auto` picks the number of threads that runs `probe` fastest, or one if workers cannot be
 * started; otherwise the pool has the requested number. Throws `internal` if a requested worker cannot be
 * started.
 */
export async function openPool(runtime: Runtime, options: PoolOptions): Promise<Pool> {
  const { engine, module, arena, maxThreads } = runtime
  const { host, onDeath, early } = options
  if (maxThreads === 1 || host.startWorker === undefined) return new SinglePool(engine, arena)
  const startWorker = host.startWorker.bind(host)
  const shared = { engine, module, arena, startWorker }
  await early?.started
  const isMeasured = (options.threads ?? 'auto') === 'auto'
  if (isMeasured)
    return (await tryMeasured(runtime, shared, options)) ?? new SharedPool({ ...shared, onDeath })
  if (early?.death !== undefined) throw early.death
  const pool = takenOver(early, { ...shared, onDeath })
  await pool.resize(maxThreads)
  return pool
}

/**
 * The pool whose threads were started early, or a new pool without threads. `onDeath` is called if one of its
 * threads dies later.
 */
function takenOver(early: EarlyThreads | undefined, options: SharedPoolOptions): SharedPool {
  if (early === undefined) return new SharedPool(options)
  early.onDeath = options.onDeath
  return early.pool
}

/** A pool with the fastest number of threads. Undefined if the pool died while it was measured. */
async function tryMeasured(
  runtime: Runtime,
  shared: SharedPoolOptions,
  options: PoolOptions,
): Promise<SharedPool | undefined> {
  let measuring = true
  const { probe, note, early } = options
  if (early?.death !== undefined) return undefined
  const onDeath = (error: HalfbyteError): void => (measuring ? undefined : options.onDeath?.(error))
  const pool = takenOver(early, { ...shared, onDeath })
  try {
    const known = await knownThreads(note, runtime.maxThreads)
    if (known !== undefined) {
      await pool.resize(known)
      probe(pool)
    } else {
      const found = await remeasure(pool, runtime, options)
      note?.write(found)
    }
    measuring = false
    return pool
  } catch (error) {
    pool.dispose()
    if (isHalfbyteError(error) && error.code === 'internal') return undefined
    throw error
  }
}

/**
 * Returns a function that measures the number of threads again, between runs. It resolves to whether there
 * are now fewer than at first, and rejects like `resize` and `probe`. If there is no memory for its own step,
 * it leaves the pool unchanged.
 */
export function retuner(
  pool: SharedPool,
  runtime: Runtime,
  options: Pick<PoolOptions, 'host' | 'probe' | 'note'>,
): () => Promise<boolean> {
  const first = pool.threads
  return async () => {
    const { threads } = pool
    // The next load measures again, because the machine may have recovered by then.
    void options.note?.write(undefined)
    try {
      await remeasure(pool, runtime, options)
    } catch (error) {
      if (!isHalfbyteError(error) || error.code !== 'out-of-memory') throw error
      await pool.resize(threads)
    }
    return pool.threads < first
  }
}

/**
 * Measures the number of threads, applies it and returns it. Throws the same errors as `resize` and `probe`.
 */
async function remeasure(
  pool: SharedPool,
  { maxThreads }: Runtime,
  { host, probe }: Pick<PoolOptions, 'host' | 'probe'>,
): Promise<number> {
  const work = (): void => probe(pool)
  const threads = await measureThreads(pool, maxThreads, work, () => host.now())
  await pool.resize(threads)
  pool.releaseIdle()
  return threads
}

/**
 * Number of timed runs per number of threads. The fastest run counts, so that one interruption does not
 * decide.
 */
const TIMED_RUNS = 5
/**
 * No further run with one number of threads starts after this time, because replies wait while the engine
 * measures again.
 */
const TIMED_MS = 100
/** The share of the time that another thread must save to be worth its core. */
const LEAST_GAIN = 0.04

/** Larger numbers of threads are skipped once one took this many times as long as the best. */
const HOPELESS = 1.5

/**
 * The number of threads, 1 to `most`, that runs `work` fastest. Larger pools contain the threads of smaller
 * ones, so a thread that delays the others is in all larger pools.
 */
export async function measureThreads(
  pool: { resize(threads: number): Promise<void> },
  most: number,
  work: () => void,
  clock: () => number,
): Promise<number> {
  const now = steadyClock(clock)
  let best = 1
  let bestMs = Number.POSITIVE_INFINITY
  for (let threads = 1; threads <= most; threads++) {
    await pool.resize(threads)
    work()
    let ms = Number.POSITIVE_INFINITY
    const begin = now()
    for (let run = 0; run < TIMED_RUNS; run++) {
      const start = now()
      if (run > 0 && start - begin > TIMED_MS) break
      work()
      ms = Math.min(ms, now() - start)
    }
    // If the clock is too coarse or stands still, there is no reason to exclude a thread.
    if (ms === 0) return most
    if (ms > bestMs * HOPELESS) break
    if (ms >= bestMs * (1 - LEAST_GAIN)) continue
    best = threads
    bestMs = ms
  }
  return best
}
