// Tests cost tables. In: tables with and without mistakes, masks. Out: times interpolated between
// measurements, typed errors that say what is wrong, and the bytes that a pack takes.
import { describe, expect, test } from 'vitest'
import { bufferSource } from '../../base/bytes.ts'
import { isHalfbyteError } from '../../base/errors.ts'
import { builtInCosts, keptBytes, measuredCosts, parseCostTable } from './cost-table.ts'
import { surveySparse } from './pack.ts'

const curve = [
  [0.1, 1],
  [0.5, 3],
  [0.9, 4],
] as const
const matrix = { n: 64, k: 32, denseMs: 5, sb84: curve, sv32: curve }
const table = {
  version: 1,
  machine: 'a machine',
  model: 'tiny',
  build: 'relaxed',
  threads: 1,
  format: 'w4_g32',
  restMs: 2,
  matrices: [matrix],
}

test('times lie on lines between measured shares, and beyond them on the last line', () => {
  const { timeOf, restMs } = measuredCosts(parseCostTable('c.json', table))
  expect(restMs).toBe(2)
  expect(timeOf(64, 32, undefined, 1)).toBe(5)
  expect([0.1, 0.3, 0.5, 0.8, 1].map((kept) => timeOf(64, 32, 'sv32', kept))).toEqual([
    1,
    expect.closeTo(2, 9),
    3,
    expect.closeTo(3.75, 9),
    expect.closeTo(4.25, 9),
  ])
  expect(() => timeOf(64, 64, 'sb84', 0.5)).toThrow(
    /the costs have no matrix of 64 x 64, only 64x32; measure them on this model/,
  )
})

test('built-in times cover any shape, but not the rest of a token', () => {
  const { timeOf, restMs } = builtInCosts('w4_g32')
  expect(restMs).toBeUndefined()
  expect(timeOf(128, 64, undefined, 1)).toBeCloseTo(4 * timeOf(64, 32, undefined, 1), 12)
  expect(timeOf(64, 32, 'sv32', 0.3)).toBeLessThan(timeOf(64, 32, 'sv32', 0.6))
})

describe('a table that measure-costs could not have written is rejected', () => {
  test.each([
    [{ version: 2 }, /its version is 2, but only 1 is supported/],
    [{ format: 'w4m_g32' }, /its format is "w4m_g32" but must be w4_g32 or w8_g32/],
    [{ machine: 7 }, /its machine is 7, not a string/],
    [{ threads: 0 }, /its threads are 0/],
    [{ restMs: '2' }, /its restMs is "2", which is not a time/],
    [{ matrices: [] }, /it has no matrices/],
    [{ matrices: [{ ...matrix, k: 0 }] }, /matrix 0 of 1 has no shape/],
    [{ matrices: [{ ...matrix, denseMs: 0 }] }, /the dense time of 64 x 32 is 0/],
    [{ matrices: [{ ...matrix, sb84: [[0.5, 1]] }] }, /sb84 of 64 x 32 is not a list of two or more/],
    [
      { matrices: [{ ...matrix, sv32: [...curve].reverse() }] },
      /sv32 of 64 x 32 is not a list of two or more/,
    ],
    [
      {
        matrices: [
          {
            ...matrix,
            sv32: [
              [0.1, 1],
              [0.5, null],
            ],
          },
        ],
      },
      /sv32 of 64 x 32 is not a list of two/,
    ],
  ])('%j', (wrong, message) => {
    try {
      parseCostTable('c.json', { ...table, ...wrong })
      expect.unreachable()
    } catch (error) {
      expect(isHalfbyteError(error) && error.code).toBe('format')
      expect(String(error)).toMatch(message)
      expect(String(error)).toMatch(/write it with halfbyte measure-costs/)
    }
  })
})

test.each(['sb84', 'sv32'] as const)('%s: a mask takes as many bytes as in a pack', async (format) => {
  const n = 72
  const k = 96
  const [rows, inputs] = format === 'sb84' ? [8, 4] : [32, 1]
  const kept = Uint8Array.from({ length: n * k }, (_, at) => {
    const unit = Math.floor(Math.floor(at / k) / rows) * 31 + Math.floor((at % k) / inputs) * 17
    return unit % 5 < 2 ? 1 : 0
  })
  const weights = Float32Array.from(kept, (keep, at) => keep * (1 + (at % 3)))
  for (const base of ['w4_g32', 'w8_g32'] as const) {
    const source = bufferSource('weights', new Uint8Array(weights.buffer))
    const place = { source, offset: 0, byteLength: source.size }
    const { sizes } = await surveySparse(
      [{ name: 'weights', dtype: 'F32', shape: [n, k], ...place }],
      base,
      format,
    )
    const strips = (sizes[0] ?? []).reduce((sum, bytes) => sum + bytes, 0)
    expect(keptBytes(kept, n, k, base, format)).toBe(64 + strips)
  }
})
