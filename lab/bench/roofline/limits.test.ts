// Tests that the limit modules do the work that they report, and that the figures are plausible.

import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import type { Build } from '../../../src/core/runtime/features.ts'
import { instantiateEngine } from '../../../src/core/runtime/module.ts'
import { nodeHost } from '../../../src/tools/cli/node-host.ts'
import { limitsHost } from './host.ts'
import { expectedPeak, expectedSum, LIMIT_CODE, PEAKS } from './kernels.ts'
import { measureLimits } from './limits.ts'

const host = limitsHost(nodeHost(), (url) => readFile(url))

async function open(build: Build) {
  const memory = new WebAssembly.Memory({ initial: 40 })
  const engine = instantiateEngine(await host.loadModule(build, 'plain'), memory)
  const u32 = new Uint32Array(memory.buffer)
  const base = Math.ceil(engine.__heap_base.value / 4096) * 4096
  const run = (code: number, bytes: number, rounds: number, thread = 0) => {
    u32.set([code, base + 4096, bytes, rounds, base + 64], base / 4)
    u32[base / 4 + 16 + 16 * thread] = 77
    engine.run(0, base, 0, 0, 1, thread, 1)
    return u32[base / 4 + 16 + 16 * thread]
  }
  return { u32, base, run }
}

test('the codes are those of the C source', () => {
  const source = readFileSync(new URL('../../../wasm/limits/limits.c', import.meta.url), 'utf8')
  const found = [...source.matchAll(/LIMIT_(\w+) = (\d+)/g)].map(([, name, code]) => [
    name?.toLowerCase(),
    Number(code),
  ])
  expect(Object.fromEntries(found)).toEqual(LIMIT_CODE)
})

describe.each(['relaxed', 'simd128'] as const)('%s', (build) => {
  test.each(['read_one', 'read_eight'] as const)('%s reads each word of its slice once', async (name) => {
    const { u32, base, run } = await open(build)
    const bytes = 8192
    // All words differ, so that reading one word twice cannot hide a skipped word.
    for (let i = 0; i < (2 * bytes) / 4; i++) u32[base / 4 + 1024 + i] = Math.imul(i + 1, 2654435761)
    for (const thread of [0, 1]) {
      const words = u32.slice(base / 4 + 1024 + (thread * bytes) / 4).subarray(0, bytes / 4)
      const sum = words.reduce((total, word) => (total + word) >>> 0, 0)
      expect(run(LIMIT_CODE[name], bytes, 1, thread)).toBe(sum)
      expect(run(LIMIT_CODE[name], bytes, 3, thread)).toBe(Math.imul(sum, 3) >>> 0)
    }
  })

  test.each(PEAKS[build])('%s does the arithmetic of every round', async (peak) => {
    const { run } = await open(build)
    for (const rounds of [0, 1, 2, 100, 1000]) {
      expect(run(LIMIT_CODE[peak], 0, rounds)).toBe(expectedPeak(peak, rounds))
    }
  })

  test('measures the requested figures on one thread and on two, with spread', async () => {
    const sets = [1 << 20, 3 << 20]
    const progress: number[] = []
    const limits = await measureLimits(
      host,
      { build, threads: [1, 2], sets, samples: 3, leastMs: 0.5 },
      (done) => progress.push(done),
    )
    expect(limits.memoryKind).toBe('shared')
    expect(limits.reads.map(({ threads, bytes, streams }) => [threads, bytes, streams])).toEqual(
      [1, 2].flatMap((threads) =>
        sets.flatMap((bytes) => [1, 8].map((streams) => [threads, bytes, streams])),
      ),
    )
    expect(limits.peaks.map(({ peak }) => peak)).toEqual([...PEAKS[build], ...PEAKS[build]])
    const spreads = [
      ...limits.reads.map((each) => each.gigabytesPerSecond),
      ...limits.peaks.map((each) => each.gigaopsPerSecond),
      ...limits.waits.flatMap((each) => [each.barrierUs, each.runUs, each.wakeUs, each.startMs]),
    ]
    for (const { min, median, max } of spreads) {
      expect(min).toBeGreaterThan(0)
      expect(median).toBeGreaterThanOrEqual(min)
      expect(max).toBeLessThan(1e6)
    }
    expect(limits.waits.map(({ threads }) => threads)).toEqual([2])
    expect(progress.at(-1)).toBe(1)
  })
})

test('a sum of words wraps like u32', () => {
  expect(expectedSum(2 ** 29, 40)).toBe((2 ** 27 * 40) % 2 ** 32)
})
