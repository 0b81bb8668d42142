// Tests limits, shares, sums and tables with made-up limits and times.
import { expect, test } from 'vitest'
import type { OpCost } from '../../../src/core/graph/plan/cost.ts'
import { analyse, analyseStep, limitMs, readBandwidth } from './analyse.ts'
import type { Limits } from './limits.ts'
import type { TimedOp, TimedStep } from './steps.ts'
import { aligned, allTables, figure, kindTable, markdown, peakTable, worstTable } from './tables.ts'

const exactly = (median: number) => ({ median, min: median, max: median })
const MB = 1e6

/**
 * A machine with 40 GB/s up to 1 MB and 10 GB/s beyond, twice that with eight streams; 200 GOP/s of dots and
 * 20 of floats.
 */
const LIMITS: Limits = {
  build: 'relaxed',
  memoryKind: 'shared',
  reads: ([1, 8] as const).flatMap((streams) =>
    [1, 100].map((size) => ({
      streams,
      threads: 1,
      bytes: size * MB,
      gigabytesPerSecond: exactly((size === 1 ? 40 : 10) * (streams === 8 ? 2 : 1)),
    })),
  ),
  peaks: [
    { peak: 'dot_i8', threads: 1, gigaopsPerSecond: exactly(200) },
    { peak: 'dot_i8_pairs', threads: 1, gigaopsPerSecond: exactly(150) },
    { peak: 'dot_i16', threads: 1, gigaopsPerSecond: exactly(100) },
    { peak: 'mul_add', threads: 1, gigaopsPerSecond: exactly(20) },
  ],
  waits: [
    { threads: 2, barrierUs: exactly(0.5), runUs: exactly(2), wakeUs: exactly(20), startMs: exactly(80) },
  ],
}

const cost = (fields: Partial<OpCost>): OpCost => ({
  kind: 'linear',
  weightBytes: 0,
  stateBytes: 0,
  activationBytes: 0,
  ops: 0,
  unit: 'integer',
  ...fields,
})
const op = (label: string, ms: number[], fields: Partial<OpCost>): TimedOp => ({
  name: 'linear_w4a8_g32',
  label,
  ms,
  cost: cost(fields),
  tiles: 64,
})
const step = (ops: readonly TimedOp[], stepMs: number): TimedStep => ({
  stage: 'decode',
  build: 'relaxed',
  threads: 1,
  ops,
  stepMs: exactly(stepMs),
  shape: { tokens: 1, logitRows: 1, position: 7 },
})

test('bandwidth is that of one stream over the smallest working set that holds the bytes', () => {
  expect(readBandwidth(LIMITS, 1, MB)).toBe(40)
  expect(readBandwidth(LIMITS, 1, MB + 1)).toBe(10)
  expect(readBandwidth(LIMITS, 1, 1e12)).toBe(10)
  expect(() => readBandwidth(LIMITS, 2, 1)).toThrow('2 threads')
})

test('an op is limited by its bytes or by its operations, whichever take longer', () => {
  const bytes = { weightBytes: 10 * MB, activationBytes: MB }
  expect(limitMs(cost(bytes), LIMITS, 1, 50 * MB)).toBeCloseTo(1 + 0.025, 9)
  expect(limitMs(cost({ ...bytes, ops: 400e6 }), LIMITS, 1, 50 * MB)).toBeCloseTo(2, 9)
  expect(limitMs(cost({ unit: 'float', ops: 400e6 }), LIMITS, 1, 50 * MB)).toBeCloseTo(20, 9)
  const simd128: Limits = { ...LIMITS, build: 'simd128' }
  expect(limitMs(cost({ ops: 400e6 }), simd128, 1, 50 * MB)).toBeCloseTo(4, 9)
})

test('weights that fit into a cache completely are limited by the cache', () => {
  expect(limitMs(cost({ weightBytes: MB / 2 }), LIMITS, 1, MB)).toBeCloseTo(0.0125, 9)
})

test('ops of all layers share a line, and the most time above the limit comes first', () => {
  const analysis = analyseStep(
    step(
      [
        op('layers.0.mlp_down [tokens, 8]', [2, 2, 3], { weightBytes: 10 * MB }),
        op('layers.1.mlp_down [tokens, 8]', [2, 3, 2], { weightBytes: 10 * MB }),
        op('layers.1.attn [tokens, 8]', [9, 9, 9], { kind: 'attention', stateBytes: 20 * MB }),
      ],
      16,
    ),
    LIMITS,
  )
  expect(analysis.lines.map(({ label, count }) => [label, count])).toEqual([
    ['attn [tokens, 8]', 1],
    ['mlp_down [tokens, 8]', 2],
  ])
  const [attention, down] = analysis.lines
  expect(down?.ms).toEqual({ median: 5, min: 4, max: 5 })
  expect(down?.limitMs).toBeCloseTo(2, 9)
  expect(down?.share).toBeCloseTo(0.4, 9)
  expect(attention?.share).toBeCloseTo(2 / 9, 9)
  expect(analysis.kinds.map(({ label }) => label)).toEqual(['Linear', 'Attention'])
  expect(analysis.step.share).toBeCloseTo(4 / 16, 9)
  expect(analysis.limitTokensPerSecond).toBeCloseTo(250, 9)
  expect(analysis.tokensPerSecond).toBeCloseTo(62.5, 9)
})

test('a step whose build has no limits is omitted', () => {
  const one = step([op('logits [logitRows, 8]', [1], { weightBytes: MB })], 1)
  const model = { name: 'm', parameters: 1, steps: [one, { ...one, build: 'simd128' as const }] }
  expect(analyse({ limits: [LIMITS], models: [model] }).map(({ build }) => build)).toEqual(['relaxed'])
})

test('tables show figures with their spread and unit', () => {
  const steps = [
    analyseStep(step([op('logits [logitRows, 8]', [1, 4, 2], { weightBytes: 10 * MB })], 2), LIMITS),
  ]
  expect(peakTable(steps).rows).toEqual([['decode at position 7, relaxed, 1 thread', '1000', '500', '50 %']])
  const [only] = steps
  if (only === undefined) throw new Error('there is one step')
  expect(kindTable(only).rows.map(([name]) => name)).toEqual(['Linear', 'Whole step'])
  expect(worstTable(only).rows[0]).toContain('2.000 (1.000-4.000)')
  const text = allTables([LIMITS], steps).map(markdown).join('\n')
  expect(text).toContain('| read 95 MiB, 8 streams, GB/s | 20.0 (20.0-20.0) |')
  expect(text).toContain('| barrier, us | 0.50 (0.50-0.50) |')
})

test('aligned text keeps every column in line', () => {
  const lines = aligned({
    title: 'T',
    head: ['', 'value'],
    rows: [
      ['long name', '1'],
      ['x', '22'],
    ],
  }).split('\n')
  expect(lines).toEqual(['T', '           value', 'long name      1', 'x             22', ''])
})

test('figures have three digits and no exponent', () => {
  expect([0, 0.00001234, 0.5, 12.345, 151936, Number.NaN].map(figure)).toEqual([
    '0',
    '0.000012',
    '0.500',
    '12.3',
    '151936',
    '',
  ])
})
