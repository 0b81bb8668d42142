// Norms: scale rows to mean 0 and variance 1, or to root mean square 1, times weights.

import { axisOf } from '../ir/broadcast.ts'
import type { Dim } from '../ir/dims.ts'
import type { AttributeKind, Node, Type } from '../ir/graph.ts'
import { define, type Inference, intOf, type Operator, sameType, unclaimed } from '../ir/operator.ts'
import { DTYPES, type DType, FLOATS } from '../ir/tensor.ts'

const STASH = { axis: 'int', epsilon: 'float', stash_type: 'int' } as const satisfies Record<
  string,
  AttributeKind
>

/** The dtype of the means. */
export function stashOf(node: Node): DType {
  const number = intOf(node, 'stash_type', 1)
  const dtype = DTYPES.get(number)
  if (dtype === 'f32' || dtype === 'f64') return dtype
  throw unclaimed(node, `it computes in ONNX data type ${number}`)
}

/** Sizes of the means: the input's sizes before the axis, and 1 from the axis on. */
export const meanDims = <D extends Dim>(dims: readonly D[], axis: number): (D | number)[] =>
  dims.map((size, at) => (at < axis ? size : 1))

function inferRows(context: Inference): (Type | undefined)[] {
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
})

const rmsNormalization: Operator = define({
  ...ROWS,
  name: 'RMSNormalization',
  since: 23,
  inputs: [2, 2],
  attributes: STASH,
  dtypes: [FLOATS],
})

/** ONNX Runtime puts it in ONNX's own domain, although it is not part of the standard. */
const simplifiedLayerNormalization: Operator = define({
  ...ROWS,
  name: 'SimplifiedLayerNormalization',
  since: 1,
  inputs: [2, 2],
  outputs: [1, 2],
  attributes: STASH,
  dtypes: [FLOATS],
  infer: (context) => inferRows(context).slice(0, 2),
})

/** Whether a norm has weights for each group instead of each channel: GroupNormalization before opset 21. */
export const hasGroupWeights = ({ op, version }: Node): boolean => op === 'GroupNormalization' && version < 21

/** A row is a group of a sample's channels. */
const groupNormalization: Operator = define({
  name: 'GroupNormalization',
  since: 18,
  inputs: [3, 3],
  attributes: { epsilon: 'float', num_groups: 'int', stash_type: 'int' },
  dtypes: [FLOATS],
  infer: sameType,
})

/** A row is one channel of a sample. */
const instanceNormalization: Operator = define({
  name: 'InstanceNormalization',
  since: 6,
  inputs: [3, 3],
  attributes: { epsilon: 'float' },
  dtypes: [FLOATS],
  infer: sameType,
})

/** (x - mean) / sqrt(variance + epsilon) * scale + bias, with one value of each per channel. */
const batchNormalization: Operator = define({
  name: 'BatchNormalization',
  since: 9,
  inputs: [5, 5],
  attributes: { epsilon: 'float', momentum: 'float', training_mode: 'int' },
  dtypes: [FLOATS],
  infer: sameType,
})

export const NORMS: readonly Operator[] = [
  batchNormalization,
  layerNormalization,
  rmsNormalization,
  simplifiedLayerNormalization,
  groupNormalization,
  instanceNormalization,
]
