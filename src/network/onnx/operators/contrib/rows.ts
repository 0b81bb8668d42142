// The activations and norms of ONNX Runtime. Some of them first add a bias or another tensor.

import { broadcast, broadcastIndices } from '../../ir/broadcast.ts'
import type { Node, Type } from '../../ir/graph.ts'
import {
  defineContrib,
  type Evaluation,
  floatOf,
  given,
  type Inference,
  type Operator,
  sameType,
  unclaimed,
  unfit,
  wants,
} from '../../ir/operator.ts'
import { FLOATS, reader, type Tensor, writer, zeros } from '../../ir/tensor.ts'
import { normed } from '../norms.ts'
import { gelu, geluTanh, sigmoid } from '../unary.ts'

/** Inputs: x, skip, weights, then the ones given by `beta` and `bias`. */
function skipNorm(name: string, most: number, at: { beta?: number; bias: number }): Operator {
  return defineContrib({
    name,
    inputs: [3, most],
    outputs: [1, 4],
    attributes: { epsilon: 'float' },
    dtypes: [FLOATS],
    mapping: 'many-to-many',
    layout: 'ILD fixed',
    infer: (context) => inferSkip(context),
    evaluate: (context) => evaluateSkip(context, at),
  })
}

function inferSkip(context: Inference): (Type | undefined)[] {
  const [type] = sameType(context)
  return [type, undefined, undefined, type]
}

function evaluateSkip(context: Evaluation, at: { beta?: number; bias: number }): (Tensor | undefined)[] {
  const { node, inputs } = context
  const x = given(context, 0)
  const skip = given(context, 1)
  const scale = given(context, 2)
  if (wants(node, 1) || wants(node, 2)) throw unclaimed(node, 'its statistics are outputs')
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

/** The second may be the same for all samples. */
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

export const CONTRIB_NORMS: readonly Operator[] = [
  skipNorm('SkipLayerNormalization', 5, { beta: 3, bias: 4 }),
  skipNorm('SkipSimplifiedLayerNormalization', 4, { bias: 3 }),
]

function activation(
  name: string,
  inputs: readonly [number, number],
  computeOf: (node: Node) => (x: number) => number,
  attributes: Operator['schema']['attributes'] = {},
): Operator {
  return defineContrib({
    name,
    inputs,
    attributes,
    dtypes: [FLOATS],
    mapping: 'one-to-one',
    layout: 'ILI variable',
    infer: sameType,
    evaluate(context) {
      const { node, inputs } = context
      return [biased(node, given(context, 0), inputs[1], computeOf(node))]
    },
  })
}

/** The bias is one number for each index of the last axis. */
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

export const ACTIVATIONS: readonly Operator[] = [
  activation('Gelu', [1, 1], () => gelu),
  activation('FastGelu', [1, 2], () => geluTanh),
  activation('BiasGelu', [2, 2], () => gelu),
  activation(
    'QuickGelu',
    [1, 1],
    (node) => {
      const alpha = floatOf(node, 'alpha', 1.702)
      return (x) => x * sigmoid(alpha * x)
    },
    { alpha: 'float' },
  ),
]
