// Random graphs of the compiler's operators. In: a seed. Out: a graph and tensors for its inputs. Adds the
// generator's rarer steps: padding, pools, resizing, transposed convolutions, channel norms, cumulative sums,
// einsum, tile, recurrent layers, and steps that work with positions, integers, shapes and branches.
import { Random } from '../../../../test/helpers/random.ts'
import type { Attribute } from '../../onnx/ir/graph.ts'
import { countOf, tensorOf } from '../../onnx/ir/tensor.ts'
import { GraphMaker, int, ints, type RandomGraph, SIZES, type Step, text, type Value } from './graph-maker.ts'
import { PLACE_STEPS } from './random-places.ts'
import { WHOLE_STEPS } from './random-whole.ts'

function pad(graph: GraphMaker): void {
  const { name, dims } = graph.value()!
  if (dims.length === 0 || countOf(dims) > 2000) return
  const mode = graph.pick(['constant', 'constant', 'edge', 'reflect'])
  const pads = [...dims, ...dims].map((size) =>
    Math.min(graph.pick([0, 0, 1, 2]), mode === 'reflect' ? size - 1 : 2),
  )
  const to = dims.map((size, axis) => size + pads[axis]! + pads[axis + dims.length]!)
  const inputs = [name, graph.list(pads), graph.constant(graph.floats([]))]
  graph.node('Pad', inputs, to, { mode: text(mode) })
}

function planes(graph: GraphMaker, most: number): Value | undefined {
  return graph.value(({ dims }) => (dims.length === 3 || dims.length === 4) && countOf(dims) < most)
}

function pool(graph: GraphMaker): void {
  const value = planes(graph, 3000)
  if (value === undefined) return
  const { name, dims } = value
  const sizes = dims.slice(2)
  const kernel = sizes.map((size) => Math.min(size, graph.pick([1, 2, 3, 9])))
  const strides = sizes.map(() => graph.pick([1, 2, 3]))
  const pads = [...sizes, ...sizes].map((_, at) =>
    Math.min(graph.pick([0, 1]), kernel[at % sizes.length]! - 1),
  )
  const isCeiled = graph.random.chance(0.3)
  const places = sizes.map((size, at) => {
    const before = pads[at]!
    const rest = size + before + pads[at + sizes.length]! - kernel[at]!
    if (!isCeiled) return Math.floor(rest / strides[at]!) + 1
    const most = Math.ceil(rest / strides[at]!) + 1
    return (most - 1) * strides[at]! >= size + before ? most - 1 : most
  })
  const op = graph.pick(['MaxPool', 'AveragePool'])
  graph.node(op, [name], [...dims.slice(0, 2), ...places], {
    kernel_shape: ints(kernel),
    strides: ints(strides),
    pads: ints(pads),
    ceil_mode: int(isCeiled ? 1 : 0),
    ...(op === 'AveragePool' && { count_include_pad: int(graph.random.below(2)) }),
  })
}

function resize(graph: GraphMaker): void {
  const value = planes(graph, 1000)
  if (value === undefined) return
  const { name, dims } = value
  const to = dims.map((size, axis) => (axis < 2 ? size : graph.pick([1, 2, 5, size, 2 * size, 3 * size])))
  const empty = graph.constant(tensorOf('f32', [0], []))
  graph.node('Resize', [name, '', empty, graph.list(to)], to, {
    mode: text(graph.pick(['linear', 'cubic', 'nearest'])),
    nearest_mode: text('floor'),
    coordinate_transformation_mode: text(graph.pick(['half_pixel', 'align_corners', 'asymmetric'])),
  })
}

function spreadConv(graph: GraphMaker): void {
  const value = planes(graph, 600)
  if (value === undefined) return
  const { name, dims } = value
  const channels = dims[1]!
  const group = graph.pick([1, 1, channels])
  const each = graph.pick([1, 2, 5])
  const sizes = dims.slice(2)
  const kernel = sizes.map(() => graph.pick([1, 2, 3]))
  const strides = sizes.map((_, at) => graph.pick([1, 2, kernel[at]!]))
  const dilations = sizes.map(() => graph.pick([1, 1, 2]))
  const more = strides.map((stride) => graph.random.below(stride))
  const pads = [...sizes, ...sizes].map((_, at) =>
    Math.min(graph.pick([0, 1]), kernel[at % sizes.length]! - 1),
  )
  const places = sizes.map((size, at) => {
    const reach = (kernel[at]! - 1) * dilations[at]! + 1 + more[at]!
    return (size - 1) * strides[at]! + reach - pads[at]! - pads[at + sizes.length]!
  })
  if (places.some((size) => size < 1)) return
  const filters = graph.constant(graph.floats([channels, each, ...kernel], 0.5))
  graph.node('ConvTranspose', [name, filters], [dims[0]!, each * group, ...places], {
    group: int(group),
    strides: ints(strides),
    dilations: ints(dilations),
    output_padding: ints(more),
    pads: ints(pads),
  })
}

function channelNorm(graph: GraphMaker): void {
  const value = planes(graph, 3000)
  if (value === undefined) return
  const { name, dims } = value
  const channels = dims[1]!
  const one = () => graph.constant(graph.floats([channels]))
  const positive = graph.constant(
    tensorOf(
      'f32',
      [channels],
      Float32Array.from({ length: channels }, () => 0.5 + graph.random.unit()),
    ),
  )
  // A variance near zero would turn rounding errors into large numbers.
  const epsilon: Attribute = { kind: 'float', value: 0.1 }
  const kind = graph.random.below(3)
  if (kind === 0) graph.node('BatchNormalization', [name, one(), one(), one(), positive], dims, { epsilon })
  else if (kind === 1) graph.node('InstanceNormalization', [name, one(), one()], dims, { epsilon })
  else graph.node('GroupNormalization', [name, one(), one()], dims, { epsilon, num_groups: int(1) })
}

function runningSum(graph: GraphMaker): void {
  const value = graph.value(({ dims }) => dims.length > 0 && countOf(dims) < 2000)
  if (value === undefined) return
  const { name, dims } = value
  const axis = graph.constant(tensorOf('i64', [], [BigInt(graph.random.below(dims.length))]))
  const exclusive = int(graph.random.below(2))
  const reverse = int(graph.random.below(2))
  graph.node('CumSum', [name, axis], dims, { exclusive, reverse })
}

/** A sum over the last axis with a matrix; the result has its axes in a different order. */
function einsum(graph: GraphMaker): void {
  const value = graph.value(({ dims }) => dims.length >= 2 && dims.length <= 4 && countOf(dims) < 2000)
  if (value === undefined) return
  const { name, dims } = value
  const letters = 'abcd'.slice(0, dims.length)
  const isBatch = graph.random.chance(0.5)
  const n = graph.pick(SIZES)
  const right = isBatch ? [dims[0]!, n, dims.at(-1)!] : [n, dims.at(-1)!]
  const matrix = graph.constant(graph.floats(right, 1 / Math.sqrt(dims.at(-1)!)))
  const last = letters.at(-1)!
  const equation = `${letters},${isBatch ? 'a' : ''}n${last}->n${letters.slice(0, -1)}`
  graph.node('Einsum', [name, matrix], [n, ...dims.slice(0, -1)], { equation: text(equation) })
}

function recurrent(graph: GraphMaker): void {
  const value = graph.value(({ dims }) => dims.length === 3 && countOf(dims) > 0 && countOf(dims) < 600)
  if (value === undefined) return
  const { name, dims } = value
  const [steps, batch, width] = dims as [number, number, number]
  const op = graph.pick(['LSTM', 'GRU'])
  const direction = graph.pick(['forward', 'reverse', 'bidirectional'])
  const count = direction === 'bidirectional' ? 2 : 1
  const hidden = graph.pick([1, 2, 5])
  const rows = hidden * (op === 'LSTM' ? 4 : 3)
  const weights = (...sizes: number[]) => graph.constant(graph.floats([count, ...sizes], 0.5))
  const inputs = [name, weights(rows, width), weights(rows, hidden), weights(2 * rows)]
  graph.node(op, inputs, [steps, count, batch, hidden], {
    direction: text(direction),
    hidden_size: int(hidden),
    ...(op === 'GRU' && { linear_before_reset: int(graph.random.below(2)) }),
  })
}

function tile(graph: GraphMaker): void {
  const { name, dims } = graph.value()!
  if (dims.length === 0 || countOf(dims) > 500) return
  const times = dims.map(() => graph.pick([1, 1, 2, 3]))
  const to = dims.map((size, axis) => size * times[axis]!)
  graph.node('Tile', [name, graph.list(times)], to)
}

const RARE: readonly Step[] = [
  pad,
  pool,
  resize,
  spreadConv,
  channelNorm,
  runningSum,
  einsum,
  recurrent,
  tile,
  ...PLACE_STEPS,
  ...WHOLE_STEPS,
]

/** `more`: steps that are used as often as the rare ones. */
export const randomGraph = (seed: number, index: number, more: readonly Step[] = []): RandomGraph =>
  new GraphMaker(new Random(seed, index), [...RARE, ...more]).make()
