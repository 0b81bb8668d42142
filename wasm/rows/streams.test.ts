// The kernels for streams and sparse gates: mix_streams, match_rms, cut_low, weigh. In: rows of odd widths.
// Out: the definition's bits, and the true values.

import { describe, expect, test } from 'vitest'
import { roundUp } from '../../src/core/abi/encodings.ts'
import { randomFrom } from '../../test/helpers/random.ts'
import { compare, type Machine, type Rows } from '../testing/machine.ts'

const M = 3
const tokens = (machine: Machine) => machine.setStep({ sequences: [{ position: 0, rows: M }] })

/** Random numbers, the same on every machine. */
function numbers(seed: number, width: number): number[][] {
  const random = randomFrom(seed)
  return Array.from({ length: M }, () => Array.from({ length: width }, () => 2 * random() - 1))
}
const filled = (machine: Machine, values: readonly number[][]): Rows =>
  machine.rows(M, values[0]!.length, (row, lane) => values[row]![lane]!)

/** Pads `values` so that each stream starts at a group boundary. */
const padded = (values: readonly number[], n: number): number[] => {
  const apart = roundUp(n, 32)
  return Array.from({ length: (values.length / n) * apart }, (_, at) =>
    at % apart < n ? values[Math.floor(at / apart) * n + (at % apart)]! : 0,
  )
}

describe('mix_streams', () => {
  test.each([
    ['all streams from all', { n: 1056, streams: 4, inputs: 4, first: 0, offset: 0, mixes: true }],
    ['all from one, with an offset', { n: 40, streams: 3, inputs: 1, first: 0, offset: 1, mixes: true }],
    ['one added to all but the first', { n: 33, streams: 4, inputs: 1, first: 1, offset: 1, mixes: false }],
  ])('%s', (_, { n, streams, inputs, first, offset, mixes }) => {
    const apart = roundUp(n, 32)
    const [x, z, c] = [numbers(1, streams * n), numbers(2, inputs * n), numbers(3, streams * inputs)] as const
    let y: Rows | undefined
    const { machine, difference } = compare((each) => {
      const [from, of, by] = [x.map((row) => padded(row, n)), z.map((row) => padded(row, n)), c].map((rows) =>
        filled(each, rows),
      ) as [Rows, Rows, Rows]
      y = each.rows(M, streams * apart)
      tokens(each)
      each.op('mix_streams', {
        ...{ x: from.at, x_stride: from.stride, z: of.at, z_stride: of.stride },
        ...{ c: mixes ? by.at : 0, c_stride: by.stride, y: y.at, y_stride: y.stride },
        ...{ n, apart, streams, inputs, first, offset },
      })
    })
    expect(difference).toBeUndefined()
    for (let row = 0; row < M; row++) {
      const made = machine.floats(y!, row)
      for (let i = 0; i < streams; i++) {
        for (let k = 0; k < apart; k++) {
          let right = k < n ? x[row]![i * n + k]! : 0
          for (let j = 0; j < inputs && i >= first && k < n; j++)
            right += (offset + (mixes ? c[row]![i * inputs + j]! : 0)) * z[row]![j * n + k]!
          expect(Math.abs(made[i * apart + k]! - right)).toBeLessThan(1e-6)
        }
      }
    }
  })
})

describe('match_rms', () => {
  test.each([32, 77, 1100])('of %i numbers', (n) => {
    const by = numbers(4, n)
    // The last row is so small that its mean square is replaced by 1e-5.
    const x = numbers(5, n).map((row, m) => row.map((value) => value * [1, 100, 1e-4][m]!))
    let y: Rows | undefined
    const { machine, difference } = compare((each) => {
      const [from, of] = [filled(each, x), filled(each, by)]
      y = each.rows(M, n)
      tokens(each)
      each.op('match_rms', {
        ...{ x: from.at, x_stride: from.stride, by: of.at, by_stride: of.stride },
        ...{ y: y.at, y_stride: y.stride, n, least: 1e-5 },
      })
    })
    expect(difference).toBeUndefined()
    const mean = (row: readonly number[]) => row.reduce((sum, value) => sum + value * value, 0) / n
    for (let row = 0; row < M; row++) {
      const ratio = Math.sqrt(mean(by[row]!) / Math.max(1e-5, mean(x[row]!)))
      for (const [lane, value] of machine.floats(y!, row).entries())
        expect(Math.abs(value - x[row]![lane]! * ratio)).toBeLessThan(
          1e-6 * ratio * Math.abs(x[row]![lane]!) + 1e-9,
        )
    }
  })
})

describe('cut_low', () => {
  test.each([
    [32, 1.5, false],
    [45, -0.25, false],
    [1030, 0, true],
  ])('of %i numbers, %f deviations, in place: %s', (n, scale, isInPlace) => {
    const x = numbers(6, n)
    let y: Rows | undefined
    const { machine, difference } = compare((each) => {
      const from = filled(each, x)
      y = isInPlace ? from : each.rows(M, n, () => 7)
      tokens(each)
      each.op('cut_low', { x: from.at, x_stride: from.stride, y: y.at, y_stride: y.stride, n, scale })
    })
    expect(difference).toBeUndefined()
    for (let row = 0; row < M; row++) {
      const mean = x[row]!.reduce((sum, value) => sum + value, 0) / n
      const deviation = Math.sqrt(x[row]!.reduce((sum, value) => sum + (value - mean) ** 2, 0) / n)
      const made = machine.floats({ ...y!, width: roundUp(n, 32) } as Rows, row)
      for (const [lane, value] of made.entries()) {
        const right = lane < n ? Math.max(0, x[row]![lane]! - (mean + scale * deviation)) : 0
        expect(Math.abs(value - right)).toBeLessThan(1e-6)
      }
    }
  })
})

test.each([32, 77, 1100])('weigh multiplies %i numbers by their weights', (n) => {
  const [x, [weights]] = [numbers(7, n), numbers(8, n)] as const
  let y: Rows | undefined
  const { machine, difference } = compare((each) => {
    const from = filled(each, x)
    const weight = each.rows(1, n, (_, lane) => weights![lane]!).at
    y = each.rows(M, n)
    tokens(each)
    each.op('weigh', { x: from.at, x_stride: from.stride, weight, y: y.at, y_stride: y.stride, n })
  })
  expect(difference).toBeUndefined()
  for (let row = 0; row < M; row++)
    for (const [lane, value] of machine.floats(y!, row).entries())
      expect(value).toBe(Math.fround(Math.fround(x[row]![lane]!) * Math.fround(weights![lane]!)))
})
