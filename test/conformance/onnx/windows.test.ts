// Convolutions. In: a small image network and an audio stem, with random weights. Out: whether networks match
// onnxruntime-web, on several sizes.
import { InferenceSession, Tensor } from 'onnxruntime-web'
import { expect, test } from 'vitest'
import { Network } from '../../../src/network/api/network.ts'
import { toOrt } from '../../../src/network/compile/staged/ort-tensors.ts'
import { tensorOf } from '../../../src/network/onnx/ir/tensor.ts'
import {
  modelBytes,
  type WrittenNode,
  type WrittenTensor,
} from '../../../src/network/onnx/testing/write-model.ts'
import { Random } from '../../helpers/random.ts'

const random = new Random(11)

function floats(name: string, dims: readonly number[]): WrittenTensor {
  const count = dims.reduce((product, size) => product * size, 1)
  const scale = Math.sqrt(3 / (count / (dims[0] ?? 1)))
  const values = Float32Array.from({ length: count }, () => scale * random.signed())
  return { name, type: 1, dims: [...dims], raw: new Uint8Array(values.buffer) }
}

const conv = (name: string, x: string, attributes: WrittenNode['attributes']): WrittenNode => ({
  op: 'Conv',
  inputs: [x, `${name}.weight`, `${name}.bias`],
  outputs: [name],
  attributes: attributes!,
})
const node = (op: string, inputs: string[], output: string, attributes = {}): WrittenNode => ({
  op,
  inputs,
  outputs: [output],
  attributes,
})

/** A strided stem, a depthwise and a pointwise convolution with a residual sum, a mean, and classes. */
const images = modelBytes({
  inputs: [{ name: 'x', type: 1, dims: ['batch', 3, 'height', 'width'] }],
  outputs: [{ name: 'y', type: 1, dims: ['batch', 7] }],
  constants: [
    ...[floats('stem.weight', [16, 3, 3, 3]), floats('stem.bias', [16])],
    ...[floats('deep.weight', [16, 1, 3, 3]), floats('deep.bias', [16])],
    ...[floats('wide.weight', [16, 16, 1, 1]), floats('wide.bias', [16])],
    ...[floats('classes', [16, 7]), floats('offsets', [7])],
  ],
  nodes: [
    conv('stem', 'x', { strides: { ints: [2, 2] }, pads: { ints: [1, 1, 1, 1] } }),
    node('HardSwish', ['stem'], 'a'),
    conv('deep', 'a', { group: 16, pads: { ints: [1, 1, 1, 1] } }),
    node('Relu', ['deep'], 'b'),
    conv('wide', 'b', {}),
    node('Add', ['wide', 'a'], 'c'),
    node('ReduceMean', ['c'], 'd', { axes: { ints: [2, 3] }, keepdims: 0 }),
    node('Gemm', ['d', 'classes', 'offsets'], 'y'),
  ],
})

/** Two convolutions over time with GELU, then tokens of channels, like the beginning of a speech encoder. */
const sounds = modelBytes({
  inputs: [{ name: 'x', type: 1, dims: ['batch', 10, 'frames'] }],
  outputs: [{ name: 'y', type: 1, dims: ['batch', 'tokens', 24] }],
  constants: [
    ...[floats('one.weight', [24, 10, 3]), floats('one.bias', [24])],
    ...[floats('two.weight', [24, 24, 3]), floats('two.bias', [24])],
    floats('mixed', [24, 24]),
  ],
  nodes: [
    conv('one', 'x', { pads: { ints: [1, 1] } }),
    node('Tanh', ['one'], 'a'),
    conv('two', 'a', { pads: { ints: [1, 1] }, strides: { ints: [2] } }),
    node('Sigmoid', ['two'], 'b'),
    node('Transpose', ['b'], 'c', { perm: { ints: [0, 2, 1] } }),
    node('MatMul', ['c', 'mixed'], 'y'),
  ],
})

const spreading = (name: string, x: string, attributes: WrittenNode['attributes']): WrittenNode => ({
  ...conv(name, x, attributes),
  op: 'ConvTranspose',
})

/** Outputs as large as the input times the stride whose windows overlap or leave gaps. */
const shifted = modelBytes({
  inputs: [{ name: 'x', type: 1, dims: ['batch', 5, 'frames'] }],
  outputs: [
    { name: 'moved', type: 1, dims: ['batch', 4, 'more'] },
    { name: 'apart', type: 1, dims: ['batch', 4, 'others'] },
  ],
  constants: [
    ...[floats('moved.weight', [5, 4, 3]), floats('moved.bias', [4])],
    ...[floats('apart.weight', [5, 4, 2]), floats('apart.bias', [4])],
  ],
  nodes: [
    spreading('moved', 'x', {
      strides: { ints: [3] },
      pads: { ints: [1, 1] },
      output_padding: { ints: [2] },
    }),
    spreading('apart', 'x', { strides: { ints: [2] }, dilations: { ints: [2] }, pads: { ints: [0, 1] } }),
  ],
})

test.each([
  [
    'shifted',
    shifted,
    [
      [1, 5, 1],
      [2, 5, 7],
      [1, 5, 30],
    ],
  ],
  [
    'images',
    images,
    [
      [1, 3, 8, 8],
      [2, 3, 15, 9],
      [1, 3, 32, 32],
      [3, 3, 1, 5],
    ],
  ],
  [
    'sounds',
    sounds,
    [
      [1, 10, 1],
      [1, 10, 2],
      [2, 10, 33],
      [1, 10, 100],
    ],
  ],
] as const)('%s', { timeout: 30_000 }, async (_, bytes, shapes) => {
  const session = await InferenceSession.create(bytes, { executionProviders: ['wasm'] })
  for (const build of ['relaxed', 'simd128'] as const) {
    const network = await Network.load(new File([new Uint8Array(bytes)], 'net.onnx'), { build })
    for (const dims of shapes) {
      const count = dims.reduce<number>((product, size) => product * size, 1)
      const x = tensorOf(
        'f32',
        dims,
        Float32Array.from({ length: count }, () => random.signed()),
      )
      const wanted = await session.run({ x: toOrt(Tensor, x) })
      const found = await network.run({ x })
      for (const [name, output] of Object.entries(wanted)) {
        expect(found[name]!.dims).toEqual(output.dims)
        const theirs = output.data as Float32Array
        const worst = theirs.reduce(
          (most, value, at) => Math.max(most, Math.abs(value - Number(found[name]!.data[at]))),
          0,
        )
        expect(worst, `${name} ${build} ${dims}`).toBeLessThan(1e-5)
      }
    }
    await network.dispose()
  }
})
