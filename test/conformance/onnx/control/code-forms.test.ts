// Quantised matrices. In: decoders whose product after attention reads DequantizeLinear, with scales along
// each axis, in blocks, transposed or not. Out: whether they match ONNX Runtime, or are rejected by name.
import { expect, test } from 'vitest'
import { TYPE } from '../../../../src/network/onnx/testing/node-writer.ts'
import { HIDDEN } from './decoder.ts'
import type { DecoderForm } from './form.ts'
import { judgeDecoder } from './judge.ts'

/** Numbers of TensorProto.DataType. */
const TYPES = { ...TYPE, u4: 21, i4: 22 } as const
const INPUTS = 64
/** In opset 23, which supports blocks. */
const BASE: DecoderForm = { attention: 'standard', places: 'none', heads: 4, kvHeads: 2 }

interface Codes {
  readonly type: 'i8' | 'u8' | 'i4' | 'u4'
  /** The axis of the scales; with `block`, the axis that is divided into blocks. Absent: one scale. */
  readonly axis?: number
  readonly block?: number
  readonly hasZeros?: boolean
  /**
   * For codes [outputs, inputs]: whether they are transposed before or after dequantisation. Default: codes
   * are [inputs, outputs].
   */
  readonly turned?: 'before' | 'after'
  readonly scales?: 'f16'
}

const isFour = (type: Codes['type']): boolean => type === 'i4' || type === 'u4'

/** Replaces the product after attention. */
function codedBy(form: Codes): NonNullable<DecoderForm['edit']> {
  const { type, axis, block, hasZeros, turned, scales } = form
  const stored = turned === undefined ? [INPUTS, HIDDEN] : [HIDDEN, INPUTS]
  const read = turned === 'before' ? stored.toReversed() : stored
  const at = axis === undefined ? undefined : (axis + 2) % 2
  const dims =
    at === undefined ? [] : block === undefined ? [read[at]!] : read.with(at, Math.ceil(read[at]! / block))
  const count = dims.reduce((product, size) => product * size, 1)
  return (g) => {
    let made = 0
    const codes = (shape: readonly number[], step: number) => {
      const size = shape.reduce((product, each) => product * each, 1)
      const name = `codes_${made++}`
      const raw = Uint8Array.from(
        { length: isFour(type) ? Math.ceil(size / 2) : size },
        (_, index) => (index * step + (index >> 3) * 7) % 256,
      )
      g.constants.push({ name, type: TYPES[type], dims: shape, raw })
      return name
    }
    const numbers = Array.from(
      { length: count },
      (_, index) => (1 + (index % 5)) / (isFour(type) ? 64 : 1024),
    )
    g.replace(
      ({ op, inputs }) =>
        op === 'MatMul' && g.constants.some(({ name, dims: own }) => name === inputs[1] && own[0] === INPUTS),
      ({ inputs: [rows = ''], outputs }) => {
        const turn = (value: string) => g.op('Transpose', [value], { perm: { ints: [1, 0] } })
        const matrix = codes(stored, 89)
        const parts = [
          turned === 'before' ? turn(matrix) : matrix,
          scales === 'f16' ? g.halves(numbers, dims) : g.floats(numbers, dims),
          ...(hasZeros ? [codes(dims, 37)] : []),
        ]
        const attributes = {
          ...(axis !== undefined && { axis }),
          ...(block !== undefined && { block_size: block }),
        }
        const floats = g.op('DequantizeLinear', parts, attributes)
        const whole = scales === 'f16' ? g.cast(floats, 'f32') : floats
        g.node('MatMul', [rows, turned === 'after' ? turn(whole) : whole], outputs)
      },
    )
  }
}

test.each<[string, Codes]>([
  ['one scale', { type: 'i8' }],
  ['one scale and a zero point', { type: 'u8', hasZeros: true }],
  ['scales of outputs', { type: 'i8', axis: 1 }],
  ['scales of outputs by a negative axis', { type: 'i8', axis: -1 }],
  ['scales and zero points of outputs', { type: 'u8', axis: 1, hasZeros: true }],
  ['scales along axis 0, transposed after', { type: 'i8', axis: 0, turned: 'after' }],
  [
    'scales and zero points along axis 0, transposed after',
    { type: 'u8', axis: 0, hasZeros: true, turned: 'after' },
  ],
  ['scales along axis 0 by a negative axis', { type: 'i8', axis: -2, turned: 'after' }],
  ['codes that are transposed before', { type: 'i8', axis: 1, turned: 'before' }],
  ['blocks of 32 along axis 0', { type: 'i4', axis: 0, block: 32 }],
  ['blocks of 16 with zero points', { type: 'u4', axis: 0, block: 16, hasZeros: true }],
  ['blocks of 64', { type: 'u4', axis: 0, block: 64, hasZeros: true }],
  ['blocks of 8 bits', { type: 'i8', axis: 0, block: 32 }],
  ['blocks along axis 1, transposed after', { type: 'i4', axis: 1, block: 32, turned: 'after' }],
  ['blocks of 16 along axis 1, transposed after', { type: 'i8', axis: 1, block: 16, turned: 'after' }],
  ['blocks that are larger than the rows', { type: 'i4', axis: 0, block: 128 }],
  ['blocks of codes that are transposed before', { type: 'i8', axis: 0, block: 32, turned: 'before' }],
  ['scales of f16', { type: 'i8', axis: 1, scales: 'f16' }],
])("%s: the answers match ONNX Runtime's", async (_, codes) => {
  expect(await judgeDecoder({ ...BASE, edit: codedBy(codes) }, [3, 9])).toEqual({ is: 'equal' })
})

test.each<[string, Codes, RegExp]>([
  ['scales of inputs', { type: 'i8', axis: 0 }, /are per input instead of per output/],
  [
    'scales of inputs, transposed',
    { type: 'i8', axis: 1, turned: 'after' },
    /are per input instead of per output/,
  ],
  ['blocks of outputs', { type: 'i4', axis: 1, block: 8 }, /are per input instead of per output/],
])('%s are rejected by name', async (_, codes, why) => {
  const verdict = await judgeDecoder({ ...BASE, edit: codedBy(codes) }, [3])
  expect(verdict).toEqual({ is: 'refused', why: expect.stringMatching(why) })
})
