// Weights in blocks. In: codes, scales and zero points as MatMulNBits has them, in a file. Out: whether rows
// that are read are scale * (code - zero point).

import { expect, test } from 'vitest'
import { randomFrom } from '../../../../test/helpers/random.ts'
import { floatToHalf, halfToFloat } from '../../../base/half.ts'
import { storedNumbers, valuesOf } from '../../testing/stored-codes.ts'
import { blockTensor } from './block-weights.ts'

const N = 6
const K = 192

test.each([
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
] as const)(
  '%i bits in blocks of %i, zero points: %s are read as %s',
  async (bits, block, zeroPoints, form) => {
    const next = randomFrom(3)
    const code = () => Math.floor(next() * 2 ** bits)
    const blocks = Math.ceil(K / block)
    const codes = Array.from({ length: N * blocks * block }, code)
    // Scales that f16 has.
    const scales = Array.from({ length: N * blocks }, () => halfToFloat(floatToHalf(next() / 100 - 0.005)))
    const middle = 2 ** (bits - 1)
    // A row of zero points ends with a byte.
    const perRow = Math.ceil((blocks * bits) / 8) * (8 / bits)
    const zeros = Array.from({ length: N * perRow }, code)
    const zeroOf = (row: number, at: number) => zeros[row * (zeroPoints === 'codes' ? perRow : blocks) + at]!
    const dtype = bits === 4 ? 'u4' : 'u8'
    const tensor = blockTensor({
      file: 'model.onnx',
      name: 'w',
      n: N,
      k: K,
      bits,
      block,
      codes: { ...storedNumbers(dtype, [codes.length], codes), dtype: 'u8' },
      scales: storedNumbers('f32', [scales.length], scales),
      zeros:
        zeroPoints === 'none'
          ? undefined
          : zeroPoints === 'floats'
            ? storedNumbers('f32', [N * blocks], zeros.slice(0, N * blocks))
            : { ...storedNumbers(dtype, [zeros.length], zeros), dtype: 'u8' },
    })
    expect(tensor.dtype).toBe(form)
    for (const [first, end] of [
      [0, N],
      [1, 4],
    ] as const) {
      const due = Array.from({ length: (end - first) * K }, (_, index) => {
        const row = first + Math.floor(index / K)
        const at = index % K
        const own = Math.floor(at / block)
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
