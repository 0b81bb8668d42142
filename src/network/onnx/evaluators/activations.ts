// Evaluators of activations, softmax and similar operators.
import { erf } from '../../../../src/core/base/erf.ts'
import type { Evaluators } from '../evaluate.ts'
import { axisOf, broadcastIndices } from '../ir/broadcast.ts'
import type { Node } from '../ir/graph.ts'
import { type Evaluate, type Evaluation, floatOf, given, intOf, stringOf, unfit } from '../ir/operator.ts'
import { countOf, reader, type Tensor, writer, zeros } from '../ir/tensor.ts'
import { largest } from '../operators/reduce.ts'

type Compute = (x: number) => number

export const sigmoid: Compute = (x) => 1 / (1 + Math.exp(-x))
const gelu: Compute = (x) => 0.5 * x * (1 + erf(x / Math.SQRT2))
const geluTanh: Compute = (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)))
/** ln(1 + e^x) without overflow. */
export const softplus: Compute = (x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)))
export const limited: Compute = (x) => Math.max(0, Math.min(1, x))
export const elu = (x: number, alpha: number): number => (x < 0 ? alpha * Math.expm1(x) : x)

function geluOf(node: Node): Compute {
  const kind = stringOf(node, 'approximate', 'none')
  if (kind === 'none') return gelu
  if (kind === 'tanh') return geluTanh
  throw unfit(node, `its attribute approximate is ${kind} but must be none or tanh`)
}

/** The bias has one number for each index of the last axis. */
export function biased(
  node: Node,
  input: Tensor,
  bias: Tensor | undefined,
  compute: (x: number) => number = (x) => x,
): Tensor {
  if (bias !== undefined && `${bias.dims}` !== `${input.dims.at(-1)}`)
    throw unfit(node, `a bias of shape [${bias.dims}] does not fit its input of shape [${input.dims}]`)
  const made = zeros(input.dtype, input.dims)
  const places = bias && broadcastIndices(bias.dims, input.dims)
  const read = reader(input)
  const shift = bias && reader(bias)
  const write = writer(made)
  for (let at = 0; at < made.data.length; at++)
    write(at, compute(read(at) + (shift && places ? shift(places[at]!) : 0)))
  return made
}

/** An activation of x, or of the sum of x and a bias. */
const activation =
  (computeOf: (node: Node) => Compute): Evaluate =>
  (context) => {
    const { node, inputs } = context
    return [biased(node, given(context, 0), inputs[1], computeOf(node))]
  }
/** An activation with an attribute alpha. */
const scaled = (otherwise: number, compute: (x: number, alpha: number, node: Node) => number): Evaluate =>
  activation((node) => {
    const alpha = floatOf(node, 'alpha', otherwise)
    return (x) => compute(x, alpha, node)
  })
const plain = (compute: Compute): Evaluate => activation(() => compute)

/** Writes the result for one line of numbers. */
type Line = (values: Float64Array) => void

/** Before opset 13, all axes from the given one on form one line. */
function alongAxis(compute: Line): Evaluate {
  return (context) => {
    const { node } = context
    const input = given(context, 0)
    const isFlat = node.version < 13
    const axis = axisOf(node, intOf(node, 'axis', isFlat ? 1 : -1), input.dims.length)
    const after = countOf(input.dims.slice(axis + 1))
    const [size, inner] = isFlat ? [input.dims[axis]! * after, 1] : [input.dims[axis]!, after]
    return [lineByLine(input, size, inner, compute)]
  }
}

/** Applies `compute` to each line of `size` numbers, which are `inner` elements apart. */
export function lineByLine(input: Tensor, size: number, inner: number, compute: Line): Tensor {
  const made = zeros(input.dtype, input.dims)
  const read = reader(input)
  const write = writer(made)
  const values = new Float64Array(size)
  for (let line = 0; line * size < made.data.length; line++) {
    const start = Math.floor(line / inner) * size * inner + (line % inner)
    for (let at = 0; at < size; at++) values[at] = read(start + at * inner)
    compute(values)
    for (let at = 0; at < size; at++) write(start + at * inner, values[at]!)
  }
  return made
}

/** In place. */
export const softmax: Line = (values) => {
  const most = largest(values)
  let total = 0
  for (let at = 0; at < values.length; at++) total += values[at] = Math.exp(values[at]! - most)
  for (let at = 0; at < values.length; at++) values[at]! /= total
}

/** In place. */
export const logSoftmax: Line = (values) => {
  const most = largest(values)
  const total = Math.log(values.reduce((sum, value) => sum + Math.exp(value - most), 0))
  for (let at = 0; at < values.length; at++) values[at] = values[at]! - most - total
}

/** NaN counts as the largest. */
const hardmax: Line = (values) => {
  const nan = values.findIndex(Number.isNaN)
  const first = nan >= 0 ? nan : values.indexOf(largest(values))
  values.fill(0)
  if (first >= 0) values[first] = 1
}

function evaluateSwiGlu(context: Evaluation): Tensor {
  const [gate, value] = [given(context, 0), given(context, 1)]
  if (`${gate.dims}` !== `${value.dims}`)
    throw unfit(context.node, `its inputs have the shapes [${gate.dims}] and [${value.dims}]`)
  const alpha = floatOf(context.node, 'alpha', 1)
  const [a, b] = [reader(gate), reader(value)]
  const made = zeros(gate.dtype, gate.dims)
  const write = writer(made)
  for (let at = 0; at < made.data.length; at++) write(at, a(at) * sigmoid(alpha * a(at)) * b(at))
  return made
}

export const ACTIVATIONS: Evaluators = new Map([
  ['Softplus', plain(softplus)],
  ['Softsign', plain((x) => x / (1 + Math.abs(x)))],
  ['HardSwish', plain((x) => x * limited(x / 6 + 0.5))],
  ['Mish', plain((x) => x * Math.tanh(softplus(x)))],
  ['Gelu', activation(geluOf)],
  ['Swish', scaled(1, (x, alpha) => x * sigmoid(alpha * x))],
  ['SwiGLU', (context) => [evaluateSwiGlu(context)]],
  ['LeakyRelu', scaled(0.01, (x, alpha) => (x < 0 ? alpha * x : x))],
  ['ThresholdedRelu', scaled(1, (x, alpha) => (x > alpha ? x : 0))],
  ['Elu', scaled(1, elu)],
  ['Celu', scaled(1, (x, alpha) => (x < 0 ? alpha * Math.expm1(x / alpha) : x))],
  [
    'Selu',
    scaled(
      1.6732631921768188,
      (x, alpha, node) => floatOf(node, 'gamma', 1.0507010221481323) * elu(x, alpha),
    ),
  ],
  ['HardSigmoid', scaled(0.2, (x, alpha, node) => limited(alpha * x + floatOf(node, 'beta', 0.5)))],
  ['Softmax', alongAxis(softmax)],
  ['LogSoftmax', alongAxis(logSoftmax)],
  ['Hardmax', alongAxis(hardmax)],
  ['com.microsoft:Gelu', plain(gelu)],
  ['com.microsoft:FastGelu', plain(geluTanh)],
  ['com.microsoft:BiasGelu', plain(gelu)],
  ['com.microsoft:QuickGelu', scaled(1.702, (x, alpha) => x * sigmoid(alpha * x))],
])
