// Operators that mix tokens: attention, rotations, linear attention and causal convolution. The types of
// their outputs: the result, the state after the last token, and scores.

import { addDims, type Dim, divideDims, multiplyDims } from '../ir/dims.ts'
import { hasInput, type Node, type Type } from '../ir/graph.ts'
import { define, type Inference, intOf, type Operator, sameType, stringOf, unfit } from '../ir/operator.ts'
import { FLOATS, INTEGERS } from '../ir/tensor.ts'

export const rotaryEmbedding: Operator = define({
  name: 'RotaryEmbedding',
  since: 23,
  inputs: [3, 4],
  attributes: { interleaved: 'int', num_heads: 'int', rotary_embedding_dim: 'int' },
  dtypes: [FLOATS, FLOATS, FLOATS, ['i64']],
  infer: sameType,
})

export const ROTARY: readonly Operator[] = [rotaryEmbedding]

export const attention: Operator = define({
  name: 'Attention',
  since: 23,
  inputs: [3, 7],
  outputs: [1, 4],
  attributes: {
    is_causal: 'int',
    kv_num_heads: 'int',
    q_num_heads: 'int',
    qk_matmul_output_mode: 'int',
    scale: 'float',
    softcap: 'float',
    softmax_precision: 'int',
    left_window_size: 'int',
    right_window_size: 'int',
  },
  dtypes: [FLOATS, FLOATS, FLOATS, [...FLOATS, ...INTEGERS, 'bool'], FLOATS, FLOATS, ['i64']],
  infer: inferAttention,
})

type Axes = readonly [Dim, Dim, Dim, Dim]

/** [batch][head][row][dim] of an input, if it is known. */
function axesOf(node: Node, type: Type | undefined, count: number | undefined): Axes | undefined {
  const { dims } = type ?? {}
  if (dims?.length === 4) return dims as unknown as Axes
  if (dims?.length !== 3 || count === undefined) return undefined
  if (count < 1) throw unfit(node, `it has ${count} heads`)
  return [dims[0]!, count, dims[1]!, divideDims(dims[2]!, count)]
}

function inferAttention({ node, inputs: [q, k, v, , past] }: Inference): (Type | undefined)[] {
  const query = axesOf(node, q, intOf(node, 'q_num_heads', undefined))
  const own = intOf(node, 'kv_num_heads', undefined)
  const key = axesOf(node, k, own)
  const value = axesOf(node, v, own)
  const hasPast = hasInput(node, 4)
  const before = hasPast ? past?.dims?.[2] : 0
  const grown = (axes: Axes | undefined) =>
    axes && before !== undefined ? axes.with(2, addDims(axes[2], before)) : undefined
  const keys = grown(key)
  const values = grown(value)
  const made =
    query && value
      ? q?.dims?.length === 4
        ? query.with(3, value[3])
        : [query[0], query[2], multiplyDims(query[1], value[3])]
      : undefined
  return [
    q && { dtype: q.dtype, dims: made },
    k && { dtype: k.dtype, dims: keys },
    v && { dtype: v.dtype, dims: values },
    q && { dtype: q.dtype, dims: query && keys ? [...query.slice(0, 3), keys[2]!] : undefined },
  ]
}

/**
 * `query` [batch, tokens, heads * d_k], `key`, `value` [batch, tokens, kv heads * d_v], and, optionally, the
 * state [batch, kv heads, d_k, d_v], decays in log space, and update rates. Outputs rows and the new state.
 */
const linearAttention: Operator = define({
  name: 'LinearAttention',
  since: 27,
  inputs: [3, 6],
  outputs: [1, 2],
  attributes: {
    chunk_size: 'int',
    kv_num_heads: 'int',
    q_num_heads: 'int',
    scale: 'float',
    update_rule: 'string',
  },
  dtypes: [FLOATS],
  infer: inferLinearAttention,
})

/** Query heads and key heads. */
export function stateHeads(node: Node): [heads: number, shared: number] {
  return sharedHeads(node, intOf(node, 'q_num_heads', 0))
}

/** `heads` and the key heads that they share. */
export function sharedHeads(node: Node, heads: number): [heads: number, shared: number] {
  const shared = intOf(node, 'kv_num_heads', 0)
  if (heads < 1 || shared < 1 || heads % shared !== 0)
    throw unfit(node, `${heads} heads cannot share ${shared} key heads`)
  return [heads, shared]
}

/** Whether the state decays, and whether it is corrected by what it already predicts. */
export function updateRule(node: Node): { readonly isGated: boolean; readonly isDelta: boolean } {
  const rule = stringOf(node, 'update_rule', 'gated_delta')
  if (!['linear', 'gated', 'delta', 'gated_delta'].includes(rule))
    throw unfit(node, `its update_rule is ${rule}, which does not exist`)
  return { isGated: rule.startsWith('gated'), isDelta: rule.endsWith('delta') }
}

function inferLinearAttention({ node, inputs: [query, , value, past] }: Inference): (Type | undefined)[] {
  if (query === undefined) return []
  const [heads, shared] = stateHeads(node)
  const state = { dtype: past?.dtype ?? query.dtype }
  if (query.dims?.length !== 3 || value?.dims?.length !== 3) return [{ dtype: query.dtype }, state]
  const [batch, tokens, width] = query.dims
  const size = divideDims(value.dims[2]!, shared)
  return [
    { dtype: query.dtype, dims: [batch!, tokens!, multiplyDims(size, heads)] },
    { ...state, dims: [batch!, shared, divideDims(width!, heads), size] },
  ]
}

/** `x` [batch, channels, tokens], preceded by a state of the newest inputs [batch, channels, taps - 1]. */
const causalConvolution: Operator = define({
  name: 'CausalConvWithState',
  since: 27,
  inputs: [2, 4],
  outputs: [1, 2],
  attributes: { activation: 'string' },
  dtypes: [FLOATS],
  infer: inferCausalConvolution,
})

/** Also the types of ONNX Runtime's operator of that name. */
export function inferCausalConvolution({ node, inputs: [x, weights] }: Inference): (Type | undefined)[] {
  const taps = weights?.dims?.[2]
  if (x?.dims !== undefined && x.dims.length !== 3)
    throw unfit(node, `its input has the shape [${x.dims}] instead of [batch, channels, tokens]`)
  const state = x?.dims && taps !== undefined ? x.dims.with(2, addDims(taps, -1)) : undefined
  return [x, x && { dtype: x.dtype, dims: state }]
}

/** A pass writes it as other nodes. */
const flexAttention: Operator = define({
  name: 'FlexAttention',
  domain: 'ai.onnx.preview',
  since: 1,
  until: 1,
  inputs: [3, 3],
  attributes: { scale: 'float', softmax_precision: 'int', score_mod: 'graph', prob_mod: 'graph' },
  dtypes: [FLOATS],
  infer({ node, inputs: [queries, , values] }) {
    for (const dims of [queries?.dims, values?.dims])
      if (dims !== undefined && dims.length !== 4)
        throw unfit(node, `it has an input of the shape [${dims}] instead of [batch, heads, tokens, size]`)
    const dims = values?.dims && queries?.dims?.with(3, values.dims[3]!)
    return [queries && { dtype: queries.dtype, dims }]
  },
})

export const ATTENTION: readonly Operator[] = [attention, linearAttention, causalConvolution, flexAttention]
