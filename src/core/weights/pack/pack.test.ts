// Tests the packers. In: stored rows of every dtype. Out: panels that the slow reference decodes to the same
// weights.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { concat } from '../../../../test/conformance/testing/writers/gguf-writer.ts'
import { randomNormal, randomTensor } from '../../../../test/conformance/testing/writers/random-tensor.ts'
import { type Encoding, matrixBytes } from '../../abi/encodings.ts'
import { isHalfbyteError } from '../../base/errors.ts'
import { floatToHalf } from '../../base/half.ts'
import { dequantize } from '../../formats/dequantize.ts'
import { BLOCKS, storedRows } from '../../formats/dtypes.ts'
import type { DType } from '../../formats/tensors.ts'
import { packRows } from '../slabs.ts'
import { packedMatrix, packedWeight, storedMatrix } from '../testing/reference.ts'
import { unpackPanels } from '../unpack.ts'

const random = (dtype: DType, n: number, k: number, seed = 1) =>
  concat([...randomTensor(dtype, [n, k], seed)])

/** Packs into memory that still has old contents. */
function pack(dtype: DType, encoding: Encoding, source: Uint8Array, n: number, k: number): Uint8Array {
  const target = new Uint8Array(matrixBytes(encoding, n, k)).fill(0xa5)
  packRows({ dtype, encoding, k, rows: n, source, target })
  return target
}

function floats(values: ArrayLike<number>): Uint8Array {
  return new Uint8Array(Float32Array.from(values).buffer)
}

const LOSSLESS: readonly (readonly [DType, Encoding])[] = [
  ['F32', 'f32'],
  ['F16', 'f16'],
  ['BF16', 'bf16'],
  ['F16', 'f32'],
  ['BF16', 'f32'],
  ['Q8_0', 'f32'],
  ['Q4_0', 'f32'],
  ['Q4_1', 'f32'],
  ['Q8_0', 'w8_g32'],
  ['Q4_0', 'w4_g32'],
  ['Q4_1', 'w4m_g32'],
  ['Q4_0', 'w8_g32'],
  ['Q4_0', 'w4m_g32'],
]

describe('lossless packing', () => {
  test.each(LOSSLESS)(
    '%s as %s reads back as the stored weights, followed by zero rows',
    (dtype, encoding) => {
      for (const [n, k] of [
        [1, 32],
        [8, 64],
        [37, 96],
        [64, 32],
      ] as const) {
        const source = random(dtype, n, k, n)
        const packed = pack(dtype, encoding, source, n, k)
        const padded = Math.ceil(n / 32) * 32
        const read = packedMatrix(encoding, packed, padded, k)
        expect(read.subarray(0, n * k)).toEqual(storedMatrix(dtype, source, n, k))
        expect(read.subarray(n * k).every((weight) => weight === 0)).toBe(true)
        // The fast unpacker agrees with the slow one.
        expect(unpackPanels(encoding, packed, k)).toEqual(read)
      }
    },
  )

  test.each(['F32', 'F16', 'BF16'] as const)('%s accepts any K', (dtype) => {
    const source = random(dtype, 9, 5)
    for (const encoding of [dtype.toLowerCase() as Encoding, 'f32' as const]) {
      const read = packedMatrix(encoding, pack(dtype, encoding, source, 9, 5), 9, 5)
      expect(read).toEqual(storedMatrix(dtype, source, 9, 5))
    }
  })

  test('a source that begins at an odd address yields the same bytes', () => {
    for (const [dtype, encoding] of LOSSLESS) {
      const source = random(dtype, 8, 32)
      const shifted = new Uint8Array(source.length + 1)
      shifted.set(source, 1)
      expect(pack(dtype, encoding, shifted.subarray(1), 8, 32)).toEqual(pack(dtype, encoding, source, 8, 32))
    }
  })

  test('every code is exact with scales at both limits of f16 and the kernels', () => {
    // 255.875 is the largest scale. 2^-24 is the smallest: subnormal, and normal once multiplied.
    for (const scale of [0, 2 ** -24, 3 * 2 ** -20, 2 ** -14, -0.5, 255.875, -255.875]) {
      for (const [dtype, encoding] of [
        ['Q8_0', 'w8_g32'],
        ['Q4_0', 'w4_g32'],
        ['Q4_1', 'w4m_g32'],
      ] as const) {
        const source = random(dtype, 32, 32)
        const view = new DataView(source.buffer)
        for (let block = 0; block < 32; block++)
          view.setUint16(block * BLOCKS[dtype].bytes, floatToHalf(scale), true)
        const read = packedMatrix(encoding, pack(dtype, encoding, source, 32, 32), 32, 32)
        expect(read).toEqual(storedMatrix(dtype, source, 32, 32))
      }
    }
  })

  test('padding has the codes and scales that abi.h defines', () => {
    const nothing = (dtype: DType, encoding: Encoding) => pack(dtype, encoding, new Uint8Array(0), 0, 32)
    expect(nothing('Q4_0', 'w4_g32')).toHaveLength(0)
    const w4 = pack('Q4_0', 'w4_g32', random('Q4_0', 1, 32), 1, 32).subarray(144)
    expect(w4.subarray(0, 16)).toEqual(new Uint8Array(16))
    expect(w4.subarray(16, 144)).toEqual(new Uint8Array(128).fill(0x88))
    const w4m = pack('Q4_1', 'w4m_g32', random('Q4_1', 1, 32), 1, 32).subarray(160)
    expect(w4m.every((byte) => byte === 0)).toBe(true)
    const w8 = pack('Q8_0', 'w8_g32', random('Q8_0', 1, 32), 1, 32).subarray(272)
    expect(w8.subarray(16, 272)).toEqual(new Uint8Array(256).fill(128))
  })
})

test('dequantize agrees with the definitions, starting at any block', () => {
  for (const dtype of ['F32', 'F16', 'BF16', 'Q8_0', 'Q4_0', 'Q4_1'] as const) {
    const source = random(dtype, 4, 64)
    const out = new Float32Array(100)
    dequantize(storedRows(dtype, source), 96, 64, out, 3)
    expect(out.subarray(3, 67)).toEqual(storedMatrix(dtype, source, 4, 64).subarray(96, 160))
  }
})

describe('quantising', () => {
  const squaredError = (a: Float32Array, b: Float32Array) =>
    a.reduce((sum, value, at) => sum + (value - b[at]!) ** 2, 0)

  test('w8: every weight is within half a step of the group’s scale', () => {
    for (const dtype of ['F32', 'F16', 'BF16', 'Q4_1'] as const) {
      const source = random(dtype, 32, 64)
      const stored = storedMatrix(dtype, source, 32, 64)
      const read = packedMatrix('w8_g32', pack(dtype, 'w8_g32', source, 32, 64), 32, 64)
      for (let group = 0; group < stored.length; group += 32) {
        const peak = stored
          .subarray(group, group + 32)
          .reduce((most, weight) => Math.max(most, Math.abs(weight)), 0)
        for (let i = group; i < group + 32; i++) {
          expect(Math.abs(read[i]! - stored[i]!)).toBeLessThanOrEqual((peak / 127) * 0.502 + 1e-9)
        }
      }
    }
  })

  test('w4: never worse than plain rounding from the largest weight, and much better on average', () => {
    const n = 64
    const k = 256
    const normal = randomNormal(7, 0.02)
    const weights = Float32Array.from({ length: n * k }, normal)
    const read = packedMatrix('w4_g32', pack('F32', 'w4_g32', floats(weights), n, k), n, k)
    let searched = 0
    let plain = 0
    for (let at = 0; at < weights.length; at += 32) {
      const group = weights.subarray(at, at + 32)
      const peak = group.reduce((most, weight) => (Math.abs(weight) > Math.abs(most) ? weight : most), 0)
      const rounded = group.map((weight) => {
        const code = Math.min(15, Math.max(0, Math.floor((weight / peak) * -8 + 8.5)))
        return (peak / -8) * (code - 8)
      })
      const error = squaredError(group, read.subarray(at, at + 32))
      expect(error).toBeLessThanOrEqual(squaredError(group, rounded) * 1.001)
      searched += error
      plain += squaredError(group, rounded)
    }
    expect(searched / plain).toBeLessThan(0.9)
  })

  test('w4 of an already quantised Q4_0 group recovers its codes', () => {
    const source = random('Q4_0', 32, 32, 3)
    // Every group contains a code 0, so the largest weight is at the end of the range.
    for (let block = 0; block < 32; block++) source[block * 18 + 2] = 0
    const stored = storedMatrix('Q4_0', source, 32, 32)
    const read = packedMatrix('w4_g32', pack('F32', 'w4_g32', floats(stored), 32, 32), 32, 32)
    expect(squaredError(read, stored)).toBeLessThan(1e-9)
  })

  test('w4_channel: one scale per row, with the error expected for normally distributed weights after narrowing the range', () => {
    const n = 40
    const k = 904
    const normal = randomNormal(7, 0.02)
    const weights = Float32Array.from({ length: n * k }, normal)
    const packed = pack('F32', 'w4_channel', floats(weights), n, k)
    const read = packedMatrix('w4_channel', packed, 64, k)
    for (let row = 0; row < n; row++) {
      const values = [...new Set(read.subarray(row * k, row * k + k))].sort((a, b) => a - b)
      const step = values[1]! - values[0]!
      expect(values.length).toBeLessThanOrEqual(16)
      for (const value of values) expect(Math.abs(value / step - Math.round(value / step))).toBeLessThan(1e-3)
    }
    const signal = squaredError(weights, new Float32Array(weights.length))
    // The best 16 even steps leave 1.15 % of a normal distribution. Steps from the largest weight, without
    // narrowing, leave 2 %.
    expect(squaredError(weights, read.subarray(0, n * k)) / signal).toBeLessThan(0.0125)
    expect(read.subarray(n * k).every((weight) => weight === 0)).toBe(true)
    expect(unpackPanels('w4_channel', packed, k)).toEqual(read)
  })

  test('w4_channel recovers the codes of weights that it has packed, and packs other types', () => {
    const n = 32
    const k = 96
    for (const dtype of ['F16', 'Q4_0', 'Q8_0'] as const) {
      const once = packedMatrix('w4_channel', pack(dtype, 'w4_channel', random(dtype, n, k), n, k), n, k)
      const twice = packedMatrix('w4_channel', pack('F32', 'w4_channel', floats(once), n, k), n, k)
      expect(squaredError(once, twice)).toBeLessThan(1e-5 * squaredError(once, new Float32Array(n * k)))
    }
  })

  test('groups of any magnitude stay finite and accurate', () => {
    fc.assert(
      fc.property(
        fc.array(fc.float({ min: -1000, max: 1000, noNaN: true }), { minLength: 40, maxLength: 40 }),
        fc.constantFrom<Encoding>('w8_g32', 'w4_g32', 'w4_channel'),
        (weights, encoding) => {
          const packed = pack('F32', encoding, floats(weights), 1, 40)
          const peak = Math.max(...weights.map(Math.abs))
          for (let k = 0; k < 40; k++) {
            const error = Math.abs(packedWeight(encoding, packed, 40, 0, k) - weights[k]!)
            expect(error).toBeLessThanOrEqual(encoding === 'w8_g32' ? peak / 250 + 1e-7 : peak / 4 + 1e-7)
          }
        },
      ),
    )
  })

  test('the padding of K holds zeros', () => {
    const packed = pack('F32', 'w4_g32', floats(Array.from({ length: 8 * 40 }, (_, at) => at - 100)), 8, 40)
    const wide = pack('F32', 'w8_g32', floats(Array.from({ length: 8 * 40 }, (_, at) => at - 100)), 8, 40)
    const whole = pack(
      'F32',
      'w4_channel',
      floats(Array.from({ length: 8 * 40 }, (_, at) => at - 100)),
      8,
      40,
    )
    for (let row = 0; row < 8; row++) {
      for (let k = 40; k < 64; k++) {
        expect(Math.abs(packedWeight('w4_g32', packed, 64, row, k))).toBe(0)
        expect(Math.abs(packedWeight('w4_channel', whole, 64, row, k))).toBe(0)
        expect(packedWeight('w8_g32', wide, 64, row, k)).toBe(0)
      }
    }
  })
})

describe('weights that no encoding can represent', () => {
  const codeOf = (work: () => unknown) => {
    try {
      work()
      return 'no error'
    } catch (error) {
      return isHalfbyteError(error) ? error.code : String(error)
    }
  }

  test.each([Number.NaN, Infinity, -Infinity])('%s is a format error', (value) => {
    const weights = floats([...new Array(20).fill(1), value, ...new Array(11).fill(2)])
    expect(codeOf(() => pack('F32', 'w8_g32', weights, 1, 32))).toBe('format')
    expect(codeOf(() => pack('F32', 'w4_g32', weights, 1, 32))).toBe('format')
    expect(codeOf(() => pack('F32', 'w4_channel', weights, 1, 32))).toBe('format')
    expect(codeOf(() => pack('F32', 'f32', weights, 1, 32))).toBe('no error')
  })

  test.each([0x5c00, 0x7bff, 0x7c00, 0xfc00, 0x7e00])(
    'an f16 scale of pattern %i is a format error',
    (pattern) => {
      const source = new Uint8Array(32 * 18)
      new DataView(source.buffer).setUint16(18 * 5, pattern, true)
      expect(codeOf(() => pack('Q4_0', 'w4_g32', source, 32, 32))).toBe('format')
    },
  )

  test('weights beyond the range of a scale are a format error', () => {
    expect(codeOf(() => pack('F32', 'w8_g32', floats(new Array(32).fill(40000)), 1, 32))).toBe('format')
    expect(codeOf(() => pack('F32', 'w8_g32', floats(new Array(32).fill(32000)), 1, 32))).toBe('no error')
  })
})
