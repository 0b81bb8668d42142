// The ONNX reader. In: a small ONNX file written here, damaged copies of it. Out: whether its 8-bit weights
// are dequantized correctly, and whether damage is rejected.
import { expect, test } from 'vitest'
// @ts-expect-error scripts have no types
import { weightsOf } from './minimind.mjs'
// @ts-expect-error scripts have no types
import { readOnnx } from './onnx-reader.mjs'

const varint = (value: number): number[] =>
  value < 128 ? [value] : [(value & 127) | 128, ...varint(Math.floor(value / 128))]
const field = (number: number, bytes: ArrayLike<number>): number[] => [
  ...varint(number * 8 + 2),
  ...varint(bytes.length),
  ...Array.from(bytes),
]
const whole = (number: number, value: number): number[] => [...varint(number * 8), ...varint(value)]
const text = (value: string) => new TextEncoder().encode(value)

function tensor(name: string, dims: readonly number[], type: number, raw: ArrayBufferView): number[] {
  const data = new Uint8Array(raw.buffer, raw.byteOffset, raw.byteLength)
  const body = [
    ...dims.flatMap((size) => whole(1, size)),
    ...whole(2, type),
    ...field(8, text(name)),
    ...field(9, data),
  ]
  return field(5, body)
}

const node = (type: string, name: string, inputs: readonly string[]): number[] =>
  field(1, [
    ...inputs.flatMap((input) => field(1, text(input))),
    ...field(3, text(name)),
    ...field(4, text(type)),
  ])

const STEM = 'onnx::MatMul_1'
const BYTES = Uint8Array.from(
  field(7, [
    ...node('Gather', '/model/embed_tokens/Gather', ['model.embed_tokens.weight_quantized', 'input_ids']),
    ...node('MatMulInteger', '/model/layers.0/mlp/up_proj/MatMul_quant', ['x', `${STEM}_quantized`, 'z']),
    ...tensor('model.embed_tokens.weight_quantized', [2, 2], 2, Uint8Array.of(0, 128, 129, 255)),
    ...tensor('model.embed_tokens.weight_scale', [], 1, Float32Array.of(0.5)),
    ...tensor('model.embed_tokens.weight_zero_point', [], 2, Uint8Array.of(128)),
    ...tensor(`${STEM}_quantized`, [2, 3], 3, Int8Array.of(1, 2, 3, -4, -5, -6)),
    ...tensor(`${STEM}_scale`, [3], 1, Float32Array.of(1, 0.5, 0.25)),
    ...tensor(`${STEM}_zero_point`, [3], 3, Int8Array.of(0, 1, 0)),
    ...tensor('model.norm.weight', [2], 1, Float32Array.of(1.5, 2.5)),
  ]),
)

test('weights are (w - zero point) * scale, with a row for each output', () => {
  const weights = weightsOf(readOnnx(BYTES))
  const values = (name: string) => [...weights.get(name).values]
  expect(values('model.embed_tokens.weight')).toEqual([-64, 0, 0.5, 63.5])
  expect(values('model.norm.weight')).toEqual([1.5, 2.5])
  expect(weights.get('model.layers.0.mlp.up_proj.weight').shape).toEqual([3, 2])
  expect(values('model.layers.0.mlp.up_proj.weight')).toEqual([1, -4, 0.5, -3, 0.75, -1.5])
})

test('a truncated file is rejected', () => {
  for (let length = 1; length < BYTES.length; length++)
    expect(() => readOnnx(BYTES.subarray(0, length))).toThrow(RangeError)
})
