// Runtime. In: a host and how much memory is wanted. Out: the engine's instance, its arena, and later its pool.
import { type HalfbyteError, isHalfbyteError } from '../base/errors.ts'
import { Arena } from './arena.ts'
import { type Build, chooseBuild, detectFeatures, type MemoryKind } from './features.ts'
import type { Host, Note } from './host.ts'
import { createMemory } from './memory.ts'
import { type EngineExports, instantiateEngine } from './module.ts'
import type { Pool, PoolKind } from './pool.ts'
import { SharedPool, type SharedPoolOptions } from './shared.ts'
import { SinglePool } from './single.ts'

export interface RuntimeOptions {
  readonly host: Host
  /** Default `auto`: relaxed where it runs. */
  readonly build?: Build | 'auto'
  /** Default `auto`: measured, at most the cores there are and 4. */
  readonly threads?: number | 'auto'
  /** Default `auto`: `shared` where memory can be shared, else `shards`. */
  readonly pool?: PoolKind | 'auto'
  /** Bytes without which the model cannot run: weights, activations, some state. */
  readonly needBytes: number
  /** Bytes that would be good, the whole context included; default `needBytes`. */
  readonly wantBytes?: number
}

/** One engine's memory and code; a pool is made once the weights are in. */
export interface Runtime {
  readonly build: Build
  readonly memoryKind: MemoryKind
  readonly arena: Arena
  readonly engine: EngineExports
  readonly module: WebAssembly.Module
  /** Most threads a pool of this runtime may have. */
  readonly maxThreads: number
  /** Most shards that this runtime may be the first of; 1: it must work alone. */
  readonly maxShards: number
}

/** The module's data and stacks, the plan and the step: what comes on top of a model's own bytes. */
export const ENGINE_BYTES = 4 * 1024 * 1024
/** More threads than this have not been measured to help. */
const MOST_AUTO_THREADS = 4

/**
 * Loads the module that fits this host and makes its memory.
 * Throws `unsupported` without WebAssembly SIMD, `network` when the module cannot be had, `out-of-memory`.
 */
export async function openRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { host, pool = 'auto' } = options
  const needBytes = options.needBytes + ENGINE_BYTES
  const wantBytes = Math.max(needBytes, (options.wantBytes ?? 0) + ENGINE_BYTES)
  const features = detectFeatures(host.globals)
  const build = chooseBuild(features, options.build)
  const wanted = options.threads ?? 'auto'
  const most = wanted === 'auto' ? Math.min(host.cores, MOST_AUTO_THREADS) : Math.max(1, Math.floor(wanted))
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

/** Devices that reserve a shared memory whole may refuse one that a plain memory grows to. */
function trySharedMemory(needBytes: number, wantBytes: number): WebAssembly.Memory | undefined {
  try {
    return createMemory('shared', needBytes, wantBytes)
  } catch (error) {
    if (isHalfbyteError(error) && error.code === 'out-of-memory') return undefined
    throw error
  }
}

export interface PoolOptions {
  readonly host: Host
  /** As given to `openRuntime`. */
  readonly threads?: number | 'auto'
  /** One small step on the pool, synchronous; timed to find the number of threads. */
  readonly probe: (pool: Pool) => void
  /** The number of threads that was found before. */
  readonly note?: Note | undefined
  readonly onDeath?: (error: HalfbyteError) => void
}

/**
 * Makes the pool. With `auto` it takes the number of threads that runs `probe` fastest, one where workers cannot be
 * started; otherwise the number asked for. Throws `internal` when a worker that was asked for cannot be started.
 */
export async function openPool(runtime: Runtime, options: PoolOptions): Promise<Pool> {
  const { engine, module, arena, maxThreads } = runtime
  const { host, onDeath } = options
  if (maxThreads === 1 || host.startWorker === undefined) return new SinglePool(engine, arena)
  const startWorker = host.startWorker.bind(host)
  const shared = { engine, module, arena, startWorker }
  const wanted = options.threads ?? 'auto'
  if (wanted === 'auto')
    return (await tryMeasured(runtime, shared, options)) ?? new SharedPool({ ...shared, onDeath })
  const pool = new SharedPool({ ...shared, onDeath })
  await pool.resize(maxThreads)
  return pool
}

/** A pool of the fastest number of threads; undefined when it died while that was found out. */
async function tryMeasured(
  runtime: Runtime,
  shared: SharedPoolOptions,
  options: PoolOptions,
): Promise<SharedPool | undefined> {
  let measuring = true
  const { probe, note, onDeath } = options
  const pool = new SharedPool({ ...shared, onDeath: (error) => (measuring ? undefined : onDeath?.(error)) })
  try {
    const known = (await note?.read()) as number
    if (Number.isInteger(known) && known > 0 && known <= runtime.maxThreads) {
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
 * What finds the number of threads anew, between runs. It resolves to whether there are fewer than at first, and rejects as
 * `resize` and `probe` do; without room for a step of its own the pool stays as it is.
 */
export function retuner(
  pool: SharedPool,
  runtime: Runtime,
  options: Pick<PoolOptions, 'host' | 'probe' | 'note'>,
): () => Promise<boolean> {
  const first = pool.threads
  return async () => {
    const { threads } = pool
    // The next load measures too: by then the machine may be well.
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

/** Finds the number of threads and returns it. Throws what `resize` and `probe` throw. */
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

/** Runs timed per number of threads; the fastest counts, so that one interruption does not decide. */
const TIMED_RUNS = 5
/** Another thread must save this share of the time to be worth its core. */
const LEAST_GAIN = 0.04

/** The number of threads, 1 to `most`, that runs `work` fastest. */
export async function measureThreads(
  pool: { resize(threads: number): Promise<void> },
  most: number,
  work: () => void,
  now: () => number,
): Promise<number> {
  let best = 1
  let bestMs = Number.POSITIVE_INFINITY
  for (let threads = 1; threads <= most; threads++) {
    await pool.resize(threads)
    work()
    let ms = Number.POSITIVE_INFINITY
    for (let run = 0; run < TIMED_RUNS; run++) {
      const start = now()
      work()
      ms = Math.min(ms, now() - start)
    }
    if (ms >= bestMs * (1 - LEAST_GAIN)) continue
    best = threads
    bestMs = ms
  }
  return best
}
