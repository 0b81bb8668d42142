// Rows of tables. In: random matrices as stored in files and packs. Out: whether the rows have the same
// values as in the whole matrix.
import { describe, expect, test } from 'vitest'
import { Random } from '../../../../test/helpers/random.ts'
import type { Encoding } from '../../../core/abi/encodings.ts'
import { bufferSource } from '../../../core/base/bytes.ts'
import { DTYPE_OF } from '../../../core/formats/hbm/hbm.ts'
import type { TensorInfo } from '../../../core/formats/tensors.ts'
import { packMatrix } from '../../../core/weights/sparse/pack.ts'
import { readMatrix } from '../calibrate/gram.ts'
import { gatherRows } from './gather-rows.ts'

const N = 2083
const K = 40
// Covers the ends of panels, of padded rows and of slabs.
const ROWS = [0, 1, 7, 8, 30, 31, 33, 2047, 2048, 2082]
const { signal } = new AbortController()
const random = new Random('rows')

function floats(): TensorInfo {
  const values = Float32Array.from({ length: N * K }, () => random.signed())
  const source = bufferSource('table', new Uint8Array(values.buffer))
  return { name: 'table', dtype: 'F32', shape: [N, K], source, offset: 0, byteLength: source.size }
}

async function packed(tensor: TensorInfo, encoding: Encoding): Promise<TensorInfo> {
  const parts: Uint8Array[] = []
  for await (const chunk of packMatrix('table', tensor, encoding).data()) parts.push(chunk.slice())
  const bytes = new Uint8Array(await new Blob(parts as BlobPart[]).arrayBuffer())
  const source = bufferSource('table', bytes)
  return { ...tensor, dtype: DTYPE_OF[encoding], packed: encoding, source, byteLength: source.size }
}

const rowsOf = (values: Float32Array, rows: readonly number[], k = K) =>
  rows.map((row) => values.slice(row * k, (row + 1) * k))

describe('the rows of a table keep their bits', () => {
  const stored = floats()

  test('as stored in a file, from an offset', async () => {
    const bytes = new Uint8Array(8 + stored.byteLength)
    bytes.set(await stored.source.read(0, stored.byteLength), 8)
    const moved = { ...stored, source: bufferSource('moved', bytes), offset: 8 }
    const taken = await gatherRows(moved, ROWS, signal)
    expect(taken).toMatchObject({ dtype: 'F32', shape: [ROWS.length, K], byteLength: ROWS.length * K * 4 })
    const own = await readMatrix(taken, signal)
    expect(rowsOf(own, [...ROWS.keys()])).toEqual(rowsOf(await readMatrix(stored, signal), ROWS))
  })

  test.each(['f32', 'f16', 'bf16', 'w8_g32', 'w4_g32', 'w4m_g32', 'w4_channel'] as const)(
    'as stored in a pack in %s',
    async (encoding) => {
      const dtype = encoding === 'f16' || encoding === 'bf16' ? encoding.toUpperCase() : undefined
      const halves = dtype === undefined ? stored : halved(stored, dtype as 'F16' | 'BF16')
      // Floats are never converted to codes with a minimum.
      const whole = await packed(encoding === 'w4m_g32' ? fourBit() : halves, encoding)
      const taken = await gatherRows(whole, ROWS, signal)
      expect(taken.packed).toBe(encoding)
      const own = await readMatrix(taken, signal)
      const k = whole.shape[1]
      const due = rowsOf(await readMatrix(whole, signal), ROWS, k)
      expect(rowsOf(own, [...ROWS.keys()], k)).toEqual(due)
      expect(due.some((row) => row.some((value) => value !== 0))).toBe(true)
    },
  )

  test('a table stored without its zeros is rejected with what to do', async () => {
    await expect(gatherRows({ ...stored, packed: 'w4_g32_sb84' }, ROWS, signal)).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringContaining('trim the model before it is pruned'),
    })
  })
})

/** Random half floats of moderate size. */
function halved(tensor: TensorInfo, dtype: 'F16' | 'BF16'): TensorInfo {
  const bits = Uint16Array.from({ length: N * K }, () => 0x3000 + random.below(0x0800))
  const source = bufferSource('table', new Uint8Array(bits.buffer))
  return { ...tensor, dtype, source, byteLength: source.size }
}

/** Q4_1: a scale, a minimum and 32 codes in each of two blocks of a row. */
function fourBit(): TensorInfo {
  const blocks = N * 2
  const bytes = new Uint8Array(blocks * 20)
  for (let at = 0; at < bytes.length; at++) bytes[at] = random.below(256)
  const view = new DataView(bytes.buffer)
  for (let block = 0; block < blocks; block++) {
    view.setUint16(20 * block, 0x2c00 + random.below(0x400), true)
    view.setUint16(20 * block + 2, 0xa800 + random.below(0x400), true)
  }
  const source = bufferSource('table', bytes)
  return { name: 'table', dtype: 'Q4_1', shape: [N, 64], source, offset: 0, byteLength: source.size }
}
