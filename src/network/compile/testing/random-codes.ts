// Random graphs of 8-bit codes. In: random numbers. Out: convolutions with the codes of a plain loop over
// integers, and networks with QuantizeLinear and DequantizeLinear around each operator.
import type { Random } from '../../../../test/helpers/random.ts'
import type { Attribute, Constant, Graph, Node } from '../../onnx/ir/graph.ts'
import { countOf, type DType, type Tensor, tensorOf } from '../../onnx/ir/tensor.ts'
import { roundEven } from '../../onnx/operators/unary.ts'
import { int, ints, namedNode } from './graph-maker.ts'

export const node = (
  op: string,
  inputs: readonly string[],
  output: string,
  attributes: Readonly<Record<string, Attribute>> = {},
): Node => namedNode(op, inputs, output, new Map(Object.entries(attributes)))

export const scalar = (dtype: DType, value: number) => tensorOf(dtype, [], [value])

/** Codes, of which every fourth is at an end of its range. */
export function codes(random: Random, dtype: 'u8' | 'i8', dims: readonly number[]): Tensor {
  const low = dtype === 'i8' ? -128 : 0
  const one = () => (random.chance(0.25) ? low + 255 * random.below(2) : low + random.below(256))
  return tensorOf(dtype, dims, Array.from({ length: countOf(dims) }, one))
}

export interface Shape {
  readonly batch: number
  readonly group: number
  /** Channels and filters of a group. */
  readonly channels: number
  readonly filters: number
  readonly sizes: readonly number[]
  readonly kernel: readonly number[]
  readonly strides: readonly number[]
  readonly dilations: readonly number[]
  readonly pads: readonly number[]
}

export function randomShape(random: Random): Shape {
  const rank = random.pick([1, 2, 2, 2, 3])
  const each = <T>(values: readonly T[]) => Array.from({ length: rank }, () => random.pick(values))
  const kernel = each([1, 1, 2, 3])
  const dilations = each([1, 1, 2])
  const isChannelwise = random.chance(0.25)
  const group = isChannelwise ? random.pick([2, 5, 8, 17]) : random.pick([1, 1, 1, 2, 3])
  return {
    batch: random.pick([1, 1, 2]),
    group,
    channels: isChannelwise ? 1 : group === 1 ? random.pick([1, 3, 4, 6, 8, 20]) : random.pick([4, 8]),
    filters: isChannelwise ? 1 : random.pick([1, 3, 8, 13, 16]),
    sizes: kernel.map((size, at) => (size - 1) * dilations[at]! + 1 + random.below(7)),
    kernel,
    dilations,
    strides: each([1, 1, 2]),
    pads: [...each([0, 0, 1, 2]), ...each([0, 0, 1])],
  }
}

export const attributesOf = ({ group, strides, dilations, pads }: Shape) => ({
  group: int(group),
  strides: ints(strides),
  dilations: ints(dilations),
  pads: ints(pads),
})

interface Quantised {
  readonly shape: Shape
  readonly x: Tensor
  readonly w: Tensor
  readonly bias: Tensor
  readonly zero: number
  readonly wZero: number
  readonly scale: readonly number[]
  readonly size: number
  readonly yZero: number
}

/**
 * The sums of a convolution, and the factors that QLinearConv multiplies them by, one number after the other.
 */
function plainCodes({ shape, x, w, bias, zero, wZero, scale, size, yZero }: Quantised, xScale: number) {
  const { batch, group, channels, filters, sizes, kernel, strides, dilations, pads } = shape
  const rank = sizes.length
  const places = sizes.map(
    (own, at) =>
      Math.floor(
        (own + pads[at]! + pads[at + rank]! - (kernel[at]! - 1) * dilations[at]! - 1) / strides[at]!,
      ) + 1,
  )
  const positions = (dims: readonly number[]): number[][] =>
    dims.reduce<number[][]>(
      (all, own) => all.flatMap((front) => Array.from({ length: own }, (_, at) => [...front, at])),
      [[]],
    )
  const made: number[] = []
  for (let image = 0; image < batch; image++)
    for (let filter = 0; filter < group * filters; filter++)
      for (const place of positions(places)) {
        let sum = Number(bias.data[filter])
        for (let channel = 0; channel < channels; channel++)
          for (const tap of positions(kernel)) {
            const at = place.map(
              (each, axis) => each * strides[axis]! - pads[axis]! + tap[axis]! * dilations[axis]!,
            )
            if (at.some((each, axis) => each < 0 || each >= sizes[axis]!)) continue
            const from = Math.floor(filter / filters) * channels + channel
            const code = at.reduce(
              (index, each, axis) => index * sizes[axis]! + each,
              image * group * channels + from,
            )
            const weight = tap.reduce(
              (index, each, axis) => index * kernel[axis]! + each,
              filter * channels + channel,
            )
            sum += (Number(x.data[code]) - zero) * (Number(w.data[weight]) - wZero)
          }
        const factor = Math.fround(Math.fround(xScale * scale[scale.length === 1 ? 0 : filter]!) / size)
        made.push(Math.min(255, Math.max(0, roundEven(Math.fround(Math.fround(sum) * factor)) + yZero)))
      }
  return made
}

interface CodedGraph {
  readonly graph: Graph
  readonly x: Tensor
  /** The codes of the output. */
  readonly wanted: readonly number[]
}

/** A QLinearConv. */
export function randomConvolution(random: Random): CodedGraph {
  const shape = randomShape(random)
  const { batch, group, channels, filters, sizes, kernel } = shape
  const dims = [batch, group * channels, ...sizes]
  const count = group * filters
  const [dtype, wType] = [random.pick(['u8', 'i8'] as const), random.pick(['i8', 'u8'] as const)]
  const x = codes(random, dtype, dims)
  const w = codes(random, wType, [count, channels, ...kernel])
  const bias = tensorOf(
    'i32',
    [count],
    Array.from({ length: count }, () => random.below(4000) - 2000),
  )
  const zero = random.below(256) - (dtype === 'i8' ? 128 : 0)
  const wZero = wType === 'i8' ? 0 : 128
  const scale = Array.from({ length: random.chance(0.5) ? 1 : count }, () =>
    Math.fround(0.002 + 0.01 * random.unit()),
  )
  const [xScale, size] = [0.02, 0.3].map(Math.fround) as [number, number]
  const yZero = random.below(256)
  const constants = new Map<string, Constant>([
    ['xs', scalar('f32', xScale)],
    ['xz', scalar(dtype, zero)],
    ['w', w],
    ['ws', tensorOf('f32', scale.length === 1 ? [] : [count], scale)],
    [
      'wz',
      scale.length === 1
        ? scalar(wType, wZero)
        : tensorOf(
            wType,
            [count],
            scale.map(() => wZero),
          ),
    ],
    ['ys', scalar('f32', size)],
    ['yz', scalar('u8', yZero)],
    ['b', bias],
  ])
  const graph: Graph = {
    name: 'codes',
    inputs: [{ name: 'x', type: { dtype, dims } }],
    outputs: ['y'],
    constants,
    nodes: [
      node('QLinearConv', ['x', 'xs', 'xz', 'w', 'ws', 'wz', 'ys', 'yz', 'b'], 'y', attributesOf(shape)),
    ],
  }
  const wanted = plainCodes({ shape, x, w, bias, zero, wZero, scale, size, yZero }, xScale)
  return { graph, x, wanted }
}

/** Adds a layer to a network of codes, each followed by its codes. */
class QuantisedNetwork {
  readonly nodes: Node[] = []
  readonly constants = new Map<string, Constant>()
  readonly random: Random
  #made = 0

  constructor(random: Random) {
    this.random = random
  }

  constant(tensor: Tensor): string {
    const name = `c${this.#made++}`
    this.constants.set(name, tensor)
    return name
  }

  add(op: string, inputs: readonly string[], attributes: Readonly<Record<string, Attribute>> = {}): string {
    const name = `${op}${this.#made++}`
    this.nodes.push(node(op, inputs, name, attributes))
    return name
  }

  /** The value as floats with 8 bits. */
  rounded(value: string, size: number, dtype = this.random.pick(['u8', 'i8'] as const)): string {
    const zero = dtype === 'u8' ? this.random.pick([0, 100, 128]) : this.random.pick([-128, 0, 7])
    const scale = this.constant(scalar('f32', Math.fround(size)))
    const point = this.constant(scalar(dtype, zero))
    return this.add('DequantizeLinear', [this.add('QuantizeLinear', [value, scale, point]), scale, point])
  }

  /** `xSize`: the scale of x. */
  conv(x: string, xSize: number, shape: Shape): string {
    const count = shape.group * shape.filters
    const w = this.constant(codes(this.random, 'i8', [count, shape.channels, ...shape.kernel]))
    const scales = Array.from({ length: count }, () => Math.fround(0.0005 + 0.001 * this.random.unit()))
    const ws = this.constant(tensorOf('f32', [count], scales))
    const wz = this.constant(
      tensorOf(
        'i8',
        [count],
        scales.map(() => 0),
      ),
    )
    const filters = this.add('DequantizeLinear', [w, ws, wz], { axis: int(0) })
    const products = scales.map((each) => Math.fround(Math.fround(xSize) * each))
    const isWhole = this.random.chance(0.7)
    const bias = products.map((each) =>
      Math.fround(each * (this.random.below(200) - 100 + (isWhole ? 0 : 0.4))),
    )
    const b = this.constant(tensorOf('f32', [count], bias))
    return this.add('Conv', [x, filters, b], attributesOf(shape))
  }
}

const square = (group: number, channels: number, filters: number, tap: number, stride = 1): Shape => ({
  ...{ batch: 1, group, channels, filters, sizes: [9, 9] },
  ...{ kernel: [tap, tap], strides: [stride, stride], dilations: [1, 1] },
  pads: [tap >> 1, tap >> 1, tap >> 1, tap >> 1],
})

/** Convolutions, activations and a sum, as quantisers write them. `size`: the scale of the output. */
export function randomNetwork(random: Random): { readonly graph: Graph; readonly size: number } {
  const made = new QuantisedNetwork(random)
  const channels = random.pick([4, 6, 16])
  const given = made.rounded('x', 0.02)
  const limits = [made.constant(scalar('f32', 0)), made.constant(scalar('f32', 1.5))]
  const first = made.conv(given, 0.02, square(1, 3, channels, random.pick([1, 3]), random.pick([1, 2])))
  const active = random.pick([
    () => first,
    () => made.add('Relu', [first]),
    () => made.add('Clip', [first, ...limits]),
    () => made.add('Sigmoid', [first]),
  ])()
  const codesOf = made.rounded(active, 0.015)
  const second = random.pick([
    () => made.conv(codesOf, 0.015, square(channels, 1, 1, 3)),
    () => made.conv(codesOf, 0.015, square(1, channels, channels, 1)),
    () => made.conv(codesOf, 0.015, square(1, channels, channels, 3)),
  ])()
  const sum = made.add('Add', [made.rounded(second, 0.02), codesOf])
  const size = 0.03
  const graph: Graph = {
    name: 'network',
    inputs: [{ name: 'x', type: { dtype: 'f32', dims: [1, 3, 9, 9] } }],
    outputs: [made.rounded(sum, size)],
    constants: made.constants,
    nodes: made.nodes,
  }
  return { graph, size }
}

/** A convolution of the means of the channels of [1, channels, 5], as codes. */
export const codesOfMeans = (channels: number): Graph => ({
  name: 'means',
  inputs: [{ name: 'x', type: { dtype: 'f32', dims: [1, channels, 5] } }],
  outputs: ['sums'],
  constants: new Map([
    ['scale', scalar('f32', 0.01)],
    ['zero', scalar('u8', 128)],
    [
      'w',
      tensorOf(
        'i8',
        [2, channels, 1],
        Array.from({ length: 2 * channels }, (_, at) => (at % 200) - 100),
      ),
    ],
    ['none', scalar('i8', 0)],
  ]),
  nodes: [
    node('GlobalAveragePool', ['x'], 'means'),
    node('QuantizeLinear', ['means', 'scale', 'zero'], 'codes'),
    node('DequantizeLinear', ['codes', 'scale', 'zero'], 'floats'),
    node('DequantizeLinear', ['w', 'scale', 'none'], 'filters'),
    node('Conv', ['floats', 'filters'], 'sums'),
  ],
})
