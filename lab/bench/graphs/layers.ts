// Single layers of convolutional networks as ONNX files with random weights, in the sizes in which measured
// networks have them.
import {
  modelBytes,
  type WrittenAttribute,
  type WrittenNode,
  type WrittenTensor,
} from '../../../src/network/onnx/testing/write-model.ts'
import { Random } from '../../../test/helpers/random.ts'

export interface Layer {
  readonly name: string
  /** Floating-point operations of one run: two per multiplication with a filter. */
  readonly flop: number
  readonly bytes: Uint8Array
}

interface Shape {
  readonly inputs: number
  readonly outputs: number
  /** Sizes of the input's places, and of the filters along the same axes. */
  readonly places: readonly number[]
  readonly kernel: readonly number[]
  readonly stride?: number
  readonly dilation?: number
  readonly group?: number
  /** Padding on both sides of each axis. Default: what keeps the size at stride 1. */
  readonly pad?: number
}

const square = (
  inputs: number,
  outputs: number,
  kernel: number,
  size: number,
  more: Partial<Shape> = {},
) => ({
  inputs,
  outputs,
  places: [size, size],
  kernel: [kernel, kernel],
  ...more,
})

/** `deep`: several layers in a row, so that converting the input and output counts little. */
export function layers(): readonly Layer[] {
  return [
    conv('3 x 3, 64 to 64, 56 x 56', square(64, 64, 3, 56)),
    conv('3 x 3, 64 to 64, 56 x 56', square(64, 64, 3, 56), 6),
    conv('3 x 3, 128 to 128, 28 x 28', square(128, 128, 3, 28), 6),
    conv('3 x 3, 256 to 256, 14 x 14', square(256, 256, 3, 14), 6),
    conv('3 x 3, 512 to 512, 7 x 7', square(512, 512, 3, 7), 4),
    conv('3 x 3, 96 to 24, 80 x 80', square(96, 24, 3, 80)),
    conv('3 x 3 by 2, 3 to 24, 320 x 320', square(3, 24, 3, 320, { stride: 2 })),
    conv('7 x 7 by 2, 3 to 64, 224 x 224', square(3, 64, 7, 224, { stride: 2 })),
    conv('3 x 3 dilated by 2, 64 to 64, 56 x 56', square(64, 64, 3, 56, { dilation: 2, pad: 2 })),
    conv('3 x 3 in 4 groups, 64 to 64, 56 x 56', square(64, 64, 3, 56, { group: 4 })),
    conv('1 x 1, 96 to 48, 80 x 80', square(96, 48, 1, 80)),
    conv('1 x 1, 48 to 48, 80 x 80', square(48, 48, 1, 80), 6),
    conv('3 x 3 depthwise, 96, 80 x 80', square(96, 96, 3, 80, { group: 96 })),
    conv('5 x 5 depthwise, 96, 80 x 80', square(96, 96, 5, 80, { group: 96 })),
    conv('7 x 7 depthwise, 96, 80 x 80', square(96, 96, 7, 80, { group: 96 })),
    conv('3, 256 to 256, 1000', { inputs: 256, outputs: 256, places: [1000], kernel: [3] }),
    conv('3 x 3 x 3, 16 to 16, 16 x 32 x 32', {
      inputs: 16,
      outputs: 16,
      places: [16, 32, 32],
      kernel: [3, 3, 3],
    }),
    transposed('2 x 2 by 2, 24 to 24, 80 x 80', square(24, 24, 2, 80, { stride: 2, pad: 0 })),
    transposed('3 x 3 by 2, 24 to 24, 80 x 80', square(24, 24, 3, 80, { stride: 2, pad: 1 })),
    transposed('4 x 4 by 2, 64 to 32, 40 x 40', square(64, 32, 4, 40, { stride: 2, pad: 1 })),
    transposed('16 by 8, 64 to 64, 1000', {
      inputs: 64,
      outputs: 64,
      places: [1000],
      kernel: [16],
      stride: 8,
      pad: 4,
    }),
    parted('3 x 3 after Concat, 48 + 48 to 24, 80 x 80'),
  ]
}

const count = (sizes: readonly number[]): number => sizes.reduce((product, size) => product * size, 1)

function weights(name: string, dims: readonly number[]): WrittenTensor {
  const random = new Random(3)
  const scale = 1 / Math.sqrt(count(dims.slice(1)))
  const values = Float32Array.from({ length: count(dims) }, () => scale * random.signed())
  return { name, dims, raw: new Uint8Array(values.buffer) }
}

const attributesOf = ({ kernel, stride = 1, dilation = 1, group = 1, pad }: Shape) => {
  const around = kernel.map((size) => pad ?? size >> 1)
  return {
    kernel_shape: { ints: kernel },
    strides: { ints: kernel.map(() => stride) },
    dilations: { ints: kernel.map(() => dilation) },
    pads: { ints: [...around, ...around] },
    group,
  } satisfies Record<string, WrittenAttribute>
}

const values = (names: readonly string[], dims: readonly number[]) =>
  names.map((name) => ({ name, type: 1, dims }))

/** `deep` layers with a bias and Relu, one after the other. */
function conv(name: string, shape: Shape, deep = 1): Layer {
  const { inputs, outputs, places, kernel, stride = 1, group = 1 } = shape
  const nodes: WrittenNode[] = []
  const attributes = attributesOf(shape)
  for (let at = 0; at < deep; at++)
    nodes.push(
      { op: 'Conv', inputs: [`x${at}`, 'w', 'b'], outputs: [`y${at}`], attributes },
      { op: 'Relu', inputs: [`y${at}`], outputs: [at === deep - 1 ? 'y' : `x${at + 1}`] },
    )
  const filters = [outputs, inputs / group, ...kernel]
  return {
    name: deep === 1 ? name : `${name}, ${deep} in a row`,
    flop: 2 * deep * count(filters) * count(places.map((size) => Math.ceil(size / stride))),
    bytes: modelBytes({
      nodes,
      constants: [weights('w', filters), weights('b', [outputs])],
      inputs: values(['x0'], [1, inputs, ...places]),
      outputs: values(['y'], []).map(({ name: output, type }) => ({ name: output, type })),
    }),
  }
}

function transposed(name: string, shape: Shape): Layer {
  const { inputs, outputs, places, kernel } = shape
  const filters = [inputs, outputs, ...kernel]
  return {
    name: `ConvTranspose ${name}`,
    flop: 2 * count(filters) * count(places),
    bytes: modelBytes({
      nodes: [{ op: 'ConvTranspose', inputs: ['x', 'w'], outputs: ['y'], attributes: attributesOf(shape) }],
      constants: [weights('w', filters)],
      inputs: values(['x'], [1, inputs, ...places]),
      outputs: [{ name: 'y', type: 1 }],
    }),
  }
}

function parted(name: string): Layer {
  const attributes = attributesOf(square(96, 24, 3, 80))
  return {
    name,
    flop: 2 * 24 * 96 * 9 * 6400,
    bytes: modelBytes({
      nodes: [
        { op: 'Concat', inputs: ['a', 'b'], outputs: ['x'], attributes: { axis: 1 } },
        { op: 'Conv', inputs: ['x', 'w'], outputs: ['y'], attributes },
      ],
      constants: [weights('w', [24, 96, 3, 3])],
      inputs: values(['a', 'b'], [1, 48, 80, 80]),
      outputs: [{ name: 'y', type: 1 }],
    }),
  }
}
