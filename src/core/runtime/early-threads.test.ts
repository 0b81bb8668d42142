// Tests threads that start before their pool is opened. In: real worker threads, or some that cannot start.
// Out: the pool that they become part of, and memory that they leave unchanged.
import { expect, test } from 'vitest'
import { nodeHost } from '../../tools/cli/node-host.ts'
import type { HalfbyteError } from '../base/errors.ts'
import { checksum } from '../base/sha256.ts'
import type { ComputePort, Host } from './host.ts'
import { openPool, openRuntime, startThreads } from './open-runtime.ts'
import { PartCheck } from './part-check.ts'

const BYTES = 9 << 20

async function setUp(host: Host, threads: number | 'auto') {
  const runtime = await openRuntime({ host, threads, needBytes: 2 * BYTES })
  const address = runtime.arena.allocate(BYTES, 'the weights')
  const early = await startThreads(runtime, { host, threads }, { ahead: { address, bytes: BYTES } })
  const later = runtime.arena.allocate(64, 'what follows')
  const options = { host, threads, probe: () => {}, early }
  return { runtime, address, early, later, options }
}

function counting(cores: number): { host: Host; started: () => number } {
  const host = nodeHost()
  let started = 0
  const startWorker = (): ComputePort => {
    started++
    return (host.startWorker as () => ComputePort)()
  }
  return { host: { ...host, cores, startWorker }, started: () => started }
}

test.each([3, 'auto'] as const)('threads: %s: the pool takes over the threads', async (threads) => {
  const { host, started } = counting(3)
  const { runtime, address, early, later, options } = await setUp(host, threads)
  const { arena } = runtime
  for (let at: number = address; at < address + BYTES; at += 512) arena.u8[at] = at >> 9
  const before = checksum(arena.u8.subarray(address, address + BYTES))
  const pool = await openPool(runtime, options)
  expect(pool).toBe(early?.pool)
  expect(started()).toBe(2)
  // The threads' stacks were allocated before anything else.
  expect(arena.mark()).toBe(later + 64)
  const sums = new PartCheck(pool, arena).sums([{ address, bytes: BYTES }])
  expect(sums).toEqual([before])
  pool.dispose()
})

test('a run stops threads that still access pages', async () => {
  const { host } = counting(2)
  const { runtime, address, early, options } = await setUp(host, 2)
  await early?.started
  const part = { address, bytes: 640 }
  const sums = new PartCheck(early!.pool, runtime.arena).sums([part])
  expect(sums).toEqual([checksum(new Uint8Array(640))])
  const pool = await openPool(runtime, options)
  expect(pool.threads).toBe(2)
  pool.dispose()
})

test('if the threads cannot start, auto uses one, and a given number is an error', async () => {
  const startWorker = (): ComputePort => {
    throw new Error('refused by the content policy')
  }
  const host: Host = { ...nodeHost(), cores: 2, startWorker }
  const deaths: HalfbyteError[] = []
  const { runtime, options } = await setUp(host, 'auto')
  const pool = await openPool(runtime, { ...options, onDeath: (error) => deaths.push(error) })
  expect(pool.threads).toBe(1)
  expect(deaths).toEqual([])
  pool.dispose()
  const given = await setUp(host, 2)
  const opened = openPool(given.runtime, given.options)
  await expect(opened).rejects.toMatchObject({ code: 'internal', message: /refused by the content policy/ })
})
