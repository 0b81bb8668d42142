// Losses of classifiers, which graphs for training and their checks contain.
import type { Dim } from '../ir/dims.ts'
import type { Type } from '../ir/graph.ts'
import { define, type Inference, type Operator, stringOf } from '../ir/operator.ts'
import { FLOATS } from '../ir/tensor.ts'

const LOSS = {
  inputs: [2, 3],
  attributes: { ignore_index: 'int', reduction: 'string' },
  dtypes: [FLOATS, ['i32', 'i64'], FLOATS],
} as const

/** A loss per label, unless they are summed or averaged. */
const lossType = ({ node, inputs: [scores, labels] }: Inference): Type | undefined => {
  const dims: readonly Dim[] | undefined = stringOf(node, 'reduction', 'mean') === 'none' ? labels?.dims : []
  return scores && { dtype: scores.dtype, dims }
}

const likelihood: Operator = define({
  ...LOSS,
  name: 'NegativeLogLikelihoodLoss',
  since: 12,
  infer: (context) => [lossType(context)],
})

const crossEntropy: Operator = define({
  ...LOSS,
  name: 'SoftmaxCrossEntropyLoss',
  since: 12,
  outputs: [1, 2],
  infer: (context) => {
    const [scores] = context.inputs
    return [lossType(context), scores && { dtype: scores.dtype, dims: scores.dims }]
  },
})

export const LOSSES: readonly Operator[] = [likelihood, crossEntropy]
