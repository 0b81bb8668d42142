// Operators whose output sizes depend on values, and rare operators along an axis.
import type { Dim } from '../ir/dims.ts'
import type { Type } from '../ir/graph.ts'
import { define, type Inference, intsOf, type Operator, sameType, statedDtype } from '../ir/operator.ts'
import { ALL_DTYPES, FLOATS, MOVED_DTYPES, NUMBERS } from '../ir/tensor.ts'

const ofDtype = (type: Type | undefined, dims?: readonly Dim[]): [Type | undefined] => [
  type && { dtype: type.dtype, dims },
]

const compress: Operator = define({
  name: 'Compress',
  since: 9,
  inputs: [2, 2],
  attributes: { axis: 'int' },
  dtypes: [MOVED_DTYPES, ['bool']],
  infer: ({ inputs: [x] }) => ofDtype(x),
})

const unique: Operator = define({
  name: 'Unique',
  since: 11,
  outputs: [1, 4],
  attributes: { axis: 'int', sorted: 'int' },
  dtypes: [NUMBERS],
  infer: ({ node, inputs: [x] }) =>
    [...ofDtype(x), ...Array<Type>(3).fill({ dtype: 'i64' })].slice(0, node.outputs.length),
})

const reverseSequence: Operator = define({
  name: 'ReverseSequence',
  since: 10,
  inputs: [2, 2],
  attributes: { batch_axis: 'int', time_axis: 'int' },
  dtypes: [MOVED_DTYPES, ['i64']],
  infer: sameType,
})

const eyeLike: Operator = define({
  name: 'EyeLike',
  since: 9,
  attributes: { dtype: 'int', k: 'int' },
  dtypes: [NUMBERS],
  infer: ({ node, inputs: [x] }) => [x && { dtype: statedDtype(node, 'dtype') ?? x.dtype, dims: x.dims }],
})

/** Reads the bits as another dtype of the same size. */
const bitCast: Operator = define({
  name: 'BitCast',
  since: 26,
  attributes: { to: 'int' },
  dtypes: [ALL_DTYPES],
  infer: ({ node, inputs: [x] }) => [x && { dtype: statedDtype(node, 'to') ?? x.dtype, dims: x.dims }],
})

const determinant: Operator = define({
  name: 'Det',
  since: 11,
  dtypes: [FLOATS],
  infer: ({ inputs: [x] }) => ofDtype(x, x?.dims?.slice(0, -2)),
})

const shrink: Operator = define({
  name: 'Shrink',
  since: 9,
  attributes: { bias: 'float', lambd: 'float' },
  dtypes: [NUMBERS],
  infer: sameType,
})

const lpNormalization: Operator = define({
  name: 'LpNormalization',
  since: 1,
  attributes: { axis: 'int', p: 'int' },
  dtypes: [FLOATS],
  infer: sameType,
})

/** Defaults to all axes but the channels of an image. */
const meanVariance: Operator = define({
  name: 'MeanVarianceNormalization',
  since: 9,
  attributes: { axes: 'ints' },
  dtypes: [FLOATS],
  infer: sameType,
})

export const meanVarianceAxes = (node: Inference['node']): readonly number[] =>
  intsOf(node, 'axes', [0, 2, 3])

export const PICKS: readonly Operator[] = [
  bitCast,
  compress,
  determinant,
  eyeLike,
  lpNormalization,
  meanVariance,
  reverseSequence,
  shrink,
  unique,
]
