// Tests pools. In: the built modules, real worker threads, a plan of additions. Out: sums, and errors when a
// thread dies.
import { existsSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, test } from 'vitest'
import { nodeHost } from '../../tools/cli/node-host.ts'
import { ABI, STEP, STEP_WORDS } from '../abi/constants.ts'
import { HalfbyteError, isHalfbyteError } from '../base/errors.ts'
import type { Build } from './features.ts'
import type { ComputePort, Host } from './host.ts'
import type { Ptr } from './memory/arena.ts'
import { measureThreads, openPool, openRuntime, type Runtime, retuner } from './open-runtime.ts'
import type { Pool } from './pool.ts'
import { SharedPool } from './shared.ts'
import { ADDITIONS, additions, TOKENS, WIDTH } from './testing/additions.ts'
import { type WrittenPlan, writePlan } from './write-plan.ts'

const MODULES = new URL('../../../dist/wasm/', import.meta.url)
const isBuilt = existsSync(new URL('halfbyte-simd128-shared.wasm', MODULES))

const NEED = 4e6

const errorOf = (work: () => unknown): HalfbyteError => {
  try {
    work()
  } catch (error) {
    if (isHalfbyteError(error)) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

interface Sums {
  readonly written: WrittenPlan
  readonly step: Ptr
}

function write(runtime: Runtime, plan = additions()): Sums {
  const { arena } = runtime
  const written = writePlan(arena, plan, [])
  const step = arena.allocate(STEP_WORDS * 4, 'the step')
  arena.u32.fill(0, step / 4, step / 4 + STEP_WORDS)
  arena.u32[step / 4 + STEP.tokens] = TOKENS
  return { written, step }
}

/** Runs the additions on fresh rows and checks every sum. */
function checkSums(runtime: Runtime, pool: Pool, { written, step }: Sums): void {
  const x = written.activations / 4
  const { f32 } = runtime.arena
  const size = TOKENS * WIDTH
  for (let index = 0; index < size; index++) f32[x + index] = index
  f32.fill(1, x + size, x + 2 * size)
  pool.run(written.records, step, 0, written.count)
  let wrong = 0
  for (let index = 0; index < size; index++) if (f32[x + size + index] !== 1 + ADDITIONS * index) wrong++
  expect(wrong).toBe(0)
}

const pools: Pool[] = []
afterEach(() => {
  for (const pool of pools.splice(0)) pool.dispose()
})

async function sharedPool(
  build: Build,
  startWorker: () => ComputePort = () => (nodeHost().startWorker as () => ComputePort)(),
  options: { timeoutMs?: number; onDeath?: (error: HalfbyteError) => void } = {},
): Promise<{ runtime: Runtime; pool: SharedPool }> {
  const runtime = await openRuntime({ host: nodeHost(), build, threads: 4, needBytes: NEED })
  const { engine, module, arena } = runtime
  const pool = new SharedPool({ engine, module, arena, startWorker, ...options })
  pools.push(pool)
  return { runtime, pool }
}

/** A real compute worker that the test can end without the pool knowing. */
function mortalWorker(): { port: ComputePort; kill: () => Promise<number> } {
  const worker = new Worker(new URL('../../tools/cli/compute-worker.ts', import.meta.url), { execArgv: [] })
  const port: ComputePort = {
    postMessage: (message) => worker.postMessage(message),
    onMessage: (listener) => void worker.on('message', listener),
    onError: (listener) =>
      void worker.on('exit', (code) => listener(new Error(`it ended with code ${code}`))),
    terminate: () => void worker.terminate(),
  }
  return { port, kill: () => worker.terminate() }
}

describe.skipIf(!isBuilt)('with the built modules', () => {
  test.each(['relaxed', 'simd128'] as const)('%s: one thread on a plain memory adds', async (build) => {
    const host = nodeHost()
    const runtime = await openRuntime({ host, build, threads: 1, needBytes: NEED })
    expect(runtime).toMatchObject({ memoryKind: 'plain', build, maxThreads: 1 })
    const sums = write(runtime)
    const pool = await openPool(runtime, { host, probe: () => {} })
    checkSums(runtime, pool, sums)
    pool.dispose()
    expect(errorOf(() => checkSums(runtime, pool, sums)).code).toBe('disposed')
  })

  test.each(['relaxed', 'simd128'] as const)(
    '%s: any number of threads computes the same sums',
    async (build) => {
      const { runtime, pool } = await sharedPool(build)
      expect(runtime).toMatchObject({ memoryKind: 'shared', maxThreads: 4 })
      const sums = write(runtime)
      for (const threads of [1, 2, 3, 1, 2]) {
        await pool.resize(threads)
        expect(pool.threads).toBe(threads)
        for (let run = 0; run < 20; run++) checkSums(runtime, pool, sums)
      }
      pool.releaseIdle()
      checkSums(runtime, pool, sums)
    },
  )

  test('a pool keeps working after its memory grows', async () => {
    const { runtime, pool } = await sharedPool('simd128')
    const sums = write(runtime)
    await pool.resize(2)
    runtime.arena.allocate(1.5e6, 'more')
    checkSums(runtime, pool, sums)
  })

  test('a page that cannot share memory gets one thread', async () => {
    const host: Host = {
      ...nodeHost(),
      globals: { WebAssembly, SharedArrayBuffer, crossOriginIsolated: false },
    }
    const runtime = await openRuntime({ host, threads: 2, needBytes: NEED })
    expect(runtime.memoryKind).toBe('plain')
    const pool = await openPool(runtime, { host, threads: 2, probe: () => {} })
    expect(pool.threads).toBe(1)
  })

  test('the number of threads is chosen by timing the probe', async () => {
    let ms = 0
    const host: Host = { ...nodeHost(), cores: 2, now: () => ms++ }
    const runtime = await openRuntime({ host, needBytes: NEED })
    const sums = write(runtime)
    let runs = 0
    const pool = await openPool(runtime, {
      host,
      probe: (candidate) => {
        runs++
        candidate.run(sums.written.records, sums.step, 0, sums.written.count)
      },
    })
    pools.push(pool)
    expect(runs).toBe(12)
    // On the test's clock, one thread and two take the same time.
    expect(pool.threads).toBe(1)
    checkSums(runtime, pool, sums)
  })

  test('threads dropped on a slow machine return when it recovers, and nothing changes if there is no memory to measure', async () => {
    const clock = { ms: 0 }
    const host: Host = { ...nodeHost(), cores: 2, now: () => clock.ms }
    const runtime = await openRuntime({ host, needBytes: NEED })
    const sums = write(runtime)
    const well = [0, 100, 60]
    const slow = [0, 100, 150]
    let msOf = well
    let isFull = false
    const probe = (candidate: Pool): void => {
      if (isFull) throw new HalfbyteError('out-of-memory', 'there is no room')
      candidate.run(sums.written.records, sums.step, 0, sums.written.count)
      clock.ms += msOf[candidate.threads]!
    }
    const notes: unknown[] = []
    const note = { read: async () => undefined, write: async (value: unknown) => void notes.push(value) }
    const pool = (await openPool(runtime, { host, probe, note })) as SharedPool
    pools.push(pool)
    const retune = retuner(pool, runtime, { host, probe, note })
    const tried = async () => [await retune(), pool.threads]
    expect(await tried()).toEqual([false, 2])
    msOf = slow
    expect(await tried()).toEqual([true, 1])
    expect(await tried()).toEqual([true, 1])
    msOf = well
    expect(await tried()).toEqual([false, 2])
    isFull = true
    expect(await tried()).toEqual([false, 2])
    checkSums(runtime, pool, sums)
    expect(notes).toEqual([2, undefined, undefined, undefined, undefined, undefined])
  })

  test('if workers cannot be started, one thread computes', async () => {
    const refuse = (): ComputePort => {
      throw new Error('refused by the content policy')
    }
    const deaths: HalfbyteError[] = []
    const host: Host = { ...nodeHost(), cores: 2, startWorker: refuse }
    const runtime = await openRuntime({ host, needBytes: NEED })
    const sums = write(runtime)
    const pool = await openPool(runtime, { host, probe: () => {}, onDeath: (error) => deaths.push(error) })
    pools.push(pool)
    expect(pool.threads).toBe(1)
    checkSums(runtime, pool, sums)
    expect(deaths).toEqual([])
    const asked = openPool(runtime, { host, threads: 2, probe: () => {} })
    await expect(asked).rejects.toMatchObject({ code: 'internal', message: /refused by the content policy/ })
  })

  test.each([1, 3])('a trapping kernel ends a pool of %i threads with a typed error', async (threads) => {
    let deaths = 0
    const { runtime, pool } = await sharedPool('relaxed', undefined, { onDeath: () => deaths++ })
    const sums = write(runtime, additions({ y: 0xfff00000 }))
    await pool.resize(threads)
    const run = () => pool.run(sums.written.records, sums.step, 0, sums.written.count)
    expect(errorOf(run).code).toBe('internal')
    expect(errorOf(run).code).toBe('disposed')
    expect(deaths).toBe(1)
    await expect(pool.resize(2)).rejects.toMatchObject({ code: 'disposed' })
  })

  test('an op with an unknown code poisons the pool', async () => {
    const { runtime, pool } = await sharedPool('relaxed')
    const sums = write(runtime)
    await pool.resize(2)
    runtime.arena.u32[sums.written.records / 4 + (5 * ABI.OP_BYTES) / 4] = 99
    expect(errorOf(() => checkSums(runtime, pool, sums)).code).toBe('internal')
  })

  test('a worker that ends between runs ends the pool, which is reported at once', async () => {
    let announce: (error: HalfbyteError) => void = () => {}
    const died = new Promise<HalfbyteError>((resolve) => {
      announce = resolve
    })
    const mortal = mortalWorker()
    const { runtime, pool } = await sharedPool('relaxed', () => mortal.port, { onDeath: announce })
    const sums = write(runtime)
    await pool.resize(2)
    checkSums(runtime, pool, sums)
    await mortal.kill()
    expect((await died).message).toMatch(/it ended with code 1/)
    expect(errorOf(() => checkSums(runtime, pool, sums)).code).toBe('internal')
    expect(errorOf(() => checkSums(runtime, pool, sums)).code).toBe('disposed')
  })

  test('a worker that ends unnoticed makes a run fail instead of hang', async () => {
    const mortal = mortalWorker()
    const unnoticed: ComputePort = { ...mortal.port, onError: () => {} }
    const { runtime, pool } = await sharedPool('relaxed', () => unnoticed)
    const sums = write(runtime)
    await pool.resize(2)
    await mortal.kill()
    expect(errorOf(() => checkSums(runtime, pool, sums)).code).toBe('internal')
  }, 60_000)

  test('a worker that never answers is abandoned', async () => {
    const silent: ComputePort = {
      postMessage: () => {},
      onMessage: () => {},
      onError: () => {},
      terminate: () => {},
    }
    const { pool } = await sharedPool('relaxed', () => silent, { timeoutMs: 20 })
    await expect(pool.resize(2)).rejects.toMatchObject({
      code: 'internal',
      message: /did not start within 20 ms/,
    })
    await expect(pool.resize(2)).rejects.toMatchObject({ code: 'disposed' })
  })

  test('a module from another release is rejected', async () => {
    const old = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0])
    const host: Host = { ...nodeHost(), loadModule: () => WebAssembly.compile(old) }
    await expect(openRuntime({ host, needBytes: NEED })).rejects.toMatchObject({ code: 'internal' })
  })

  test('a missing module causes a typed error', async () => {
    const host = nodeHost({ wasm: new URL('nowhere/', MODULES) })
    await expect(openRuntime({ host, needBytes: NEED })).rejects.toMatchObject({ code: 'internal' })
  })
})

test('the fastest number of threads is kept, and further threads must save time', async () => {
  const msOf = [0, 100, 60, 59, 80]
  const clock = { ms: 0 }
  let threads = 0
  const resize = async (wanted: number): Promise<void> => {
    threads = wanted
  }
  const work = (): void => {
    clock.ms += msOf[threads] ?? 0
  }
  expect(await measureThreads({ resize }, 4, work, () => clock.ms)).toBe(2)
})

test('if steps are slow, measuring uses few of them and skips pools with a known slow thread', async () => {
  const msOf = [0, 100, 60, 300, 300]
  const runs = [0, 0, 0, 0, 0]
  const clock = { ms: 0 }
  let threads = 0
  const resize = async (wanted: number): Promise<void> => {
    threads = wanted
  }
  const work = (): void => {
    runs[threads]!++
    clock.ms += msOf[threads] ?? 0
  }
  expect(await measureThreads({ resize }, 4, work, () => clock.ms)).toBe(2)
  // The first run with each number of threads wakes them.
  expect(runs).toEqual([0, 3, 3, 2, 0])
})

test.each<[string, (ms: number) => number, number]>([
  ['stands still', (ms) => ms, 4],
  ['says nothing', () => Number.NaN, 4],
  ['goes backwards', (ms) => ms - 3_600_000, 4],
])('a clock that %s does not exclude any thread', async (_, next, threads) => {
  const clock = { ms: 0 }
  const work = (): void => {
    clock.ms = next(clock.ms)
  }
  expect(await measureThreads({ resize: async () => undefined }, 4, work, () => clock.ms)).toBe(threads)
})
