// ONNX Runtime's operators that mix tokens: the types of their outputs.

import { addDims, type Dim, divideDims } from '../../ir/dims.ts'
import { hasInput, type Node, type Type } from '../../ir/graph.ts'
import {
  defineContrib,
  type Inference,
  intOf,
  type Operator,
  sameType,
  stringOf,
  unclaimed,
  unfit,
} from '../../ir/operator.ts'
import { FLOATS } from '../../ir/tensor.ts'
import { inferCausalConvolution, sharedHeads } from '../attention.ts'

/** Positions are given for every token, or only for the first. */
export const rotaryEmbedding: Operator = defineContrib({
  name: 'RotaryEmbedding',
  inputs: [4, 4],
  attributes: {
    interleaved: 'int',
    is_packed_batching: 'int',
    num_heads: 'int',
    rotary_embedding_dim: 'int',
    scale: 'float',
  },
  dtypes: [FLOATS, ['i64'], FLOATS, FLOATS],
  infer: sameType,
})

/** Inputs of GroupQueryAttention. */
export const QKV = {
  query: 0,
  key: 1,
  value: 2,
  pastKey: 3,
  pastValue: 4,
  lengths: 5,
  total: 6,
  cos: 7,
  sin: 8,
  positions: 9,
  bias: 10,
  sinks: 11,
  keyScale: 12,
  valueScale: 13,
  queryNorm: 14,
  keyNorm: 15,
}

export const groupQueryAttention: Operator = defineContrib({
  name: 'GroupQueryAttention',
  inputs: [7, 16],
  outputs: [1, 3],
  attributes: {
    num_heads: 'int',
    kv_num_heads: 'int',
    do_rotary: 'int',
    rotary_interleaved: 'int',
    local_window_size: 'int',
    scale: 'float',
    softcap: 'float',
    smooth_softmax: 'int',
    qk_output: 'int',
    causal: 'int',
    sliding_window_cache: 'int',
    qk_norm_epsilon: 'float',
    q_norm_epsilon: 'float',
    k_norm_epsilon: 'float',
    k_quant_type: 'string',
    v_quant_type: 'string',
    kv_cache_bit_width: 'int',
  },
  dtypes: [FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, ['i32'], ['i32'], FLOATS, FLOATS, ['i64'], FLOATS, FLOATS],
  infer: inferGroups,
})

export function headCounts(node: Node): [heads: number, shared: number] {
  const counts = sharedHeads(node, intOf(node, 'num_heads', 0))
  const why = OTHER_FORMS.find(({ is }) => is(node))?.why
  if (why !== undefined) throw unclaimed(node, why)
  return counts
}

/** Whether the node's state holds only the newest positions, which are all that its window covers. */
export const hasWindowedState = (node: Node): boolean => intOf(node, 'sliding_window_cache', 0) !== 0

/** Like `headCounts`, for a node outside a decoder's step: its state and heads have no other constraints. */
export function plainHeadCounts(node: Node): [heads: number, shared: number] {
  if (hasWindowedState(node)) throw unclaimed(node, 'its state holds only a window')
  if (hasInput(node, QKV.queryNorm) || hasInput(node, QKV.keyNorm))
    throw unclaimed(node, 'it normalises heads, which ONNX Runtime does not support on CPUs')
  return headCounts(node)
}

const OTHER_FORMS: readonly { readonly is: (node: Node) => boolean; readonly why: string }[] = [
  {
    // A value below 0 means that the attribute is omitted.
    is: (node) => intOf(node, 'smooth_softmax', 0) > 0 || hasInput(node, QKV.sinks),
    why: 'its softmax has a sink for each head (smooth_softmax, head_sink), which is not supported',
  },
  {
    is: (node) => intOf(node, 'qk_output', 0) !== 0,
    why: 'its scores are used as an output (qk_output), which is not supported',
  },
  {
    is: (node) => intOf(node, 'causal', 1) === 0,
    why: 'its rows see later positions (causal), but only causal attention is supported',
  },
  {
    is: (node) => hasWindowedState(node) && intOf(node, 'local_window_size', -1) <= 0,
    why: 'its state holds only a window (sliding_window_cache), but it has no window (local_window_size)',
  },
  {
    is: (node) =>
      hasInput(node, QKV.keyScale) ||
      hasInput(node, QKV.valueScale) ||
      intOf(node, 'kv_cache_bit_width', 0) !== 0 ||
      ['k_quant_type', 'v_quant_type'].some((name) => stringOf(node, name, 'NONE') !== 'NONE'),
    why: 'its state is quantised (k_quant_type, k_scale), which is not supported',
  },
]

function inferGroups({ node, inputs }: Inference): (Type | undefined)[] {
  const [heads, shared] = headCounts(node)
  const { query, pastKey, total } = QKV
  const q = inputs[query]
  if (q === undefined) return []
  const { dims } = q
  if (dims?.length !== 3) return [{ dtype: q.dtype }, { dtype: q.dtype }, { dtype: q.dtype }]
  const size = divideDims(dims[2]!, hasInput(node, QKV.key) ? heads : heads + 2 * shared)
  const width = hasInput(node, QKV.key) ? dims[2]! : typeof size === 'number' ? size * heads : undefined
  const after = inputs[total]?.elements?.[0]
  const before = inputs[pastKey]?.dims?.[2]
  const isKnown = typeof after === 'number' && typeof before === 'number'
  const present: Dim[] | undefined = isKnown ? [dims[0]!, shared, Math.max(after, before), size] : undefined
  return [
    { dtype: q.dtype, dims: width === undefined ? undefined : [dims[0]!, dims[1]!, width] },
    { dtype: q.dtype, dims: present },
    { dtype: q.dtype, dims: present },
  ]
}

/** Queries, keys and values with the same number of heads, as rows. */
export const multiHeadAttention: Operator = defineContrib({
  name: 'MultiHeadAttention',
  inputs: [3, 8],
  outputs: [1, 3],
  attributes: { num_heads: 'int', scale: 'float', unidirectional: 'int', mask_filter_value: 'float' },
  dtypes: [FLOATS, FLOATS, FLOATS, FLOATS, ['i32'], FLOATS, FLOATS, FLOATS],
  infer: inferMulti,
})

/** Inputs of MultiHeadAttention. */
export const MULTI_BIAS = 3
export const PADDING = 4
export const ADDED = 5
export const MULTI_PAST_KEY = 6
export const MULTI_PAST_VALUE = 7

function inferMulti({ node, inputs: [q, k, v, , , , past] }: Inference): (Type | undefined)[] {
  if (q === undefined) return []
  const heads = intOf(node, 'num_heads', 0)
  if (heads < 1) throw unfit(node, `it has ${heads} heads`)
  const before = hasInput(node, MULTI_PAST_KEY) ? past?.dims?.[2] : 0
  const [keys, values] = [k, v].map((type): Dim[] | undefined => {
    if (type?.dims?.length !== 3 || before === undefined) return undefined
    const [batch, rows, width] = type.dims as [Dim, Dim, Dim]
    return [batch, heads, addDims(before, rows), divideDims(width, heads)]
  })
  const width = v?.dims?.length === 3 ? v.dims[2] : undefined
  const isRows = q.dims?.length === 3 && width !== undefined
  return [
    { dtype: q.dtype, dims: isRows ? q.dims!.with(2, width) : undefined },
    { dtype: q.dtype, dims: keys },
    { dtype: q.dtype, dims: values },
  ]
}

/**
 * Rows [batch, channels, tokens] preceded by a state of the newest inputs; each channel has its own weights.
 */
export const causalConvolution: Operator = defineContrib({
  name: 'CausalConvWithState',
  inputs: [2, 4],
  outputs: [2, 2],
  attributes: { ndim: 'int', activation: 'string', state_window: 'int' },
  dtypes: [FLOATS],
  infer: inferCausalConvolution,
})

export const CONTRIB_ATTENTION: readonly Operator[] = [
  causalConvolution,
  rotaryEmbedding,
  groupQueryAttention,
  multiHeadAttention,
]
