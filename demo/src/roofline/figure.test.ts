// In: made-up limits and steps. Out: whether the roofs bend in the right place and every op has its point.
import { expect, test } from 'vitest'
import { analyseStep } from '../../../lab/bench/roofline/analyse.ts'
import type { Limits } from '../../../lab/bench/roofline/limits.ts'
import type { TimedStep } from '../../../lab/bench/roofline/steps.ts'
import { attainable, figureOf, ridge, describe as sentence } from './figure.ts'

const exactly = (median: number) => ({ median, min: median, max: median })
const LIMITS: Limits = {
  build: 'simd128',
  memoryKind: 'plain',
  waits: [],
  reads: [
    { streams: 1, threads: 1, bytes: 1e6, gigabytesPerSecond: exactly(40) },
    { streams: 1, threads: 1, bytes: 1e8, gigabytesPerSecond: exactly(10) },
  ],
  peaks: [
    { peak: 'dot_i16', threads: 1, gigaopsPerSecond: exactly(100) },
    { peak: 'mul_add', threads: 1, gigaopsPerSecond: exactly(20) },
  ],
}
const cost = { kind: 'linear', stateBytes: 0, activationBytes: 0, unit: 'integer' } as const
const STEP: TimedStep = {
  stage: 'decode',
  build: 'simd128',
  threads: 1,
  stepMs: exactly(2),
  shape: { tokens: 1, logitRows: 1, position: 0 },
  ops: [
    {
      name: 'linear',
      label: 'a [tokens, 8]',
      ms: [1],
      tiles: 1,
      cost: { ...cost, weightBytes: 1e6, ops: 4e6 },
    },
    {
      name: 'linear',
      label: 'b [tokens, 8]',
      ms: [0],
      tiles: 1,
      cost: { ...cost, weightBytes: 1e6, ops: 4e6 },
    },
  ],
}

test('a roof rises with the memory speed up to the arithmetic speed', () => {
  const { roofs } = figureOf(LIMITS, 1, [])
  expect(roofs.map(ridge)).toEqual([10, 2.5, 2])
  expect(roofs.map((roof) => attainable(roof, 1))).toEqual([10, 40, 10])
  expect(roofs.map((roof) => attainable(roof, 1000))).toEqual([100, 100, 20])
})

test('an op is a point, unless it was too fast for the clock', () => {
  const { points, x, y } = figureOf(LIMITS, 1, [analyseStep(STEP, LIMITS)])
  expect(points).toEqual([
    { label: 'decode: a [tokens, 8]', kind: 'linear', stage: 'decode', opsPerByte: 4, gigaopsPerSecond: 4 },
  ])
  expect([x, y]).toEqual([
    [1, 10],
    [1, 100],
  ])
})

test('the text alternative names the roof and its ridge', () => {
  const text = sentence(figureOf(LIMITS, 1, [analyseStep(STEP, LIMITS)]))
  expect(text).toContain('10.0 GB/s and integer dots 100 GOP/s')
  expect(text).toContain('bends at 10.0 operations per byte')
})
