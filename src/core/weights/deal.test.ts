// Tests dealing. In: a tensor, runs of its rows and columns. Out: each shard has the bytes of a tensor with
// only those rows and columns.
import { describe, expect, test } from 'vitest'
import { concat } from '../../../test/conformance/testing/writers/gguf-writer.ts'
import { randomTensor } from '../../../test/conformance/testing/writers/random-tensor.ts'
import { type Encoding, matrixBytes, PANEL_ROWS, panelBytes } from '../abi/encodings.ts'
import { bufferSource } from '../base/bytes.ts'
import { codingOf } from '../formats/gguf/group-readers.ts'
import type { TensorInfo } from '../formats/tensors.ts'
import { randomBlocks } from '../formats/testing/random-blocks.ts'
import type { Range, WeightRef } from '../graph/ir.ts'
import { type Deal, dealMatrix, dealVector } from './deal.ts'
import { streamMatrix } from './stream-weights.ts'

const tensorOf = (shape: readonly number[], bytes: Uint8Array): TensorInfo => ({
  name: 'w',
  dtype: 'F32',
  shape,
  offset: 0,
  byteLength: bytes.length,
  source: bufferSource('model', bytes),
})

/** A deal that transfers bytes as messages do: the sender's buffer is empty afterwards. */
const into =
  (slots: readonly Uint8Array[]): Deal =>
  (shard, offset, bytes) =>
    slots[shard]!.set(structuredClone(bytes, { transfer: [bytes.buffer] }), offset)

const widthOf = (runs: readonly Range[]) => runs.reduce((sum, { count }) => sum + count, 0)

const heldRows = (whole: number, runs: readonly Range[], k: number, first = 0, columns = k): WeightRef => ({
  parts: [{ name: 'w', n: widthOf(runs), rows: { whole, runs } }],
  k: columns,
  kind: 'matrix',
  columns: { first, whole: k },
})

describe('dealMatrix', () => {
  test.each([
    ['f32', 96, 64],
    ['w4_g32', 96, 64],
    // Rows of 300 KB, of which 32 are one slab, so that runs continue in the next slab.
    ['w8_g32', 72, 76_800],
  ] as const)('in %s gives each shard its runs of %i rows of %i in sequence', async (encoding, n, k) => {
    const values = new Float32Array(concat([...randomTensor('F32', [n, k], 3)]).buffer)
    const held: (readonly Range[])[] = [
      [
        { first: 8, count: 16 },
        { first: 40, count: 24 },
      ],
      [
        { first: 0, count: 8 },
        { first: 24, count: 16 },
        { first: 64, count: n - 64 },
      ],
    ]
    const shards = held.map((runs, shard) => heldRows(n, runs, k, 32 * shard, k - 32))
    const slots = shards.map(({ parts, k }) => new Uint8Array(matrixBytes(encoding, parts[0]!.n, k)))
    const part = { tensor: tensorOf([n, k], new Uint8Array(values.buffer)), n }
    await dealMatrix([part], k, encoding, shards, into(slots))
    for (const [shard, runs] of held.entries()) {
      const rows = runs.flatMap(({ first, count }) => Array.from({ length: count }, (_, row) => first + row))
      const own = new Float32Array(rows.length * (k - 32))
      for (const [row, from] of rows.entries())
        own.set(values.subarray(from * k + 32 * shard, (from + 1) * k - 32 * (1 - shard)), row * (k - 32))
      const alone = await slotOf(own, rows.length, k - 32, encoding)
      // Padding is unchanged.
      const bytes = (rows.length / PANEL_ROWS) * panelBytes(encoding, k - 32)
      expect(Buffer.compare(slots[shard]!.subarray(0, bytes), alone.subarray(0, bytes))).toBe(0)
    }
  })
})

async function slotOf(values: Float32Array<ArrayBuffer>, n: number, k: number, encoding: Encoding) {
  const slot = new Uint8Array(matrixBytes(encoding, n, k))
  const part = { tensor: tensorOf([n, k], new Uint8Array(values.buffer)), n }
  await streamMatrix([part], k, encoding, () => slot)
  return slot
}

test('a slice of 2-bit weights includes the scales of its columns', async () => {
  const [n, k] = [40, 768]
  const blocks = randomBlocks('TQ2_0', (n * k) / 256, 3)
  const coding = codingOf('TQ2_0')
  const tensorWith = (bytes: Uint8Array, columns: number): TensorInfo => ({
    ...tensorOf([n, columns], bytes),
    dtype: 'TQ2_0',
    coding,
  })
  const shards = [
    heldRows(n, [{ first: 0, count: n }], k, 0, 256),
    heldRows(n, [{ first: 0, count: n }], k, 256, 512),
  ]
  const slots = shards.map((ref) => new Uint8Array(matrixBytes('w2_g256', n, ref.k)))
  await dealMatrix([{ tensor: tensorWith(blocks, k), n }], k, 'w2_g256', shards, into(slots))
  for (const [shard, [from, to]] of (
    [
      [0, 1],
      [1, 3],
    ] as const
  ).entries()) {
    const own = concat(
      Array.from({ length: n }, (_, row) => blocks.subarray((3 * row + from) * 66, (3 * row + to) * 66)),
    )
    const slot = new Uint8Array(slots[shard]!.length)
    const part = { tensor: tensorWith(own, 256 * (to - from)), n }
    await streamMatrix([part], 256 * (to - from), 'w2_g256', () => slot)
    expect(Buffer.compare(slots[shard]!, slot)).toBe(0)
  }
})

describe('dealVector', () => {
  const vector = (length: number, first: number) => ({
    tensor: tensorOf(
      [length],
      new Uint8Array(Float32Array.from({ length }, (_, index) => first + index).buffer),
    ),
    n: length,
  })

  test('gives each shard its runs of every part, wherever they begin', async () => {
    const held = [
      [
        [3, 5],
        [40, 10],
      ],
      [[8, 32]],
    ].map((ranges): WeightRef => {
      const runs = ranges.map(([first = 0, count = 0]) => ({ first, count }))
      const part = { name: 'w', n: widthOf(runs), rows: { whole: 50, runs } }
      return { parts: [part, { name: 'b', n: 40 }], k: 1, kind: 'vector' }
    })
    const slots = held.map(() => new Float32Array(96).fill(Number.NaN))
    const bytes = slots.map(({ buffer }) => new Uint8Array(buffer))
    await dealVector([vector(50, 0), vector(40, 100)], held, into(bytes))
    const from = (first: number, count: number) => Array.from({ length: count }, (_, index) => first + index)
    const both = [...from(100, 40), ...Array(24).fill(0)]
    expect([...slots[0]!]).toEqual([...from(3, 5), ...from(40, 10), ...Array(17).fill(0), ...both])
    expect([...slots[1]!]).toEqual([...from(8, 32), ...both])
  })

  test('rejects a vector whose length differs from the graph’s', async () => {
    const held: WeightRef = { parts: [{ name: 'w', n: 50 }], k: 1, kind: 'vector' }
    const part = { ...vector(49, 0), n: 50 }
    await expect(dealVector([part], [held], into([]))).rejects.toMatchObject({ code: 'architecture' })
  })
})
