// Lists of floats in TensorProtos. In: lists in one piece, in several, and number by number. Out: the same
// tensor, or the error for a list that does not fit its shape.
import { PbfWriter } from 'pbf'
import { expect, test } from 'vitest'
import { Message } from '../../../core/formats/protobuf.ts'
import { readTensorFields, tensorFrom } from './tensor-proto.ts'

const NUMBERS = [1, -0, 0.1, Number.NaN, Number.NEGATIVE_INFINITY, 1e-45]

/** An f32 tensor of `count` elements whose numbers `write` writes. */
function tensorOf(count: number, write: (to: PbfWriter) => void) {
  const to = new PbfWriter()
  to.writePackedVarint(1, [count])
  to.writeVarintField(2, 1)
  write(to)
  to.writeStringField(8, 'w')
  return tensorFrom('m.onnx', readTensorFields(new Message('m.onnx', to.finish())))
}

test('a list of floats is the same in one piece, in several, and number by number', () => {
  const wanted = { dtype: 'f32', dims: [6], data: Float32Array.from(NUMBERS) }
  const one = (to: PbfWriter) => to.writePackedFloat(4, NUMBERS)
  const two = (to: PbfWriter) => {
    to.writePackedFloat(4, NUMBERS.slice(0, 2))
    to.writePackedFloat(4, NUMBERS.slice(2))
  }
  const each = (to: PbfWriter) => {
    for (const number of NUMBERS) to.writeFloatField(4, number)
  }
  const mixed = (to: PbfWriter) => {
    to.writeFloatField(4, NUMBERS[0]!)
    to.writePackedFloat(4, NUMBERS.slice(1))
  }
  for (const write of [one, two, each, mixed]) expect(tensorOf(6, write)).toEqual(wanted)
})

test('a list that does not fit its shape is rejected with both numbers', () => {
  const wrong = (write: (to: PbfWriter) => void) => expect(() => tensorOf(5, write))
  wrong((to) => to.writePackedFloat(4, NUMBERS)).toThrow('has 6 elements, but its shape [5] needs 5')
  wrong((to) => {
    to.writePackedFloat(4, NUMBERS.slice(0, 3))
    to.writePackedFloat(4, NUMBERS.slice(3))
  }).toThrow('has 6 elements, but its shape [5] needs 5')
  wrong((to) => to.writeBytesField(4, new Uint8Array(7))).toThrow('ends within a float')
})
