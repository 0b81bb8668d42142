// Packing. In: coded matrices. Out: their bytes, compared with the loader's and read back.

import { describe, expect, test } from 'vitest'
import { signedFrom } from '../../../../test/helpers/random.ts'
import { matrixBytes } from '../../../core/abi/encodings.ts'
import { packRows } from '../../../core/weights/slabs.ts'
import { unpackPanels } from '../../../core/weights/unpack.ts'
import { rtn } from '../matrix/grid.ts'
import { decode, type Format } from './coded-matrix.ts'
import { layMatrix } from './lay.ts'

const FORMATS: readonly Format[] = ['w4_g32', 'w4m_g32', 'w8_g32', 'w4_channel']
const random = signedFrom(4)

describe.each(FORMATS)('a matrix packed as %s', (format) => {
  test.each([
    [40, 64],
    [5, 172],
    [33, 16],
  ])('[%i, %i] reads back as the same codes', (n, k) => {
    const coded = rtn(Float32Array.from({ length: n * k }, random), n, k, format)
    const values = unpackPanels(format, layMatrix(coded), k)
    expect(Array.from(values.subarray(0, n * k), (value) => value + 0)).toEqual([
      ...Float32Array.from(decode(coded)),
    ])
  })

  test('has the same bytes as the loader’s conversion of these weights', () => {
    if (format === 'w4m_g32') return
    const n = 45
    const k = 172
    const weights = Float32Array.from({ length: n * k }, random)
    const target = new Uint8Array(matrixBytes(format, n, k))
    packRows({ dtype: 'F32', encoding: format, k, rows: n, source: new Uint8Array(weights.buffer), target })
    expect(layMatrix(rtn(weights, n, k, format))).toEqual(target)
  })
})
