// Codes in foreign formats. In: coded matrices. Out: ggml blocks and GPTQ tensors with the same values.

import { describe, expect, test } from 'vitest'
import { signedFrom } from '../../../../test/helpers/random.ts'
import { bufferSource } from '../../../core/base/bytes.ts'
import { packedInts } from '../../../core/formats/safetensors/packed-ints.ts'
import { packedChunks } from '../../../core/weights/slabs.ts'
import { unpackPanels } from '../../../core/weights/unpack.ts'
import { rtn } from '../matrix/grid.ts'
import { decode, type Format } from './coded-matrix.ts'
import { blockDType, ggmlBlocks, gptqMatrix } from './foreign-codes.ts'
import { layMatrix, unlayMatrix } from './lay.ts'

const FORMATS: readonly Format[] = ['w4_g32', 'w4m_g32', 'w8_g32', 'w4_channel']
const random = signedFrom(6)
const codedOf = (format: Format, n: number, k: number) =>
  rtn(
    Float32Array.from({ length: n * k }, () => 0.1 * random() ** 3),
    n,
    k,
    format,
  )

const { signal } = new AbortController()
const plain = (values: ArrayLike<number>) => Array.from(values, (value) => value + 0)

/** The values that the loader reads. */
async function read(tensor: Parameters<typeof packedChunks>[0], n: number, k: number): Promise<number[]> {
  const values: number[] = []
  for await (const chunk of packedChunks(tensor, 'f32', { signal }))
    values.push(...unpackPanels('f32', chunk, k))
  return plain(values.slice(0, n * k))
}

describe.each(FORMATS)('%s', (format) => {
  test.each([
    [40, 64],
    [5, 172],
    [33, 16],
  ])('[%i, %i] is unpacked as it was packed', (n, k) => {
    const coded = codedOf(format, n, k)
    expect(unlayMatrix(layMatrix(coded), format, n, k)).toEqual(coded)
  })

  test.each([
    [40, 96],
    [8, 172],
  ])('[%i, %i] has the same values in ggml’s blocks', async (n, k) => {
    const coded = codedOf(format, n, k)
    const bytes = ggmlBlocks(coded)
    const dtype = blockDType(format, k)
    expect(dtype === 'F32').toBe(k === 172)
    const tensor = { name: 'w', dtype, shape: [n, k], source: bufferSource('w', bytes), offset: 0 }
    expect(await read({ ...tensor, byteLength: bytes.length }, n, k)).toEqual(plain(decode(coded)))
  })
})

test.each([
  ['w4_g32', 4, 32],
  ['w8_g32', 8, 32],
  ['w4_channel', 4, -1],
] as const)('%s has the same values in GPTQ’s tensors', async (format, bits, groupSize) => {
  const n = 40
  const k = 96
  const coded = codedOf(format, n, k)
  const made = gptqMatrix('w', coded)
  expect(made).toMatchObject({ bits, groupSize })
  const stored = (part: keyof typeof made.tensors) => {
    const { data, ...rest } = made.tensors[part]
    return { name: part, ...rest, source: bufferSource(part, data), offset: 0, byteLength: data.length }
  }
  const tensor = packedInts({
    name: 'w',
    order: 'gptq',
    bits,
    groupSize,
    isSymmetric: true,
    zeroOffset: 1,
    isOrdered: true,
    codes: stored('qweight'),
    scales: stored('scales'),
    zeros: stored('qzeros'),
    groupOf: stored('g_idx'),
  })
  expect(await read(tensor, n, k)).toEqual(plain(decode(coded)))
})

test('matrices that GPTQ cannot represent are rejected, with a format that can', () => {
  expect(() => gptqMatrix('w', codedOf('w4m_g32', 8, 32))).toThrow(
    /w4m has minimums between them; choose --weights w4/,
  )
  expect(() => gptqMatrix('layers.0.mlp_down', codedOf('w4_g32', 8, 172))).toThrow(
    /layers\.0\.mlp_down \[8, 172\] does not fill GPTQ's groups of 32 inputs/,
  )
})
