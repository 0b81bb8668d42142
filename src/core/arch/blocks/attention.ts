// The attention block of a decoder's layer.
import { matrix, vector } from '../../graph/builder.ts'
import type { Value, WeightRef } from '../../graph/ir.ts'
import type { Parts } from './parts.ts'

/** Attention of one layer, with its output projection. */
export function attention({ b, config, traits, linear }: Parts, layer: number, input: Value): Value {
  const {
    hiddenSize,
    heads,
    kvHeads,
    headDim,
    normEpsilon,
    window: local,
    attentionScale,
    attentionCap,
  } = config
  const scale = attentionScale ?? config.multipliers?.attention ?? 1 / Math.sqrt(headDim)
  const at = `layers.${layer}`
  const q = heads * headDim
  const kv = kvHeads * headDim
  const parts = (kind: 'weight' | 'bias') => ({
    [`${at}.attn_q.${kind}`]: q,
    [`${at}.attn_k.${kind}`]: kv,
    [`${at}.attn_v.${kind}`]: kv,
  })
  const weight = matrix(hiddenSize, parts('weight'))
  const bias = traits.qkvBias ? vector(parts('bias')) : undefined
  const qkv = b.linear(`${at}.attn_qkv`, input, weight, bias)
  const isLocal = local?.layers.includes(layer) === true
  const isRotated = traits.positions === 'rope' && config.unrotatedLayers?.includes(layer) !== true
  const { dims, pairing } = (isLocal && config.localRope) || config.rope
  const rope = {
    table: isLocal && config.localRope !== undefined ? 1 : 0,
    dims: isRotated ? dims : 0,
    pairing,
  }
  const shape = { layer, heads, kvHeads, headDim, window: isLocal ? local.positions : 0 }
  const over = traits.headNorms
  const ofHeads = (name: string, n: number): WeightRef =>
    vector({ [`${at}.${name}.weight`]: over === 'head' ? headDim : n })
  const attended = b.attend(`${at}.attn`, b.parts(qkv, weight), shape, rope, {
    norms: over && {
      q: ofHeads('attn_q_norm', q),
      k: ofHeads('attn_k_norm', kv),
      over,
      epsilon: normEpsilon,
    },
    scale: config.dividedByLayer === true ? scale / (layer + 1) : scale,
    cap: attentionCap,
    sinks: traits.sinks === true ? vector({ [`${at}.attn_sinks.weight`]: heads }) : undefined,
  })
  if (traits.outputBias !== true)
    return linear(`${at}.attn_product`, attended, `${at}.attn_output`, hiddenSize)
  const output = matrix(q, { [`${at}.attn_output.weight`]: hiddenSize })
  return b.linear(`${at}.attn_product`, attended, output, vector({ [`${at}.attn_output.bias`]: hiddenSize }))
}
