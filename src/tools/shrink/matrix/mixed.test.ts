// Mixed formats. In: small problems. Out: whether estimates match measured errors, and formats within a
// budget.

import { describe, expect, test } from 'vitest'
import { signedFrom } from '../../../../test/helpers/random.ts'
import { matrixBytes } from '../../../core/abi/encodings.ts'
import { decode } from '../codes/coded-matrix.ts'
import { measuredLoss, type Problem } from '../testing/obs.ts'
import { rtn } from './grid.ts'
import { inputStats } from './hessian.ts'
import {
  chooseFormats,
  energy,
  type Losses,
  lossesOf,
  MIXED_FORMATS,
  type MixedFormat,
  sampledRows,
} from './mixed.ts'

/** Inputs of which every 16th is 20 times as large, as in trained models. */
function outliers(n: number, k: number, rows: number): Problem {
  const random = signedFrom(n * k)
  const inputs = Float32Array.from({ length: rows * k }, (_, at) => random() * ((at % k) % 16 === 3 ? 20 : 1))
  return { weights: Float32Array.from({ length: n * k }, random), n, k, inputs } as Problem
}

describe('mixed formats', () => {
  test('the estimate is the share of energy lost by rounding', () => {
    const problem = outliers(40, 64, 150)
    const { weights, n, k, inputs } = problem
    const stats = inputStats('w', inputs, k)
    const losses = lossesOf([{ weights, n }], stats)
    const whole = energy(Float64Array.from(weights), stats)
    for (const format of MIXED_FORMATS) {
      const measured = measuredLoss(problem, decode(rtn(weights, n, k, format))) / whole
      expect(losses[format] / measured).toBeCloseTo(1, 3)
    }
    expect(losses.w8_g32).toBeLessThan(0.02 * losses.w4_g32)
  })

  test('a large matrix’s error is estimated from some of its outputs', () => {
    expect(sampledRows(10, 64)).toHaveLength(10)
    expect(sampledRows(4096, 8192)).toHaveLength(8)
    expect(new Set(sampledRows(5000, 896)).size).toBe(249)
  })

  const product = (name: string, w4: number, w4m: number, w8: number) => {
    const losses: Losses = { w4_g32: w4, w4m_g32: w4m, w8_g32: w8 }
    const bytesOf = (format: MixedFormat) => matrixBytes(format, 64, 64)
    return {
      name,
      losses,
      bytes: { w4_g32: bytesOf('w4_g32'), w4m_g32: bytesOf('w4m_g32'), w8_g32: bytesOf('w8_g32') },
    }
  }
  const products = [
    product('a', 0.01, 0.008, 0.0001),
    product('b', 0.1, 0.02, 0.001),
    product('c', 0.001, 0.0009, 0),
  ]
  const { w4_g32: small, w4m_g32: middle, w8_g32: large } = products[0]!.bytes

  test('the budget goes where a byte gains most, and is never exceeded', () => {
    const formats = (budget: number) => [...chooseFormats(products, budget).values()]
    expect(formats(3 * small)).toEqual(['w4_g32', 'w4_g32', 'w4_g32'])
    expect(formats(2 * small + middle)).toEqual(['w4_g32', 'w4m_g32', 'w4_g32'])
    expect(formats(small + 2 * large)).toEqual(['w8_g32', 'w8_g32', 'w4_g32'])
    expect(formats(3 * large)).toEqual(['w8_g32', 'w8_g32', 'w8_g32'])
    for (let budget = 3 * small; budget < 3 * large; budget += 100) {
      const chosen = chooseFormats(products, budget)
      expect(
        products.reduce((sum, { name, bytes }) => sum + bytes[chosen.get(name)!], 0),
      ).toBeLessThanOrEqual(budget)
    }
  })

  test('a budget below the smallest formats is rejected with the missing bytes', () => {
    expect(() => chooseFormats(products, 3 * small - 7)).toThrow(/raise --budget by 7 bytes or more/)
  })
})
