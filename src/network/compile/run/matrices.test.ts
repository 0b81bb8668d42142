// Tests matrices for the engine's kernels. In: random floats and codes. Out: whether their layout equals the
// engine's packing, and whether codes from a file keep their values.
import { expect, test } from 'vitest'
import { Random } from '../../../../test/helpers/random.ts'
import { matrixBytes } from '../../../core/abi/encodings.ts'
import { packRows } from '../../../core/weights/slabs.ts'
import { unpackPanels } from '../../../core/weights/unpack.ts'
import { tensorOf } from '../../onnx/ir/tensor.ts'
import type { MatrixEncoding } from '../loops/loops.ts'
import { codedBy, codedInBlocks } from './coded.ts'
import { laidMatrix } from './matrices.ts'

const ENCODINGS: readonly MatrixEncoding[] = ['w8_g32', 'w4_g32']

test.each(ENCODINGS)('floats in %s have the engine’s layout, however they are stored', (encoding) => {
  const random = new Random(5)
  for (const [n, k] of [
    [8, 32],
    [33, 64],
    [100, 96],
  ] as const) {
    const rows = Float32Array.from({ length: n * k }, () => random.signed())
    const target = new Uint8Array(matrixBytes(encoding, n, k))
    packRows({ dtype: 'F32', encoding, k, rows: n, source: new Uint8Array(rows.buffer), target })
    const byRows = { offset: 0, dims: [k, n], strides: [1, k] }
    expect(laidMatrix(rows, byRows, encoding)).toEqual(target)
    const columns = rows.map((_, at) => rows[(at % n) * k + Math.floor(at / n)]!)
    expect(laidMatrix(columns, { offset: 0, dims: [k, n], strides: [n, 1] }, encoding)).toEqual(target)
  }
})

test('codes from a file keep their values, except that their scales are rounded to f16', () => {
  const random = new Random(6)
  const k = 64
  const n = 40
  const data = Float64Array.from({ length: k * n }, () => random.below(256))
  const zero = Array.from({ length: n }, () => 127 + random.below(2))
  const scale = Array.from({ length: n }, () => 0.01 + Math.abs(random.signed()))
  const coded = codedBy(tensorOf('u8', [k, n], data), { axis: 1, scale, zero })
  const view = { offset: 0, dims: [k, n], strides: [n, 1] }
  const found = unpackPanels('w8_g32', laidMatrix(coded, view, 'w8_g32'), k)
  let kept = 0
  for (let row = 0; row < k; row++)
    for (let column = 0; column < n; column++) {
      const code = data[row * n + column]! - zero[column]!
      const error = Math.abs(found[column * k + row]! - code * scale[column]!)
      // The kernels have no code 128, so a group with it is requantised.
      expect(error).toBeLessThanOrEqual(0.51 * scale[column]!)
      if (error <= Math.abs(code) * scale[column]! * 2 ** -11) kept++
    }
  expect(kept / (k * n)).toBeGreaterThan(0.7)
})

test.each([false, true])('blocks of 4-bit codes keep their values (zero points: %s)', (hasZeros) => {
  const random = new Random(7)
  const n = 24
  const k = 96
  const block = 32
  const blocks = k / block
  const bytes = Uint8Array.from({ length: (n * k) / 2 }, () => random.below(256))
  // Rows of zero points begin at a byte boundary: three nibbles take two bytes.
  const zeroBytes = Uint8Array.from({ length: n * 2 }, () => random.below(256))
  const scales = Float32Array.from({ length: n * blocks }, () => (1 + random.below(31)) / 64)
  const coded = codedInBlocks(
    tensorOf('u8', [n, blocks, block / 2], bytes),
    { bits: 4, block, k, scales: 'scales' },
    tensorOf('f32', [n * blocks], scales),
    hasZeros ? tensorOf('u8', [n * 2], zeroBytes) : undefined,
  )
  const encoding = hasZeros ? 'w8_g32' : 'w4_g32'
  const laid = laidMatrix(coded, { offset: 0, dims: [k, n], strides: [1, k] }, encoding)
  const found = unpackPanels(encoding, laid, k)
  for (let row = 0; row < n; row++)
    for (let at = 0; at < k; at++) {
      const each = Math.floor(at / block)
      const nibble = (of: Uint8Array, index: number) => (of[index >> 1]! >> (4 * (index % 2))) & 15
      const zero = hasZeros ? nibble(zeroBytes, row * 4 + each) : 8
      const wanted = (nibble(bytes, row * k + at) - zero) * scales[row * blocks + each]!
      expect(found[row * k + at]).toBe(wanted)
    }
})
