// Notes of pools. In: notes from an earlier load, or damaged ones. Out: whether a load skips the measurement
// or repeats it.
import { describe, expect, test } from 'vitest'
import { openModel } from '../../src/core/arch/open-model.ts'
import { blobSource } from '../../src/core/base/bytes.ts'
import type { Build } from '../../src/core/runtime/features.ts'
import type { ComputePort, Host } from '../../src/core/runtime/host.ts'
import type { PoolKind } from '../../src/core/runtime/pool.ts'
import { buildModel } from '../../src/engine/load/build-model.ts'
import { prepareModel } from '../../src/engine/load/prepare.ts'
import { nodeHost } from '../../src/tools/cli/node-host.ts'
import { GOLDEN_CASES, goldenFile } from './testing/golden.ts'
import { largestDifference, logitsOf } from './testing/node-engine.ts'

const [F32] = GOLDEN_CASES
const TICK_MS = 0.5

/**
 * A device with three cores. `known` is its stored note. Each reading of its clock advances it by `pace`
 * ticks, so the machine's load has no effect.
 */
class Device {
  readonly known = new Map<string, unknown>()
  /** Types of messages sent to workers. */
  sent: string[] = []
  pace = 1
  /** Factor by which a worker seems slower than it is. */
  slowness = 1
  #now = 0

  host(): Host {
    const host = nodeHost()
    return {
      ...host,
      cores: 3,
      now: () => {
        this.#now += this.pace * TICK_MS
        return this.#now
      },
      notes: {
        read: async (key) => this.known.get(key),
        write: async (key, value) => void this.known.set(key, value),
      },
      startWorker: () => this.#watched(host.startWorker!()),
    }
  }

  /** Replaces every note with `value`. */
  set(value: unknown): void {
    for (const key of this.known.keys()) this.known.set(key, value)
  }

  get values(): unknown[] {
    return [...this.known.values()]
  }

  async load(pool: PoolKind, threads: number | 'auto' = 'auto', build: Build | 'auto' = 'auto') {
    this.sent = []
    const source = blobSource('model', await goldenFile(F32!))
    const prepared = await prepareModel(await openModel([source]), { weights: 'auto' })
    const hooks = { signal: new AbortController().signal, onProgress: () => undefined }
    return buildModel(prepared, { pool, threads, build, host: this.host() }, hooks)
  }

  #watched(port: ComputePort): ComputePort {
    return {
      ...port,
      postMessage: (message, transfer) => {
        this.sent.push(message.type)
        port.postMessage(message, transfer)
      },
      onMessage: (handle) =>
        port.onMessage((reply) => {
          const rate = reply.type === 'done' ? reply.rate : undefined
          handle(rate === undefined ? reply : { type: 'done', rate: rate / this.slowness })
        }),
    }
  }
}

/** Values that are neither a thread count up to 3 nor a valid list of shares. */
const WRONG: readonly unknown[] = ['two', 0, 1.5, 4, [], [0, 1], ['1', 1], [1, 1, 1, 1], [[1]]]

describe('shards', () => {
  test('get the shares measured earlier', async () => {
    const device = new Device()
    await (await device.load('shards')).dispose()
    expect(device.sent).toContain('measure')
    expect(device.values).toEqual([expect.arrayContaining([expect.any(Number)])])
    device.set([3, 1])
    const built = await device.load('shards')
    expect(built.info).toMatchObject({ pool: 'shards', threads: 2 })
    expect(device.sent).not.toContain('measure')
    expect(device.values).toEqual([[3, 1]])
    await built.dispose()
  })

  test('of a requested number are equal even if a worker is slow: loads of all builds agree bit for bit', async () => {
    const device = new Device()
    const ids = Array.from({ length: 40 }, (_, index) => 3 + ((index * 29) % 250))
    const tables: Float32Array[][] = []
    for (const [build, slowness] of [
      ['relaxed', 1],
      ['simd128', 5],
    ] as const) {
      device.slowness = slowness
      const built = await device.load('shards', 2, build)
      expect(built.info).toMatchObject({ pool: 'shards', threads: 2, build })
      expect(device.sent).not.toContain('measure')
      tables.push(await logitsOf(built, ids))
      await built.dispose()
    }
    expect(largestDifference(tables[0]!, tables[1]!)).toBe(0)
    expect(device.values).toEqual([])
  })

  test('are as many as the note says, and none start if that is one', async () => {
    const device = new Device()
    await (await device.load('shards')).dispose()
    for (const [shares, threads] of [
      [[1, 1, 1], 3],
      [[1], 1],
    ] as const) {
      device.set(shares)
      const built = await device.load('shards')
      expect(built.info.threads).toBe(threads)
      expect(device.sent.filter((type) => type === 'shard')).toHaveLength(threads - 1)
      await built.dispose()
    }
  })

  test('are measured again if the note is invalid', async () => {
    const device = new Device()
    await (await device.load('shards')).dispose()
    for (const wrong of WRONG) {
      device.set(wrong)
      await (await device.load('shards')).dispose()
      expect(device.sent, JSON.stringify(wrong)).toContain('measure')
      expect(device.values).toEqual([expect.arrayContaining([expect.any(Number)])])
    }
  })
})

describe('threads', () => {
  test.each([1, 2, 3])('on shared memory are as many as the note says: %i', async (known) => {
    const device = new Device()
    await (await device.load('shared')).dispose()
    expect(device.values).toEqual([expect.any(Number)])
    device.set(known)
    const built = await device.load('shared')
    expect(built.info.threads).toBe(known)
    expect(device.sent.filter((type) => type === 'serve')).toHaveLength(known - 1)
    await built.dispose()
  })

  test('are measured again if the note is invalid', async () => {
    const device = new Device()
    // Every number of threads is equally fast, so each is tried, even on a busy machine.
    device.pace = 0
    await (await device.load('shared')).dispose()
    for (const wrong of WRONG) {
      device.set(wrong)
      await (await device.load('shared')).dispose()
      expect(
        device.sent.filter((type) => type === 'start'),
        JSON.stringify(wrong),
      ).toHaveLength(2)
      expect(device.values).toEqual([expect.any(Number)])
    }
  })
})

test.each([
  ['shared', [1], 'start'],
  ['shards', [[1, 1]], undefined],
] as const)(
  'the stored note for %s is discarded when steps become slow, and threads are measured again',
  async (pool, known, measured) => {
    const device = new Device()
    await (await device.load(pool)).dispose()
    device.set(known[0])
    const built = await device.load(pool)
    const decode = async () => {
      const sequence = built.newSequence()
      sequence.setTokens([3])
      await built.scheduler.generate({ sequence, sampler: { sample: () => 5 }, maxTokens: 60 })
      sequence.release()
    }
    await decode()
    expect(device.values).toEqual(known)
    device.sent = []
    device.pace = 1e4
    await decode()
    // A note from a slow machine would also slow down the next load.
    expect(device.values).toEqual([undefined])
    expect(device.sent.find((type) => type === 'start')).toBe(measured)
    await built.dispose()
  },
)
