// Rounding. In: groups of weights. Out: whether codes equal those of src/core/weights, and whether errors are
// close to those of a search.

import { describe, expect, test } from 'vitest'
import { signedFrom } from '../../../../test/helpers/random.ts'
import { quantize4, quantize8 } from '../../../core/weights/quantize-weights.ts'
import { decode } from '../codes/coded-matrix.ts'
import { storedScale } from '../testing/obs.ts'
import { rtn } from './grid.ts'

const random = signedFrom(1)
const weights = Float32Array.from({ length: 6 * 96 }, (_, i) => random() ** 3 + (i < 96 ? 0.7 : 0))

const errorOf = (values: ArrayLike<number>, from = 0, count = values.length) => {
  let sum = 0
  for (let i = from; i < from + count; i++) sum += (values[i]! - weights[i]!) ** 2
  return sum
}

describe('rtn', () => {
  test("chooses exactly the loader's codes and scales", () => {
    const codes = new Uint8Array(96)
    const [w4, w8, row] = (['w4_g32', 'w8_g32', 'w4_channel'] as const).map((f) => rtn(weights, 6, 96, f))
    for (let at = 0; at < weights.length; at += 32) {
      expect(w4!.scales[at / 32]).toBe(quantize4(weights, at, codes, 0))
      expect(w4!.codes.slice(at, at + 32)).toEqual(codes.slice(0, 32))
      expect(w8!.scales[at / 32]).toBe(quantize8(weights, at, codes, 0))
      expect(w8!.codes.slice(at, at + 32)).toEqual(codes.slice(0, 32))
    }
    for (let at = 0; at < weights.length; at += 96) {
      expect(row!.scales[at / 96]).toBe(quantize4(weights, at, codes, 0, 96))
      expect(row!.codes.slice(at, at + 96)).toEqual(codes)
    }
  })

  test('w4m is nearly as good as a fine search over both ends, and better than w4 on one-sided weights', () => {
    const coded = decode(rtn(weights, 6, 96, 'w4m_g32'))
    for (let at = 0; at < weights.length; at += 32) {
      const group = Array.from(weights.subarray(at, at + 32))
      const low = Math.min(...group)
      const high = Math.max(...group)
      let least = Number.POSITIVE_INFINITY
      for (let a = 0; a <= 0.2; a += 0.01) {
        for (let b = 0; b <= 0.2; b += 0.01) {
          const first = storedScale(low + a * (high - low))
          const scale = storedScale(((high - low) * (1 - a - b)) / 15)
          const error = group.reduce((sum, w) => {
            const code = Math.min(15, Math.max(0, Math.round((w - first) / scale)))
            return sum + (w - first - scale * code) ** 2
          }, 0)
          least = Math.min(least, error)
        }
      }
      expect(errorOf(coded, at, 32)).toBeLessThan(1.1 * least)
    }
    expect(errorOf(coded, 0, 96)).toBeLessThan(0.5 * errorOf(decode(rtn(weights, 6, 96, 'w4_g32')), 0, 96))
  })

  test('groups of zeros and of one value are exact', () => {
    for (const value of [0, 0.25, -0.5]) {
      const same = new Float32Array(40).fill(value)
      expect([...decode(rtn(same, 1, 40, 'w4m_g32'))]).toEqual([...same])
      if (value === 0) expect([...decode(rtn(same, 1, 40, 'w4_g32'))]).toEqual([...same])
    }
  })
})
