// Tables quantized in blocks. In: their sizes. Out: an ONNX file that gathers rows of a random table, and the
// floats of each row.
import { Random } from '../../../../test/helpers/random.ts'
import { TYPE } from '../../onnx/testing/node-writer.ts'
import { modelBytes } from '../../onnx/testing/write-model.ts'

/** Numbers that share a scale. */
const BLOCK = 32

interface TableShape {
  readonly rows: number
  readonly width: number
  readonly bits: 4 | 8
  readonly hasZeros: boolean
}

/**
 * Input: `ids` i64 [batch, tokens]. Output: `y`. `bytes`: the size of the table, its scales, and its zero
 * points as i32.
 */
export function blockTable({ rows, width, bits, hasZeros }: TableShape) {
  const blocks = width / BLOCK
  const random = new Random(bits)
  const bytes = (count: number) => Uint8Array.from({ length: count }, () => random.below(256))
  const table = bytes((rows * width * bits) / 8)
  const scales = Float32Array.from({ length: rows * blocks }, () => random.signed())
  const zeros = hasZeros ? bytes((rows * blocks * bits) / 8) : undefined
  const read = (from: Uint8Array, at: number) =>
    bits === 8 ? from[at]! : (from[at >> 1]! >> (4 * (at & 1))) & 15
  const wanted = (row: number): number[] =>
    Array.from({ length: width }, (_, at) => {
      const block = row * blocks + Math.floor(at / BLOCK)
      const zero = zeros === undefined ? 2 ** (bits - 1) : read(zeros, block)
      return Math.fround((read(table, row * width + at) - zero) * scales[block]!)
    })
  const u8 = (name: string, raw: Uint8Array) => ({
    name,
    type: TYPE.u8,
    dims: [rows, raw.length / rows],
    raw,
  })
  const graph = modelBytes({
    inputs: [{ name: 'ids', type: TYPE.i64, dims: ['batch', 'tokens'] }],
    outputs: [{ name: 'y', type: TYPE.f32, dims: ['batch', 'tokens', width] }],
    constants: [
      u8('table', table),
      { name: 'scales', type: TYPE.f32, dims: [rows, blocks], raw: new Uint8Array(scales.buffer) },
      ...(zeros === undefined ? [] : [u8('zeros', zeros)]),
    ],
    nodes: [
      {
        op: 'GatherBlockQuantized',
        domain: 'com.microsoft',
        inputs: ['table', 'ids', 'scales', ...(zeros === undefined ? [] : ['zeros'])],
        outputs: ['y'],
        attributes: { bits, block_size: BLOCK, gather_axis: 0, quantize_axis: 1 },
      },
    ],
  })
  return { graph, wanted, bytes: table.length + scales.byteLength + 4 * rows * blocks }
}
