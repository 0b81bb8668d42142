// Tests that the ONNX forms of Q4_0 blocks represent the same numbers.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { floatToHalf, halfToFloat } from '../../../../src/core/base/half.ts'
import { eightBit, fourBit, transposed } from './repack.ts'

/** Weights [n][k], with one scale per block. */
const rows = fc
  .record({ n: fc.integer({ min: 1, max: 5 }), blocks: fc.integer({ min: 1, max: 3 }) })
  .chain(({ n, blocks }) =>
    fc.record({
      k: fc.constant(blocks * 32),
      blocks: fc.array(
        fc.record({
          scale: fc.double({ min: 0.001, max: 1, noNaN: true }),
          codes: fc.array(fc.integer({ min: 0, max: 15 }), { minLength: 32, maxLength: 32 }),
        }),
        { minLength: n * blocks, maxLength: n * blocks },
      ),
    }),
  )

function q4(blocks: readonly { scale: number; codes: readonly number[] }[]): Uint8Array {
  const bytes = new Uint8Array(blocks.length * 18)
  const view = new DataView(bytes.buffer)
  for (const [index, { scale, codes }] of blocks.entries()) {
    view.setUint16(index * 18, floatToHalf(scale), true)
    for (let j = 0; j < 16; j++) bytes[index * 18 + 2 + j] = codes[j]! | (codes[j + 16]! << 4)
  }
  return bytes
}

const valuesOf = (blocks: readonly { scale: number; codes: readonly number[] }[]) =>
  blocks.flatMap(({ scale, codes }) => codes.map((code) => halfToFloat(floatToHalf(scale)) * (code - 8)))

test('four bits: every weight keeps its value', () => {
  fc.assert(
    fc.property(rows, ({ blocks }) => {
      const { codes, scales } = fourBit(q4(blocks))
      const values = Array.from({ length: codes.length * 2 }, (_, index) => {
        const byte = codes[index >> 1]!
        const code = index % 2 === 0 ? byte & 15 : byte >> 4
        return scales[index >> 5]! * (code - 8)
      })
      expect(values).toEqual(valuesOf(blocks))
    }),
  )
})

test('eight bits: no weight is off by more than half a step of its row', () => {
  fc.assert(
    fc.property(rows, ({ k, blocks }) => {
      const { codes, scales } = eightBit(q4(blocks), k)
      for (const [index, value] of valuesOf(blocks).entries()) {
        const scale = scales[Math.floor(index / k)]!
        expect(Math.abs(codes[index]! * scale - value)).toBeLessThanOrEqual(scale * 0.5001)
      }
      expect(Math.max(...codes.map(Math.abs))).toBeLessThanOrEqual(127)
    }),
  )
})

test('columns become rows', () => {
  expect(Array.from(transposed(Int8Array.of(1, 2, 3, 4, 5, 6), 3))).toEqual([1, 4, 2, 5, 3, 6])
})
