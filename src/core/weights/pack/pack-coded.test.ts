// Tests coded panels. In: random blocks of every type. Out: ggml's values, in the encoding that `auto`
// chooses.
import { describe, expect, test } from 'vitest'
import { matrixBytes } from '../../abi/encodings.ts'
import { dequantize } from '../../formats/dequantize.ts'
import { BLOCKS, rowBytes, storedRows } from '../../formats/dtypes.ts'
import { codingOf } from '../../formats/gguf/group-readers.ts'
import type { CodedDType } from '../../formats/tensors.ts'
import { CODED_DTYPES, randomBlocks } from '../../formats/testing/random-blocks.ts'
import { chooseEncoding } from '../choose-encoding.ts'
import { packRows } from '../slabs.ts'
import { unpackPanels } from '../unpack.ts'
import { packCoded } from './pack-panels.ts'

const K = 512
const ROWS = 11

function packed(dtype: CodedDType, encoding = chooseEncoding('auto', 'matrix', [dtype])) {
  // In IQ3_S and IQ3_XXS, minimums are up to 465 times the scale; with random scales they would exceed f16.
  const scale = dtype.startsWith('IQ3') ? 0.371 : undefined
  const source = randomBlocks(dtype, (ROWS * K) / BLOCKS[dtype].elements, 5, scale)
  const coding = codingOf(dtype)
  const values = new Float32Array(ROWS * K)
  dequantize(storedRows(dtype, source, coding), 0, values.length, values, 0)
  const target = new Uint8Array(matrixBytes(encoding, ROWS, K))
  packRows({ dtype, coding, encoding, k: K, rows: ROWS, source, target })
  return { values, encoding, unpacked: unpackPanels(encoding, target, K) }
}

describe.each(CODED_DTYPES)('%s', (dtype) => {
  const { values, encoding, unpacked } = packed(dtype)

  test('is unchanged, as far as the encoding allows', () => {
    let worst = 0
    for (let group = 0; group < values.length; group += 32) {
      const peak = Math.max(...values.subarray(group, group + 32).map(Math.abs))
      for (let i = group; i < group + 32; i++) {
        worst = Math.max(worst, peak === 0 ? 0 : Math.abs(unpacked[i]! - values[i]!) / peak)
      }
    }
    expect(worst).toBeLessThanOrEqual(BOUNDS[dtype])
  })

  test('with all bits set is finite or causes an error', () => {
    const source = new Uint8Array(8 * rowBytes(dtype, K)).fill(0xff)
    const target = new Uint8Array(matrixBytes(encoding, 8, K))
    const pack = () => {
      packRows({ dtype, coding: codingOf(dtype), encoding, k: K, rows: 8, source, target })
      return unpackPanels(encoding, target, K).every(Number.isFinite)
    }
    // A scale with all bits set is NaN, except in E4M3.
    if (dtype === 'NVFP4') expect(pack()).toBe(true)
    else expect(pack).toThrow(expect.objectContaining({ code: 'format' }))
  })

  test('padding rows are zeros', () => {
    expect(unpacked.subarray(ROWS * K).every((value) => value === 0)).toBe(true)
  })

  test('an encoding with few bits is not widened', () => {
    expect(encoding).toBe(
      /Q4_K|IQ3_S|IQ1_S/.test(dtype)
        ? 'w4m_g32'
        : /TQ/.test(dtype)
          ? 'w2_g256'
          : /^Q[12]_0/.test(dtype)
            ? 'w4_g32'
            : 'w8_g32',
    )
  })
})

test.each([
  ['Q4_K', 'w4m_g32'],
  ['Q5_0', 'w8_g32'],
] as const)('%s gives the same result whether words or codes are moved', (dtype, encoding) => {
  const source = randomBlocks(dtype, (32 * K) / BLOCKS[dtype].elements, 6)
  const target = new Uint8Array(matrixBytes(encoding, 32, K))
  const coding = codingOf(dtype)
  packRows({ dtype, coding, encoding, k: K, rows: 32, source, target })
  const byCodes = new Uint32Array(target.length / 4)
  packCoded(storedRows(dtype, source, coding), encoding, 32, K, byCodes)
  expect(target).toEqual(new Uint8Array(byCodes.buffer))
})

test.each([
  // 8 becomes 8.5, 62 becomes 60.
  ['IQ2_XXS', 0.5 / 8],
  ['IQ3_XXS', 2 / 62],
] as const)('%s in 4 bits with a minimum uses the nearest levels', (dtype, bound) => {
  const { values, unpacked } = packed(dtype, 'w4m_g32')
  let worst = 0
  for (const [i, value] of values.entries()) {
    worst = Math.max(worst, Math.abs(unpacked[i]! - value) / Math.abs(value))
  }
  // The scale and the minimum are rounded too, and the scale counts up to 15 times.
  expect(worst).toBeLessThan(bound + 0.01)
  expect(errorOf({ values, unpacked })).toBeLessThan(errorOf(packed(dtype, 'w4_g32')) / 2)
})

test.each(['TQ1_0', 'TQ2_0'] as const)('%s reads the same from 2 and from 4 bits', (dtype) => {
  const [two, four] = [packed(dtype, 'w2_g256'), packed(dtype, 'w4_g32')]
  expect(two.unpacked).toEqual(four.unpacked)
  const bytes = new Uint8Array(matrixBytes('w2_g256', ROWS, K))
  expect(bytes.length * 8).toBe(32 * K * (2 + 16 / 256))
})

/** The root mean square error, relative to the root mean square of the values. */
function errorOf({ values, unpacked }: { values: Float32Array; unpacked: Float32Array }): number {
  let errors = 0
  let squares = 0
  for (const [i, value] of values.entries()) {
    errors += (unpacked[i]! - value) ** 2
    squares += value ** 2
  }
  return Math.sqrt(errors / squares)
}

/**
 * The largest error relative to the largest magnitude in its group. 0 if codes and scales are only moved. If
 * a scale is a product, its rounding to f16 (in Q4_K that of scale and minimum, 15 and 63 steps of it; in
 * IQ3_S twice 15). Otherwise half a step of 8 bits plus that rounding.
 */
const EXACT = 0
const HALF_STEP = 0.5 / 127 + 2 ** -11
const BOUNDS: Readonly<Record<CodedDType, number>> = {
  Q5_0: EXACT,
  IQ4_NL: EXACT,
  MXFP4: EXACT,
  Q8_1: EXACT,
  Q1_0: EXACT,
  Q2_0: EXACT,
  TQ1_0: EXACT,
  TQ2_0: EXACT,
  IQ4_XS: 2 ** -11,
  IQ2_XXS: 2 ** -11,
  IQ3_XXS: 2 ** -11,
  Q4_K: 2 ** -9,
  IQ3_S: 2 ** -9,
  IQ1_S: 2 ** -9,
  Q5_1: HALF_STEP,
  Q2_K: HALF_STEP,
  Q3_K: HALF_STEP,
  Q5_K: HALF_STEP,
  Q6_K: HALF_STEP,
  IQ1_M: HALF_STEP,
  NVFP4: HALF_STEP,
  IQ2_XS: HALF_STEP,
  IQ2_S: HALF_STEP,
}
