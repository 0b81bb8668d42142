// Runs of a plan. In: plans of several ops, real threads on one memory. Out: the bits of one thread, and the
// end of the run when a thread dies.

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, test } from 'vitest'
import { ABI, SYNC, SYNC_WORDS } from '../../src/core/abi/constants.ts'
import { ABI_VERSION, OPS } from '../../src/core/abi/ops.ts'
import { randomFrom } from '../../test/helpers/random.ts'
import { layState, layStep } from '../testing/attention.ts'
import { BUILDS, type Build, Machine, plainMachine, type Rows, readModule } from '../testing/machine.ts'
import { fillMatrix } from '../testing/weights.ts'

const PATIENCE_SECONDS = Number(
  /PATIENCE_SECONDS = (\d+)/.exec(readFileSync(new URL('sync.h', import.meta.url), 'utf8'))?.[1],
)

/** Norm, matrix, activation and residual in a chain, so that a row finished late shows up in the next op. */
function layPlan(machine: Machine, m: number, layers: number): Rows {
  const wide = 256
  const n = 512
  const random = randomFrom(m)
  const x = machine.rows(m, wide, () => random() - 0.5)
  const weight = machine.rows(1, wide, () => 1)
  const q = machine.a8Rows(m, wide)
  const hidden = machine.rows(m, n)
  const q2 = machine.a8Rows(m, n / 2)
  const q3 = machine.a8Rows(m, n / 2)
  const out = machine.rows(m, wide)
  const up = machine.matrix('w4_g32', n, wide, fillMatrix('w4_g32', 1))
  const down = machine.matrix('w8_g32', wide, n / 2, fillMatrix('w8_g32', 2))
  machine.setStep({ sequences: [{ position: 0, rows: m }] })
  for (let layer = 0; layer < layers; layer++) {
    const inputs = { x: x.at, x_stride: x.stride }
    machine.op('rmsnorm', { ...inputs, weight: weight.at, n: wide, q: q.at, q_stride: q.stride, eps: 1e-6 })
    machine.op('linear_w4a8_g32', {
      w: up,
      n,
      k: wide,
      x: q.at,
      x_stride: q.stride,
      y: hidden.at,
      y_stride: hidden.stride,
    })
    machine.op('swiglu', {
      gate: hidden.at,
      gate_stride: hidden.stride,
      up: hidden.at + n * 2,
      up_stride: hidden.stride,
      n: n / 2,
      q: q2.at,
      q_stride: q2.stride,
    })
    machine.op('linear_w8a8_g32', {
      w: down,
      n: wide,
      k: n / 2,
      x: q2.at,
      x_stride: q2.stride,
      y: out.at,
      y_stride: out.stride,
    })
    // Computes the gated values once more, from the same product.
    machine.op('linear_swiglu_w4a8_g32', {
      w: up,
      n: n / 2,
      k: wide,
      x: q.at,
      x_stride: q.stride,
      q: q3.at,
      q_stride: q3.stride,
    })
    machine.op('linear_w8a8_g32', {
      w: down,
      n: wide,
      k: n / 2,
      x: q3.at,
      x_stride: q3.stride,
      y: out.at,
      y_stride: out.stride,
      accumulate: 1,
    })
    machine.op('add', { x: out.at, x_stride: out.stride, y: x.at, y_stride: x.stride, n: wide })
  }
  return x
}

interface Pool {
  readonly machine: Machine
  readonly sync: number
  readonly workers: readonly Worker[]
  /** Promises that resolve when a worker has left `serve`. */
  readonly ends: readonly Promise<unknown>[]
}

const started: Worker[] = []
afterEach(async () => {
  await Promise.all(started.splice(0).map((worker) => worker.terminate()))
})

async function startPool(build: Build, threads: number, task = 'serve'): Promise<Pool> {
  const module = readModule(build, 'shared')
  const machine = new Machine(module, build, true)
  const sync = machine.words(new Array(SYNC_WORDS).fill(0))
  const workers: Worker[] = []
  const ends: Promise<unknown>[] = []
  for (let thread = 1; thread < threads; thread++) {
    const stackTop = machine.allocate(65536) + 65536
    const workerData = { module, memory: machine.memory, stackTop, sync, thread, task }
    const worker = new Worker(new URL('../testing/worker.mjs', import.meta.url), { workerData })
    started.push(worker)
    await once(worker, 'message')
    workers.push(worker)
    ends.push(once(worker, 'message'))
  }
  return { machine, sync, workers, ends }
}

/** Does what a pool does: writes the fields, gives the command, then computes the caller's own share. */
function run({ machine, sync }: Pool, threads: number, first: number, last: number): number {
  const word = sync / 4
  machine.u32.set([machine.ops[0]!, machine.step, first, last, threads], word + SYNC.plan)
  Atomics.add(machine.i32, word + SYNC.command, 1)
  Atomics.notify(machine.i32, word + SYNC.command)
  return machine.exports.run(sync, machine.ops[0]!, machine.step, first, last, 0, threads)
}

describe.each(BUILDS)('run, %s', (build) => {
  test.each([2, 3])('%i threads give the same bits as one', async (threads) => {
    const single = plainMachine(build)
    const pool = await startPool(build, threads)
    const expected = layPlan(single, 5, 4)
    const found = layPlan(pool.machine, 5, 4)
    single.run()
    const half = 10
    const all = single.ops.length
    expect(run(pool, threads, 0, half)).toBe(0)
    expect(run(pool, threads, half, all)).toBe(0)
    for (let m = 0; m < 5; m++) {
      expect(pool.machine.rowBytes(found, m, 'f32')).toEqual(single.rowBytes(expected, m, 'f32'))
    }
    // Many short runs, each of which hangs unless it begins with a clean sync block.
    for (let i = 0; i < 200; i++) expect(run(pool, threads, all - 1, all)).toBe(0)
    const claims = pool.sync / 4 + SYNC.claims
    expect([...pool.machine.u32.slice(claims, claims + ABI.CLAIM_WORDS)].every((word) => word === 0)).toBe(
      true,
    )
    expect(pool.machine.u32[pool.sync / 4 + SYNC.arrived]).toBe(0)
    Atomics.store(pool.machine.i32, pool.sync / 4 + SYNC.quit, 1)
    Atomics.add(pool.machine.i32, pool.sync / 4 + SYNC.command, 1)
    Atomics.notify(pool.machine.i32, pool.sync / 4 + SYNC.command)
    await Promise.all(pool.ends)
  })

  test('two threads split the positions of rows, and merge them like one thread', async () => {
    const shape = { heads: 4, kvHeads: 2, dim: 16, format: { k: 'int8', v: 'f32' } } as const
    const lay = (machine: Machine) => {
      const states = [layState(machine, shape, 1300), layState(machine, shape, 40)]
      const parts = (positions: readonly [number, number], rows: number) =>
        positions.map((position) => ({ position, rows }))
      layStep(
        machine,
        shape,
        [
          { position: 0, rows: 1290 },
          { position: 0, rows: 30 },
        ],
        states,
      )
      machine.runReference()
      return layStep(machine, shape, parts([1290, 30], 3), states).y
    }
    const single = plainMachine(build)
    const pool = await startPool(build, 2)
    const expected = lay(single)
    const found = lay(pool.machine)
    single.run()
    expect(run(pool, 2, 0, 1)).toBe(0)
    for (let i = 0; i < 20; i++) expect(run(pool, 2, 1, 2)).toBe(0)
    for (let m = 0; m < 6; m++) {
      expect(pool.machine.rowBytes(found, m, 'f32')).toEqual(single.rowBytes(expected, m, 'f32'))
    }
  })

  test('a poisoned run returns 1, and so do all later runs', async () => {
    // The second thread never arrives. Instead it poisons the pool after a tenth of a second, long before the
    // first one would time out.
    const pool = await startPool(build, 2, 'poison')
    layPlan(pool.machine, 2, 1)
    const before = performance.now()
    expect(run(pool, 2, 0, 5)).toBe(1)
    expect(performance.now() - before).toBeLessThan(1000 * PATIENCE_SECONDS)
    expect(run(pool, 2, 0, 5)).toBe(1)
  })

  test('a sleeping worker leaves when the pool is poisoned', async () => {
    const pool = await startPool(build, 2)
    pool.machine.exports.poison(pool.sync)
    await pool.ends[0]
  })

  test('an unknown op poisons the pool instead of calling a bad function pointer', () => {
    const machine = plainMachine(build)
    layPlan(machine, 1, 1)
    const sync = machine.words(new Array(SYNC_WORDS).fill(0))
    machine.u32[machine.ops[2]! / 4] = Object.keys(OPS).length
    expect(machine.exports.run(sync, machine.ops[0]!, machine.step, 0, 5, 0, 1)).toBe(1)
    expect(machine.u32[sync / 4 + SYNC.poison]).toBe(1)
  })

  test('a module reports the ABI that it was built for', () => {
    expect(plainMachine(build).exports.abi_version()).toBe(ABI_VERSION)
  })
})
