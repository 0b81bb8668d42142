// ONNX Runtime's activations and norms. Some first add a bias or another tensor.

import type { Type } from '../../ir/graph.ts'
import { defineContrib, type Inference, type Operator, sameType } from '../../ir/operator.ts'
import { FLOATS } from '../../ir/tensor.ts'

/** Inputs: x, skip, weights, then a beta if it is centred, and a bias. */
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

/** Evaluated by loops only. */
const activation = (
  name: string,
  inputs: readonly [number, number],
  attributes: Operator['schema']['attributes'] = {},
): Operator => defineContrib({ name, inputs, attributes, dtypes: [FLOATS], infer: sameType })

export const ACTIVATIONS: readonly Operator[] = [
  activation('Gelu', [1, 1]),
  activation('FastGelu', [1, 2]),
  activation('BiasGelu', [2, 2]),
  activation('QuickGelu', [1, 1], { alpha: 'float' }),
]
