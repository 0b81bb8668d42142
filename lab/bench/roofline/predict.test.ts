// Tests tiles and predictions. In: records, made-up limits and times. Out: counts as in the kernels, and
// times worked out by hand.
import { expect, test } from 'vitest'
import { ROWS } from '../../../src/core/abi/constants.ts'
import type { OpName } from '../../../src/core/abi/ops.ts'
import type { Limits } from './limits.ts'
import { predict } from './predict.ts'
import type { TimedOp, TimedStep } from './steps.ts'
import { tilesOf } from './tiles.ts'

const exactly = (median: number) => ({ median, min: median, max: median })

/** 10 GB/s on one thread and 16 on two. */
const LIMITS: Limits = {
  build: 'simd128',
  memoryKind: 'shared',
  reads: [1, 2].map((threads) => ({
    streams: 1,
    threads,
    bytes: 1e9,
    gigabytesPerSecond: exactly(threads === 1 ? 10 : 16),
  })),
  peaks: [],
  waits: [],
}

const OPTIONS = { barrierUs: 0.5, sample: 'median' } as const

const op = (ms: number, tiles: number, weightBytes = 0): TimedOp => ({
  name: 'linear_w4a8_g32',
  label: 'op',
  ms: [ms],
  tiles,
  cost: { kind: 'linear', weightBytes, stateBytes: 0, activationBytes: 0, ops: 0, unit: 'integer' },
})
const stepOf = (...ops: TimedOp[]): TimedStep => ({
  stage: 'decode',
  build: 'simd128',
  threads: 1,
  shape: { tokens: 1, logitRows: 1, position: 0 },
  stepMs: exactly(1),
  ops,
})

test('work is shared in whole tiles, and every op ends with a barrier that grows with the threads', () => {
  const step = stepOf(op(8, 16), op(1, 1), op(3, 3))
  expect(predict(step, LIMITS, 1, OPTIONS)).toEqual({
    full: 12,
    grown: 12,
    parts: { uneven: 0, barriers: 0 },
  })
  const two = predict(step, LIMITS, 2, OPTIONS)
  expect(two.parts).toEqual({ uneven: 0.5 + 0.5, barriers: 0.0015 })
  expect(two.full).toBeCloseTo(4 + 1 + 2 + 0.0015, 10)
  expect(predict(step, LIMITS, 8, OPTIONS).grown).toBeCloseTo(1 + 1 + 1 + 3 * 0.002, 10)
})

test('weights take at least the time to read them, from a memory that is full or one that grows', () => {
  const step = stepOf(op(20, 1000, 160e6))
  expect(predict(step, LIMITS, 2, OPTIONS).full).toBeCloseTo(10 + 0.0005, 10)
  expect(predict(step, LIMITS, 4, OPTIONS).full).toBeCloseTo(10 + 0.001, 10)
  expect(predict(step, LIMITS, 4, OPTIONS).grown).toBeCloseTo(5 + 0.001, 10)
})

const tiles = (name: OpName, fields: Record<string, number>, tokens: number, position = 0) =>
  tilesOf({ name, label: '', fields }, { tokens, logitRows: 1, position })

test.each([
  ['linear_w4a8_g32', { n: 896 }, 1, 28],
  ['linear_w4a8_g32', { n: 896 }, 64, 28],
  ['linear_w4a8_g32', { n: 151_936, rows: ROWS.logits }, 64, 4748],
  ['linear_swiglu_w4a8_g32', { n: 4864 }, 1, 16],
  ['linear_experts', { n: 768, experts: 128, rows: ROWS.routed + 8 }, 1, 192],
  ['rmsnorm', { n: 896 }, 1, 1],
  ['rope_kv', { head_dim: 64, heads: 14 }, 5, 5],
  ['combine', { n: 2048 }, 3, 6],
  ['delta', { heads: 32, head_dim: 128 }, 16, 32],
] as const)('%s of %o has as many tiles with %i rows as in its kernel', (name, fields, tokens, count) => {
  expect(tiles(name, fields, tokens)).toBe(count)
})

test('attention has a tile for each 256 positions of a KV head in a small step, and for 16 rows in others', () => {
  expect(tiles('attention', { kv_heads: 2 }, 1, 512)).toBe(4)
  expect(tiles('attention', { kv_heads: 2 }, 128)).toBe(16)
})
