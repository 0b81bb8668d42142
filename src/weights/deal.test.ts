// Tests of dealing. In: a tensor, runs of its rows and columns. Out: on each shard what a tensor of those alone would be.
import { describe, expect, test } from 'vitest'
import { concat } from '../../conformance/support/gguf-writer.ts'
import { randomTensor } from '../../conformance/support/random-tensor.ts'
import { type Encoding, matrixBytes, PANEL_ROWS, panelBytes } from '../abi/encodings.ts'
import { bufferSource } from '../base/bytes.ts'
import type { TensorInfo } from '../formats/tensors.ts'
import type { Range } from '../graph/divide.ts'
import type { WeightRef } from '../graph/ir.ts'
import { dealMatrix, dealVector } from './deal.ts'
import { streamMatrix } from './stream.ts'

const tensorOf = (shape: readonly number[], bytes: Uint8Array): TensorInfo => ({
  ...{ name: 'w', dtype: 'F32', shape, offset: 0, byteLength: bytes.length },
  source: bufferSource('model', bytes),
})

const widthOf = (runs: readonly Range[]) => runs.reduce((sum, { count }) => sum + count, 0)

const heldRows = (whole: number, runs: readonly Range[], k: number, first = 0, columns = k): WeightRef => ({
  parts: [{ name: 'w', n: widthOf(runs), rows: { whole, runs } }],
  ...{ k: columns, kind: 'matrix', columns: { first, whole: k } },
})

describe('dealMatrix', () => {
  test.each([
    ['f32', 96, 64],
    ['w4_g32', 96, 64],
    // Rows of 300 KB, so that 32 of them are one slab and runs go on in the next.
    ['w8_g32', 72, 76_800],
  ] as const)(
    'in %s gives each shard its runs of %i rows of %i, one behind the other',
    async (encoding, n, k) => {
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
      await dealMatrix([part], k, encoding, shards, (shard, offset, bytes) =>
        slots[shard]!.set(bytes, offset),
      )
      for (const [shard, runs] of held.entries()) {
        const rows = runs.flatMap(({ first, count }) =>
          Array.from({ length: count }, (_, row) => first + row),
        )
        const own = new Float32Array(rows.length * (k - 32))
        for (const [row, from] of rows.entries())
          own.set(values.subarray(from * k + 32 * shard, (from + 1) * k - 32 * (1 - shard)), row * (k - 32))
        const alone = await slotOf(own, rows.length, k - 32, encoding)
        // Padding is left as it was.
        const bytes = (rows.length / PANEL_ROWS) * panelBytes(encoding, k - 32)
        expect(Buffer.compare(slots[shard]!.subarray(0, bytes), alone.subarray(0, bytes))).toBe(0)
      }
    },
  )
})

async function slotOf(values: Float32Array<ArrayBuffer>, n: number, k: number, encoding: Encoding) {
  const slot = new Uint8Array(matrixBytes(encoding, n, k))
  const part = { tensor: tensorOf([n, k], new Uint8Array(values.buffer)), n }
  await streamMatrix([part], k, encoding, () => slot)
  return slot
}

test('dealVector gives each shard its runs, wherever they begin', async () => {
  const values = Float32Array.from({ length: 50 }, (_, index) => index)
  const runs = [
    { first: 3, count: 5 },
    { first: 40, count: 10 },
  ]
  const held: WeightRef = { parts: [{ name: 'w', n: 15, rows: { whole: 50, runs } }], k: 1, kind: 'vector' }
  const slot = new Float32Array(32).fill(Number.NaN)
  const tensor = tensorOf([50], new Uint8Array(values.buffer))
  await dealVector([{ tensor, n: 50 }], [held], (_, offset, bytes) =>
    slot.set(new Float32Array(bytes.buffer), offset / 4),
  )
  expect([...slot.subarray(0, 15)]).toEqual([3, 4, 5, 6, 7, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49])
  expect(slot.subarray(15).every((value) => value === 0)).toBe(true)
})
