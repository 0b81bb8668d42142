// Coded panels. In: random blocks of every type. Out: the values that ggml gives them, in the encoding that
// `auto` chooses.
import { describe, expect, test } from 'vitest'
import { matrixBytes } from '../abi/encodings.ts'
import { BLOCKS } from '../formats/dtypes.ts'
import { dequantize } from '../formats/gguf/dequantize.ts'
import { storedRows } from '../formats/stored-rows.ts'
import type { CodedDType } from '../formats/tensors.ts'
import { CODED_DTYPES, randomBlocks } from '../formats/testing/random-blocks.ts'
import { chooseEncoding } from './choose.ts'
import { packRows } from './pack.ts'
import { unpackPanels } from './unpack.ts'

const K = 512
const ROWS = 11

function packed(dtype: CodedDType) {
  // The minimums of IQ3_S are up to 465 times its scale, and those of random scales would exceed f16.
  const scale = dtype === 'IQ3_S' ? 0.371 : undefined
  const source = randomBlocks(dtype, (ROWS * K) / BLOCKS[dtype].elements, 5, scale)
  const values = new Float32Array(ROWS * K)
  dequantize(storedRows(dtype, source), 0, values.length, values, 0)
  const encoding = chooseEncoding('auto', 'matrix', [dtype])
  const target = new Uint8Array(matrixBytes(encoding, ROWS, K))
  packRows({ dtype, encoding, k: K, rows: ROWS, source, target })
  return { values, encoding, unpacked: unpackPanels(encoding, target, K) }
}

describe.each(CODED_DTYPES)('%s', (dtype) => {
  const { values, encoding, unpacked } = packed(dtype)

  test('comes out as it went in, as far as the encoding can', () => {
    let worst = 0
    for (let group = 0; group < values.length; group += 32) {
      const peak = Math.max(...values.subarray(group, group + 32).map(Math.abs))
      for (let i = group; i < group + 32; i++) {
        worst = Math.max(worst, peak === 0 ? 0 : Math.abs(unpacked[i]! - values[i]!) / peak)
      }
    }
    expect(worst).toBeLessThanOrEqual(BOUNDS[dtype])
  })

  test('rows that only pad are zeros', () => {
    expect(unpacked.subarray(ROWS * K).every((value) => value === 0)).toBe(true)
  })

  test('an encoding of few bits is not widened', () => {
    expect(encoding).toBe(/Q4_K|IQ3_S/.test(dtype) ? 'w4m_g32' : /TQ/.test(dtype) ? 'w4_g32' : 'w8_g32')
  })
})

/**
 * Largest error relative to the largest magnitude of its group. None where codes and scales are moved. Where
 * a scale is a product: its rounding to f16 (for Q4_K that of scale and minimum, 15 and 63 steps of it; for IQ3_S twice 15). Else
 * half a step of 8 bits plus that rounding.
 */
const EXACT = 0
const HALF_STEP = 0.5 / 127 + 2 ** -11
const BOUNDS: Readonly<Record<CodedDType, number>> = {
  Q5_0: EXACT,
  IQ4_NL: EXACT,
  MXFP4: EXACT,
  TQ1_0: EXACT,
  TQ2_0: EXACT,
  IQ4_XS: 2 ** -11,
  IQ2_XXS: 2 ** -11,
  IQ3_XXS: 2 ** -11,
  Q4_K: 2 ** -9,
  IQ3_S: 2 ** -9,
  Q5_1: HALF_STEP,
  Q2_K: HALF_STEP,
  Q3_K: HALF_STEP,
  Q5_K: HALF_STEP,
  Q6_K: HALF_STEP,
  IQ2_XS: HALF_STEP,
  IQ2_S: HALF_STEP,
}
