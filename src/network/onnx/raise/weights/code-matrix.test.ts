// Quantised matrices. In: a file's codes, scales and zero points in every layout. Out: whether the rows read
// match DequantizeLinear.

import { expect, test } from 'vitest'
import { randomFrom } from '../../../../../test/helpers/random.ts'
import { floatToHalf, halfToFloat } from '../../../../core/base/half.ts'
import type { Constant } from '../../ir/graph.ts'
import type { DType } from '../../ir/tensor.ts'
import { storedNumbers, valuesOf } from '../../testing/stored-codes.ts'
import { codeTensor } from './code-matrix.ts'

const N = 6
const K = 64
const RANGES: Partial<Record<DType, readonly [number, number]>> = {
  i8: [-128, 127],
  u8: [0, 255],
  i4: [-8, 7],
  u4: [0, 15],
}

test.each([
  ['i8', 'one', 'none', 'Q8_0'],
  ['i8', 'outputs', 'none', 'Q8_0'],
  ['i8', 'outputs', 'each', 'F32'],
  ['u8', 'outputs', 'middle', 'Q8_0'],
  ['u8', 'one', 'each', 'F32'],
  ['i8', 'blocks of 64', 'none', 'Q8_0'],
  ['i4', 'blocks of 32', 'none', 'Q4_0'],
  ['u4', 'blocks of 32', 'each', 'Q4_1'],
  ['u4', 'blocks of 32', 'middle', 'Q4_0'],
  ['i4', 'blocks of 16', 'none', 'F32'],
  ['i4', 'blocks of 32', 'each', 'F32'],
] as const)(
  '%s with scales %s and zero points %s are read as %s',
  async (dtype, spread, zeroPoints, form) => {
    const block = Number(/\d+/.exec(spread)?.[0] ?? 0)
    const parts = block === 0 ? 1 : K / block
    const count = spread === 'one' ? 1 : N * parts
    const [low, high] = RANGES[dtype]!
    for (const isTransposed of [false, true]) {
      const next = randomFrom(7)
      const whole = () => low + Math.floor(next() * (high - low + 1))
      const codes = Array.from({ length: N * K }, whole)
      const zeros = Array.from({ length: count }, whole)
      // Scales that are exact in f16.
      const scales = Array.from({ length: count }, () => halfToFloat(floatToHalf(0.001 + next() / 100)))
      const middle = (high + low + 1) / 2
      const used = zeroPoints === 'each' ? zeros : zeros.map(() => (zeroPoints === 'middle' ? middle : 0))
      const dims = (width: number) => (count === 1 ? [] : isTransposed ? [N, width] : [width, N])
      const asZeros = { dtype, dims: dims(parts), data: Int16Array.from(used) } as Constant
      const tensor = codeTensor('model.onnx', 'w', {
        name: 'w',
        codes: storedNumbers(dtype, isTransposed ? [N, K] : [K, N], codes),
        isTransposed,
        block,
        scales: storedNumbers('f32', dims(parts), scales),
        zeros: zeroPoints === 'none' ? undefined : asZeros,
      })
      expect(tensor).toMatchObject({ dtype: form, shape: [N, K] })
      const due = (line: number, place: number) => {
        const part = block === 0 ? 0 : Math.floor(place / block)
        const at = count === 1 ? 0 : isTransposed ? line * parts + part : part * N + line
        return scales[at]! * (codes[isTransposed ? line * K + place : place * N + line]! - used[at]!)
      }
      for (const [first, end] of [
        [0, N],
        [1, 4],
      ] as const) {
        const found = await valuesOf(tensor, first, end)
        const expected = found.map((_, at) => due(first + Math.floor(at / K), at % K))
        // Q4_1 rounds scale * zero to f16.
        for (const [at, value] of found.entries())
          expect(value).toBeCloseTo(expected[at]!, form === 'Q4_1' ? 3 : 6)
      }
    }
  },
)

test('scales that do not match the outputs are rejected, naming them', () => {
  const codes = storedNumbers('i8', [K, N], Array(N * K).fill(1))
  const scales = storedNumbers('f32', [K], Array(K).fill(1))
  const matrix = { name: 'w', codes, isTransposed: false, scales, block: 0 }
  expect(() => codeTensor('model.onnx', 'w', matrix)).toThrow(/w has 64 scales, but 6 outputs need 6/)
})
