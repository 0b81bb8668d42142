// The attention block of a decoder's layer.
import { matrix, vector } from '../../graph/builder.ts'
import type { HeadNorms, RopeUse, Value, WeightRef } from '../../graph/ir.ts'
import { headsOf, isLocal, keyLayerOf } from '../config/layer-sizes.ts'
import { queryTableOf } from '../rope.ts'
import { alibiOf } from './alibi.ts'
import { headNormsOf, type Parts } from './parts.ts'

/** Attention of one layer, with its output projection. */
export function attention(parts: Parts, layer: number, input: Value): Value {
  const { b, config, linear, linears } = parts
  const { hiddenSize, heads, window: local, attentionScale, attentionCap } = config
  const { kvHeads, headDim } = headsOf(config, layer)
  const keyLayer = keyLayerOf(config, layer)
  const scale = attentionScale ?? config.multipliers?.attention ?? 1 / Math.sqrt(headDim)
  const at = `layers.${layer}`
  const sizes = {
    [`${at}.attn_q`]: heads * headDim,
    ...(keyLayer === layer && {
      [`${at}.attn_k`]: kvHeads * headDim,
      [`${at}.attn_v`]: kvHeads * headDim,
    }),
  }
  const { qkv, norms } = limited(parts, layer, linears(`${at}.attn_qkv`, input, sizes, 'qkv'))
  const shape = {
    layer: keyLayer,
    heads,
    kvHeads,
    headDim,
    window: isLocal(config, layer) ? (local?.positions ?? 0) : 0,
  }
  const attended = b.attend(`${at}.attn`, qkv, shape, ropeOf(parts, layer), {
    norms,
    scale: config.dividedByLayer === true ? scale / (layer + 1) : scale,
    cap: attentionCap,
    sinks: parts.traits.sinks === true ? vector({ [`${at}.attn_sinks.weight`]: heads }) : undefined,
    bias: alibiOf(config),
  })
  return linear(
    `${at}.attn_product`,
    gated(parts, at, input, parts.subNorm(`${at}.attn_sub_norm`, attended)),
    `${at}.attn_output`,
    hiddenSize,
    'output',
  )
}

/** In families with an attention gate: the output times the sigmoid of a projection of the input. */
function gated({ b, config, traits }: Parts, at: string, input: Value, attended: Value): Value {
  const { heads, headDim, hiddenSize } = config
  if (traits.attentionGate === undefined) return attended
  const isOne = traits.attentionGate === 'head'
  const weight = matrix(hiddenSize, { [`${at}.attn_gate.weight`]: isOne ? heads : heads * headDim })
  const gate = b.linear(`${at}.attn_gate`, input, weight)
  return isOne
    ? b.node(`${at}.attn_gated`, { op: 'gateRows', input: attended, gate })
    : b.swiglu(`${at}.attn_gated`, [gate, attended], 'sigmoid')
}

/** Queries, keys and values, clipped to the model's range, and the norms that remain to be applied. */
function limited(
  parts: Parts,
  layer: number,
  qkv: readonly Value[],
): { readonly qkv: readonly Value[]; readonly norms: HeadNorms | undefined } {
  const { b, config } = parts
  const norms = headNorms(parts, layer)
  const { qkvLimit, normEpsilon } = config
  if (qkvLimit === undefined) return { qkv, norms }
  const limits = { least: -qkvLimit, most: qkvLimit }
  const clip = (values: readonly Value[]) =>
    values.map((value) => b.clamp(`${value.label}_clipped`, value, limits))
  const [q, k, v] = qkv
  // Norms of whole rows come before clipping, norms of heads after it.
  if (norms?.over !== 'row' || q === undefined || k === undefined || v === undefined || norms.k === undefined)
    return { qkv: clip(qkv), norms }
  const at = `layers.${layer}`
  const normed = [
    b.rmsnorm(`${at}.attn_q_norm`, q, norms.q, normEpsilon),
    b.rmsnorm(`${at}.attn_k_norm`, k, norms.k, normEpsilon),
  ]
  return { qkv: clip([...normed, v]), norms: undefined }
}

/** The rotation of a layer. */
function ropeOf({ config, traits }: Parts, layer: number): RopeUse {
  const other = isLocal(config, layer) ? config.localRope : undefined
  const isRotated = traits.positions === 'rope' && config.unrotatedLayers?.includes(layer) !== true
  const { dims, pairing } = other ?? config.rope
  return {
    table: other === undefined ? 0 : 1,
    queryTable: queryTableOf(config),
    dims: isRotated ? dims : 0,
    pairing,
  }
}

function headNorms({ config, traits }: Parts, layer: number): HeadNorms | undefined {
  const kind = headNormsOf(config, traits)
  if (kind === undefined) return undefined
  const { heads, normEpsilon } = config
  const { kvHeads, headDim } = headsOf(config, layer)
  const at = `layers.${layer}`
  const hasKeys = keyLayerOf(config, layer) === layer
  const isWhole = kind === 'row' || kind === 'layers'
  const ofHeads = (name: string, count: number): WeightRef =>
    vector({ [`${at}.${name}`]: isWhole ? count * headDim : headDim })
  return {
    q: ofHeads('attn_q_norm.weight', heads),
    ...(hasKeys && { k: ofHeads('attn_k_norm.weight', kvHeads) }),
    ...(kind === 'layer' && {
      qBias: ofHeads('attn_q_norm.bias', heads),
      kBias: ofHeads('attn_k_norm.bias', kvHeads),
    }),
    over: kind === 'row' ? 'row' : 'head',
    ...((kind === 'layer' || kind === 'layers') && { isCentred: true }),
    ...(kind === 'layers' && { hasWeightOfEach: true }),
    ...(kind === 'rotated' && { isLater: true }),
    ...(traits.valueNorms === true && { ofValues: true }),
    epsilon: normEpsilon,
  }
}
