// Norms of ONNX Runtime. In: a tensor, another that is added first, weights. Out: the norm of the sum, and
// the sum.
import { floatOf } from '../../ir/attributes.ts'
import { broadcast, broadcastIndices } from '../../ir/broadcast.ts'
import type { Type } from '../../ir/graph.ts'
import { type Evaluation, given, type Inference, type Operator, unclaimed, unfit } from '../../ir/operator.ts'
import { FLOATS, reader, type Tensor, writer, zeros } from '../../ir/tensor.ts'
import { defineContrib, sameType, wants } from '../define.ts'
import { normed } from '../norms.ts'
import { biased } from './activations.ts'

/** Inputs: x, skip, weights, then what `beta` and `bias` say. */
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
  const [x, skip, scale] = [given(context, 0), given(context, 1), given(context, 2)]
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
  const [a, b, write] = [reader(x), reader(skip), writer(made)]
  for (let at = 0; at < made.data.length; at++) write(at, a(at) + b(places[at]!))
  return made
}

export const CONTRIB_NORMS: readonly Operator[] = [
  skipNorm('SkipLayerNormalization', 5, { beta: 3, bias: 4 }),
  skipNorm('SkipSimplifiedLayerNormalization', 4, { bias: 3 }),
]
