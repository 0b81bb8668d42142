// The activations and norms of ONNX Runtime. Some of them first add a bias or another tensor.

import { broadcastIndices } from '../../ir/broadcast.ts'
import type { Node, Type } from '../../ir/graph.ts'
import {
  defineContrib,
  floatOf,
  given,
  type Inference,
  type Operator,
  sameType,
  unfit,
} from '../../ir/operator.ts'
import { FLOATS, reader, type Tensor, writer, zeros } from '../../ir/tensor.ts'
import { gelu, geluTanh, sigmoid } from '../unary.ts'

/** Inputs: x, skip, weights, then a beta where it is centred, and a bias. */
function skipNorm(name: string, most: number): Operator {
  return defineContrib({
    name,
    inputs: [3, most],
    outputs: [1, 4],
    attributes: { epsilon: 'float' },
    dtypes: [FLOATS],
    infer: (context) => inferSkip(context),
  })
}

function inferSkip(context: Inference): (Type | undefined)[] {
  const [type] = sameType(context)
  return [type, undefined, undefined, type]
}

export const CONTRIB_NORMS: readonly Operator[] = [
  skipNorm('SkipLayerNormalization', 5),
  skipNorm('SkipSimplifiedLayerNormalization', 4),
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
