// Norms: rows with mean 0 and variance 1, or with root mean square 1, times weights.

import { axisOf, broadcastIndices } from '../ir/broadcast.ts'
import type { Dim } from '../ir/dims.ts'
import type { AttributeKind, Node, Type } from '../ir/graph.ts'
import {
  define,
  type Evaluation,
  flagOf,
  floatOf,
  given,
  type Inference,
  intOf,
  type Operator,
  sameType,
  unclaimed,
  unfit,
  wants,
} from '../ir/operator.ts'
import { countOf, DTYPES, type DType, FLOATS, reader, type Tensor, writer, zeros } from '../ir/tensor.ts'

export interface NormOptions {
  readonly epsilon: number
  /** Subtracts the mean first. */
  readonly isCentred: boolean
}

export interface Normed {
  readonly y: Tensor
  /** Of each row. */
  readonly mean: Float64Array
  /** 1 over the root of the variance, or of the mean square, and epsilon. */
  readonly inverse: Float64Array
}

/** Norms rows of `size` elements. `scale` and `bias` are of a shape that broadcasts to the input's. */
export function normed(
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

/** The element of `tensor` that belongs to a place in a tensor of shape `dims`. */
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

const STASH = { axis: 'int', epsilon: 'float', stash_type: 'int' } as const satisfies Record<
  string,
  AttributeKind
>

/** The dtype of the means. */
function stashOf(node: Node): DType {
  const number = intOf(node, 'stash_type', 1)
  const dtype = DTYPES.get(number)
  if (dtype === 'f32' || dtype === 'f64') return dtype
  throw unclaimed(node, `it computes in the ONNX data type ${number}`)
}

/** Sizes of the means: those of the input before the axis, 1 from there on. */
const meanDims = <D extends Dim>(dims: readonly D[], axis: number): (D | number)[] =>
  dims.map((size, at) => (at < axis ? size : 1))

/** Rows are all axes from one on. */
export function evaluateRows(
  context: Evaluation,
  isCentred: boolean,
  means: readonly (number | undefined)[],
) {
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

export function inferRows(context: Inference): (Type | undefined)[] {
  const { node, inputs } = context
  const dims = inputs[0]?.dims
  const axis = dims && axisOf(node, intOf(node, 'axis', -1), dims.length)
  const stash: Type = {
    dtype: stashOf(node),
    dims: dims && axis !== undefined ? meanDims(dims, axis) : undefined,
  }
  return [...sameType(context), stash, stash]
}

const ROWS = { infer: inferRows } as const

const layerNormalization: Operator = define({
  ...ROWS,
  name: 'LayerNormalization',
  since: 1,
  inputs: [2, 3],
  outputs: [1, 3],
  attributes: STASH,
  dtypes: [FLOATS],
  evaluate: (context) => evaluateRows(context, true, [1, 2]),
})

const rmsNormalization: Operator = define({
  ...ROWS,
  name: 'RMSNormalization',
  since: 23,
  inputs: [2, 2],
  attributes: STASH,
  dtypes: [FLOATS],
  evaluate: (context) => evaluateRows(context, false, []),
})

/** ONNX Runtime has it in ONNX's own domain, although the standard does not. */
const simplifiedLayerNormalization: Operator = define({
  ...ROWS,
  name: 'SimplifiedLayerNormalization',
  since: 1,
  inputs: [2, 2],
  outputs: [1, 2],
  attributes: STASH,
  dtypes: [FLOATS],
  infer: (context) => inferRows(context).slice(0, 2),
  evaluate: (context) => evaluateRows(context, false, [undefined, 1]),
})

/** A row is a group of channels of a sample. Weights are of channels; before opset 21, of groups. */
const groupNormalization: Operator = define({
  name: 'GroupNormalization',
  since: 21,
  inputs: [3, 3],
  attributes: { epsilon: 'float', num_groups: 'int', stash_type: 'int' },
  dtypes: [FLOATS],
  infer: sameType,
  evaluate: (context) => [evaluateGroups(context, intOf(context.node, 'num_groups', 0))],
})

/** A row is a channel of a sample. */
const instanceNormalization: Operator = define({
  name: 'InstanceNormalization',
  since: 6,
  inputs: [3, 3],
  attributes: { epsilon: 'float' },
  dtypes: [FLOATS],
  infer: sameType,
  evaluate: (context) => [evaluateGroups(context, given(context, 0).dims[1] ?? 0)],
})

function evaluateGroups(context: Evaluation, groups: number): Tensor {
  const { node } = context
  const input = given(context, 0)
  const scale = given(context, 1)
  const bias = given(context, 2)
  const [batch, channels] = input.dims
  if (batch === undefined || channels === undefined || groups < 1 || channels % groups !== 0)
    throw unfit(node, `it makes ${groups} groups of its input of shape [${input.dims}]`)
  const perChannel = (tensor: Tensor): Tensor => ({
    ...tensor,
    dims: [...tensor.dims, ...input.dims.slice(2).map(() => 1)],
  })
  const size = countOf(input.dims.slice(1)) / groups
  const options = { epsilon: floatOf(node, 'epsilon', 1e-5), isCentred: true }
  return normed(node, input, size, { scale: perChannel(scale), bias: perChannel(bias) }, options).y
}

/** (x - mean) / sqrt(variance + epsilon) * scale + bias, with a number of each for a channel. */
const batchNormalization: Operator = define({
  name: 'BatchNormalization',
  since: 9,
  inputs: [5, 5],
  attributes: { epsilon: 'float', momentum: 'float', training_mode: 'int' },
  dtypes: [FLOATS],
  infer: sameType,
  evaluate(context) {
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
  },
})

type Read = ReturnType<typeof reader>

export const NORMS: readonly Operator[] = [
  batchNormalization,
  layerNormalization,
  rmsNormalization,
  simplifiedLayerNormalization,
  groupNormalization,
  instanceNormalization,
]
