// Evaluators of norms.
import type { Evaluators } from '../evaluate.ts'
import { axisOf, broadcast, broadcastIndices } from '../ir/broadcast.ts'
import type { Node } from '../ir/graph.ts'
import { type Evaluation, flagOf, floatOf, given, intOf, unclaimed, unfit, wants } from '../ir/operator.ts'
import { countOf, reader, type Tensor, tensorOf, writer, zeros } from '../ir/tensor.ts'
import { hasGroupWeights, meanDims, stashOf } from '../operators/norms.ts'
import { biased } from './activations.ts'

interface NormOptions {
  readonly epsilon: number
  /** Subtracts the mean first. */
  readonly isCentred: boolean
}

interface Normed {
  readonly y: Tensor
  /** Statistics of each row. */
  readonly mean: Float64Array
  /** 1 over the square root of the variance, or of the mean square, plus epsilon. */
  readonly inverse: Float64Array
}

/** Normalises rows of `size` elements. The shapes of `scale` and `bias` broadcast to the input's. */
function normed(
  node: Node,
  input: Tensor,
  size: number,
  { scale, bias }: { readonly scale?: Tensor | undefined; readonly bias?: Tensor | undefined },
  { epsilon, isCentred }: NormOptions,
): Normed {
  const rows = size === 0 ? 0 : input.data.length / size
  const mean = new Float64Array(rows)
  const inverse = new Float64Array(rows)
  const y = zeros(input.dtype, input.dims)
  const read = reader(input)
  const write = writer(y)
  const weight = factors(node, scale, input.dims, 1)
  const shift = factors(node, bias, input.dims, 0)
  for (let row = 0; row < rows; row++) {
    const start = row * size
    let sum = 0
    let squares = 0
    if (isCentred) for (let at = 0; at < size; at++) sum += read(start + at)
    mean[row] = sum / size
    for (let at = 0; at < size; at++) squares += (read(start + at) - mean[row]!) ** 2
    inverse[row] = 1 / Math.sqrt(squares / size + epsilon)
    for (let at = start; at < start + size; at++)
      write(at, (read(at) - mean[row]!) * inverse[row]! * weight(at) + shift(at))
  }
  return { y, mean, inverse }
}

/** The element of `tensor` for a position in a tensor of shape `dims`. */
function factors(
  node: Node,
  tensor: Tensor | undefined,
  dims: readonly number[],
  otherwise: number,
): (at: number) => number {
  if (tensor === undefined) return () => otherwise
  const own = Array.from({ length: tensor.dims.length }, (_, at) => dims.at(at - tensor.dims.length) ?? 0)
  if (tensor.dims.length > dims.length || !tensor.dims.every((size, at) => size === 1 || size === own[at]))
    throw unfit(node, `weights of shape [${tensor.dims}] do not fit its input of shape [${dims}]`)
  const places = broadcastIndices(tensor.dims, dims)
  const read = reader(tensor)
  return (at) => read(places[at]!)
}

/** Norms of rows that span all axes from a given one on. */
function evaluateRows(context: Evaluation, isCentred: boolean, means: readonly (number | undefined)[]) {
  const { node, inputs } = context
  const input = given(context, 0)
  const axis = axisOf(node, intOf(node, 'axis', -1), input.dims.length)
  const { y, mean, inverse } = normed(
    node,
    input,
    countOf(input.dims.slice(axis)),
    { scale: inputs[1], bias: inputs[2] },
    { epsilon: floatOf(node, 'epsilon', 1e-5), isCentred },
  )
  const stash = (values: Float64Array): Tensor => {
    const made = zeros(stashOf(node), meanDims(input.dims, axis))
    made.data.set(values as never)
    return made
  }
  const made: (Tensor | undefined)[] = [y]
  const [meanAt, inverseAt] = means
  if (meanAt !== undefined && wants(node, meanAt)) made[meanAt] = stash(mean)
  if (inverseAt !== undefined && wants(node, inverseAt)) made[inverseAt] = stash(inverse)
  return made
}

function evaluateGroups(context: Evaluation, groups: number): Tensor {
  const { node } = context
  const input = given(context, 0)
  const scale = given(context, 1)
  const bias = given(context, 2)
  const [batch, channels] = input.dims
  if (batch === undefined || channels === undefined || groups < 1 || channels % groups !== 0)
    throw unfit(node, `it makes ${groups} groups of its input of shape [${input.dims}]`)
  const each = hasGroupWeights(node) ? channels / groups : 1
  const perChannel = (tensor: Tensor): Tensor => {
    const read = reader(tensor)
    const values = Array.from({ length: tensor.data.length * each }, (_, at) => read(Math.floor(at / each)))
    return tensorOf(tensor.dtype, [values.length, ...input.dims.slice(2).map(() => 1)], values)
  }
  const size = countOf(input.dims.slice(1)) / groups
  const options = { epsilon: floatOf(node, 'epsilon', 1e-5), isCentred: true }
  return normed(node, input, size, { scale: perChannel(scale), bias: perChannel(bias) }, options).y
}

function evaluateBatches(context: Evaluation): Tensor[] {
  const { node } = context
  if (flagOf(node, 'training_mode')) throw unclaimed(node, 'it trains')
  const x = given(context, 0)
  const [scale, bias, mean, variance] = [1, 2, 3, 4].map((index) => {
    const tensor = given(context, index)
    if (`${tensor.dims}` !== `${x.dims[1]}`)
      throw unfit(node, `its input ${index} of shape [${tensor.dims}] does not fit [${x.dims}]`)
    return reader(tensor)
  }) as [Read, Read, Read, Read]
  const epsilon = floatOf(node, 'epsilon', 1e-5)
  const each = countOf(x.dims.slice(2))
  const made = zeros(x.dtype, x.dims)
  const read = reader(x)
  const write = writer(made)
  for (let at = 0; at < made.data.length; at++) {
    const channel = Math.floor(at / each) % x.dims[1]!
    const centred = (read(at) - mean(channel)) / Math.sqrt(variance(channel) + epsilon)
    write(at, centred * scale(channel) + bias(channel))
  }
  return [made]
}

type Read = ReturnType<typeof reader>

/** Indices of beta and bias among the inputs. */
function evaluateSkip(context: Evaluation, at: { beta?: number; bias: number }): (Tensor | undefined)[] {
  const { node, inputs } = context
  const x = given(context, 0)
  const skip = given(context, 1)
  const scale = given(context, 2)
  if (wants(node, 1) || wants(node, 2)) throw unclaimed(node, 'its statistics are used as outputs')
  const size = x.dims.at(-1)
  if (size === undefined || `${scale.dims}` !== `${size}`)
    throw unfit(node, `weights of shape [${scale.dims}] do not fit its input of shape [${x.dims}]`)
  const sum = biased(node, added(context, x, skip), inputs[at.bias])
  const { y } = normed(
    node,
    sum,
    size,
    { scale, bias: at.beta === undefined ? undefined : inputs[at.beta] },
    { epsilon: floatOf(node, 'epsilon', 1e-5), isCentred: at.beta !== undefined },
  )
  return [y, undefined, undefined, wants(node, 3) ? sum : undefined]
}

/** The second input may be the same for all samples. */
function added({ node }: Evaluation, x: Tensor, skip: Tensor): Tensor {
  if (x.dtype !== skip.dtype || `${broadcast(node, [x.dims, skip.dims])}` !== `${x.dims}`)
    throw unfit(node, `it adds ${skip.dtype} [${skip.dims}] to ${x.dtype} [${x.dims}]`)
  const made = zeros(x.dtype, x.dims)
  const places = broadcastIndices(skip.dims, x.dims)
  const a = reader(x)
  const b = reader(skip)
  const write = writer(made)
  for (let at = 0; at < made.data.length; at++) write(at, a(at) + b(places[at]!))
  return made
}

export const NORMS: Evaluators = new Map([
  ['LayerNormalization', (context) => evaluateRows(context, true, [1, 2])],
  ['RMSNormalization', (context) => evaluateRows(context, false, [])],
  ['SimplifiedLayerNormalization', (context) => evaluateRows(context, false, [undefined, 1])],
  ['GroupNormalization', (context) => [evaluateGroups(context, intOf(context.node, 'num_groups', 0))]],
  ['InstanceNormalization', (context) => [evaluateGroups(context, given(context, 0).dims[1] ?? 0)]],
  ['BatchNormalization', evaluateBatches],
  ['com.microsoft:SkipLayerNormalization', (context) => evaluateSkip(context, { beta: 3, bias: 4 })],
  ['com.microsoft:SkipSimplifiedLayerNormalization', (context) => evaluateSkip(context, { bias: 3 })],
])
