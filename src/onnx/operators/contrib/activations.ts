// Activations of ONNX Runtime. In: a tensor, sometimes a bias that is added first. Out: a tensor of the same
// shape.
import { floatOf } from '../../ir/attributes.ts'
import { broadcastIndices } from '../../ir/broadcast.ts'
import type { Node } from '../../ir/graph.ts'
import { given, type Operator, unfit } from '../../ir/operator.ts'
import { FLOATS, reader, type Tensor, writer, zeros } from '../../ir/tensor.ts'
import { defineContrib, sameType } from '../define.ts'
import { gelu, geluTanh, sigmoid } from '../unary.ts'

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
  const [read, shift, write] = [reader(input), bias && reader(bias), writer(made)]
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
