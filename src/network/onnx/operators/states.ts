// Operators that carry a state from token to token: linear attention and causal convolution.
import { addDims, divideDims, multiplyDims } from '../ir/dims.ts'
import type { Node, Type } from '../ir/graph.ts'
import { define, type Inference, intOf, type Operator, stringOf, unfit } from '../ir/operator.ts'
import { FLOATS } from '../ir/tensor.ts'

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
export function stateHeads(node: Node): readonly [heads: number, shared: number] {
  const heads = intOf(node, 'q_num_heads', 0)
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

export const STATES: readonly Operator[] = [linearAttention, causalConvolution]
