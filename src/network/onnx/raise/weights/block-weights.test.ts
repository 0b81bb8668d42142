// Block-quantised weights. In: a file's codes, scales and zero points in MatMulNBits' layout. Out: whether
// the rows read are scale * (code - zero point).

import { expect, test } from 'vitest'
import { randomFrom } from '../../../../../test/helpers/random.ts'
import { floatToHalf, halfToFloat } from '../../../../core/base/half.ts'
import { tensorOf } from '../../ir/tensor.ts'
import { storedNumbers, valuesOf } from '../../testing/stored-codes.ts'
import { blockTensor } from './block-weights.ts'

/** Packs codes into bytes, the first in the lowest bits. */
function packed(codes: readonly number[], bits: number): number[] {
  const per = 8 / bits
  return Array.from({ length: codes.length / per }, (_, at) =>
    codes.slice(at * per, (at + 1) * per).reduceRight((byte, code) => (byte << bits) | code, 0),
  )
}

const N = 6
const K = 192

test.each<[number, number, string, string, { k?: number; isMixed?: boolean }?]>([
  [4, 32, 'none', 'Q4_0'],
  [4, 64, 'none', 'Q4_0'],
  [4, 128, 'none', 'Q4_0'],
  [4, 32, 'codes', 'Q4_1'],
  [4, 128, 'codes', 'Q4_1'],
  [4, 32, 'floats', 'Q4_1'],
  [4, 16, 'none', 'F32'],
  [8, 32, 'none', 'Q8_0'],
  [8, 64, 'none', 'Q8_0'],
  [8, 256, 'none', 'Q8_0'],
  [8, 32, 'codes', 'F32'],
  [8, 16, 'none', 'F32'],
  [2, 32, 'none', 'Q4_0'],
  [2, 128, 'none', 'Q4_0'],
  [2, 256, 'none', 'Q4_0'],
  [2, 64, 'codes', 'Q4_1'],
  [2, 32, 'floats', 'Q4_1'],
  [2, 16, 'codes', 'F32'],
  [2, 32, 'none', 'F32', { k: 176 }],
  [4, 32, 'none', 'F32', { k: 176 }],
  [8, 64, 'codes', 'F32', { k: 40 }],
  [4, 32, 'none', 'F32', { isMixed: true }],
  [4, 64, 'codes', 'F32', { isMixed: true }],
  [2, 32, 'codes', 'F32', { isMixed: true }],
  [8, 32, 'codes', 'F32', { isMixed: true }],
])(
  '%i bits in blocks of %i with zero points %s are read as %s %o',
  async (bits, block, zeroPoints, form, { k = K, isMixed = false } = {}) => {
    const next = randomFrom(3)
    const code = () => Math.floor(next() * 2 ** bits)
    const blocks = Math.ceil(k / block)
    const codes = Array.from({ length: N * blocks * block }, code)
    // Scales that are exact in f16.
    const scales = Array.from({ length: N * blocks }, () => halfToFloat(floatToHalf(next() / 100 - 0.005)))
    const middle = 2 ** (bits - 1)
    // A row of zero points ends on a byte.
    const perRow = Math.ceil((blocks * bits) / 8) * (8 / bits)
    const zeros = Array.from({ length: N * perRow }, code)
    const zeroOf = (row: number, at: number) => zeros[row * (zeroPoints === 'codes' ? perRow : blocks) + at]!
    const order = isMixed ? Array.from({ length: k }, () => Math.floor(next() * blocks)) : undefined
    const tensor = blockTensor({
      file: 'model.onnx',
      name: 'w',
      n: N,
      k,
      order: order && tensorOf('i32', [k], order),
      bits,
      block,
      codes: storedNumbers('u8', [packed(codes, bits).length], packed(codes, bits)),
      scales: storedNumbers('f32', [scales.length], scales),
      zeros:
        zeroPoints === 'none'
          ? undefined
          : zeroPoints === 'floats'
            ? storedNumbers('f32', [N * blocks], zeros.slice(0, N * blocks))
            : storedNumbers('u8', [packed(zeros, bits).length], packed(zeros, bits)),
    })
    expect(tensor.dtype).toBe(form)
    for (const [first, end] of [
      [0, N],
      [1, 4],
    ] as const) {
      const due = Array.from({ length: (end - first) * k }, (_, index) => {
        const row = first + Math.floor(index / k)
        const at = index % k
        const own = order?.[at] ?? Math.floor(at / block)
        const zero = zeroPoints === 'none' ? middle : zeroOf(row, own)
        return scales[row * blocks + own]! * (codes[row * blocks * block + at]! - zero)
      })
      const found = await valuesOf(tensor, first, end)
      // Q4_1 stores scale * zero point in f16.
      const most = form === 'Q4_1' ? 2 ** -11 * 0.08 : 1e-9
      expect(found.every((value, index) => Math.abs(value - due[index]!) <= most)).toBe(true)
    }
  },
)
