// Attention whose keys and values are computed from one short row per token (DeepSeek V2).
//
// The keys and values of all heads are computed once per token, and the state stores them as in any other
// attention. A head's key is the rotated part, which all heads share, followed by its own part. Keys and
// values are zero-padded to the same width.
import { matrix, vector } from '../../graph/builder.ts'
import type { Value } from '../../graph/ir.ts'
import type { Parts } from './parts.ts'

/** Latent attention of one layer, including its output projection. */
export function latentAttention({ b, config, linear }: Parts, layer: number, input: Value): Value {
  const { hiddenSize, heads, headDim, rope, latent, attentionScale } = config
  const at = `layers.${layer}`
  if (latent === undefined) throw new RangeError(`${at} has no latent attention`)
  const { rank, queryRank, plainDim, valueDim, normEpsilon } = latent
  const down = matrix(hiddenSize, {
    ...(queryRank !== undefined && { [`${at}.attn_q_a.weight`]: queryRank }),
    [`${at}.attn_kv_a.weight`]: rank,
    [`${at}.attn_k_rope.weight`]: rope.dims,
  })
  const made = b.parts(b.linear(`${at}.attn_a`, input, down), down)
  const [kvRow, rotated] = made.slice(-2) as [Value, Value]
  const normed = (name: string, row: Value) =>
    b.rmsnorm(`${at}.${name}`, row, vector({ [`${at}.${name}.weight`]: row.shape[1] }), normEpsilon)
  const keyDim = plainDim + rope.dims
  const from = queryRank === undefined ? input : normed('attn_q_a_norm', made[0] as Value)
  const queries = matrix(from.shape[1], { [`${at}.attn_q_b.weight`]: heads * keyDim })
  const q = b.linear(`${at}.attn_q`, from, queries)
  const up = matrix(rank, {
    [`${at}.attn_k_b.weight`]: heads * plainDim,
    [`${at}.attn_v_b.weight`]: heads * valueDim,
  })
  const [k, v] = b.parts(b.linear(`${at}.attn_b`, normed('attn_kv_a_norm', kvRow), up), up) as [Value, Value]
  const widened = (name: string, value: Value, own: number, width: number, shared?: Value): Value => {
    if (shared === undefined && own === value.shape[1] / heads && own === width) return value
    return b.node(`${at}.${name}`, { op: 'joinHeads', input: value, shared, heads, own, width })
  }
  const qkv = [
    widened('attn_q_heads', q, keyDim, headDim),
    widened('attn_k_heads', k, plainDim, headDim, rotated),
    widened('attn_v_heads', v, valueDim, headDim),
  ]
  const shape = { layer, heads, kvHeads: heads, headDim, window: 0 }
  const use = { table: 0, dims: rope.dims, pairing: rope.pairing }
  const scale = attentionScale ?? 1 / Math.sqrt(keyDim)
  const attended = b.attend(`${at}.attn`, qkv, shape, use, { scale })
  const values = widened('attn_values', attended, valueDim, valueDim)
  return linear(`${at}.attn_product`, values, `${at}.attn_output`, hiddenSize, 'output')
}
