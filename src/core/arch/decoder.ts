// Builds the graph of one step of a decoder from its hyperparameters and its family's traits.
import { type GraphBuilder, graphBuilder, matrix, vector } from '../graph/builder.ts'
import type { Activation, Value, WeightRef } from '../graph/ir.ts'
import type { Graph } from '../graph/nodes.ts'
import type { ModelConfig } from './config/config.ts'

/** The differences between families of attention and feed-forward blocks. */
export interface DecoderTraits {
  readonly norm: 'rms' | 'layer'
  /** Where a block's norms are: on its input, on its output, or on both. */
  readonly norms: 'before' | 'after' | 'around'
  /** Norms of queries and keys: over each head, or over the whole row. */
  readonly headNorms?: 'head' | 'row'
  readonly qkvBias: boolean
  /** Biases on every other matrix and norm. */
  readonly bias: boolean
  readonly mlp: 'gated' | 'plain' | 'experts'
  readonly activation: Activation
  /** `learned`: learned position embeddings are added to the token embeddings. */
  readonly positions: 'rope' | 'learned'
}

/** The traits of Llama. */
export const PLAIN: DecoderTraits = {
  norm: 'rms',
  norms: 'before',
  qkvBias: false,
  bias: false,
  mlp: 'gated',
  activation: 'silu',
  positions: 'rope',
}

/** What every block is built from. */
export interface Parts {
  readonly b: GraphBuilder
  readonly config: ModelConfig
  readonly traits: DecoderTraits
  /** Applies the norm named `name` to whole rows. */
  readonly norm: (name: string, input: Value) => Value
  /** Multiplies by the matrix `name` [n, k], and adds its bias if the family has biases. */
  readonly linear: (label: string, input: Value, name: string, n: number) => Value
}

function decoderParts(b: GraphBuilder, config: ModelConfig, traits: DecoderTraits): Parts {
  const { hiddenSize, normEpsilon } = config
  const norm = (name: string, input: Value): Value => {
    const weight = vector({ [`${name}.weight`]: hiddenSize })
    if (traits.norm === 'rms') return b.rmsnorm(name, input, weight, normEpsilon)
    const bias = traits.bias ? vector({ [`${name}.bias`]: hiddenSize }) : undefined
    return b.layernorm(name, input, weight, bias, normEpsilon)
  }
  const linear = (label: string, input: Value, name: string, n: number): Value => {
    const bias = traits.bias ? vector({ [`${name}.bias`]: n }) : undefined
    return b.linear(label, input, matrix(input.shape[1], { [`${name}.weight`]: n }), bias)
  }
  return { b, config, traits, norm, linear }
}

/** Builds the part of a layer that mixes positions, from the layer's normalised input. Default: attention. */
export type Mixer = (parts: Parts, layer: number, input: Value) => Value

/** Whether a layer has recurrent state. */
export const isRecurrent = ({ ssm, attentionLayers }: ModelConfig, layer: number): boolean =>
  ssm !== undefined && attentionLayers?.includes(layer) !== true

/** One step of a decoder. Each layer is a mixer and, if the model has one, a feed-forward block. */
export function decoder(config: ModelConfig, traits = PLAIN, mix: Mixer = attention): Graph {
  const { hiddenSize, vocabSize, logitScale = 1, logitCap = 0 } = config
  const b = graphBuilder()
  const parts = decoderParts(b, config, traits)
  const table = matrix(hiddenSize, { 'embed.weight': vocabSize })
  let x = b.embed('embed', table, config.embeddingScale)
  if (traits.positions === 'learned') {
    const positions = matrix(hiddenSize, { 'positions.weight': config.contextLength })
    x = b.add('embedded', x, b.embedPositions('positions', positions))
  }
  for (let layer = 0; layer < config.layers; layer++) {
    const at = `layers.${layer}`
    const mixer = isRecurrent(config, layer) ? 'ssm' : 'attn'
    const mixed = addedTo(parts, `${at}.${mixer}`, x, (input) => mix(parts, layer, input))
    if (config.intermediateSize === 0) x = mixed
    else x = addedTo(parts, `${at}.mlp`, mixed, (input) => feedForward(parts, at, input), x)
  }
  const wanted = parts.norm('norm', b.takeRows('wanted', x))
  const output = config.tiedEmbeddings ? table : matrix(hiddenSize, { 'output.weight': vocabSize })
  const logits = b.linear('logits', wanted, output)
  if (logitScale === 1 && logitCap === 0) return b.finish(logits, wanted)
  return b.finish(b.rescale('scaled_logits', logits, logitScale, logitCap), wanted)
}

/** x + block(x), with the family's norms. `before` is x before the last block. */
function addedTo(
  { b, traits, config, norm }: Parts,
  name: string,
  x: Value,
  block: (input: Value) => Value,
  before = x,
): Value {
  const read = config.parallelResidual === true ? before : x
  const input = traits.norms === 'after' ? read : norm(`${name}_norm`, read)
  const made = block(input)
  const added = traits.norms === 'before' ? made : norm(`${name}_post_norm`, made)
  return b.add(`${name}_sum`, x, added, config.residualScale)
}

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
  })
  return linear(`${at}.attn_product`, attended, `${at}.attn_output`, hiddenSize)
}

/** The feed-forward block of the layer named `at`. */
function feedForward(parts: Parts, at: string, input: Value): Value {
  const { b, config, traits, linear } = parts
  const { hiddenSize, intermediateSize, activation = traits.activation } = config
  if (traits.mlp === 'experts') return experts(parts, at, input)
  if (traits.mlp === 'plain') {
    const up = linear(`${at}.mlp_up`, input, `${at}.mlp_up`, intermediateSize)
    const active = b.swiglu(`${at}.mlp_act`, [up], activation)
    return linear(`${at}.mlp_product`, active, `${at}.mlp_down`, hiddenSize)
  }
  const weight = matrix(hiddenSize, {
    [`${at}.mlp_gate.weight`]: intermediateSize,
    [`${at}.mlp_up.weight`]: intermediateSize,
  })
  const gateUp = b.linear(`${at}.mlp_gate_up`, input, weight)
  const gated = b.swiglu(`${at}.mlp_act`, b.parts(gateUp, weight), activation)
  return linear(`${at}.mlp_product`, gated, `${at}.mlp_down`, hiddenSize)
}

/** Experts: gated feed-forward blocks. Each row passes through some of them. */
function experts({ b, config, traits }: Parts, at: string, input: Value): Value {
  const { hiddenSize, intermediateSize, experts: choice, activation = traits.activation } = config
  if (choice === undefined) throw new RangeError(`${at} has no experts`)
  const { count, used, normalize } = choice
  const router = b.linear(`${at}.router`, input, matrix(hiddenSize, { [`${at}.router.weight`]: count }))
  const each = (name: string, n: number, k: number) =>
    matrix(
      k,
      Object.fromEntries(Array.from({ length: count }, (_, e) => [`${at}.experts.${e}.${name}.weight`, n])),
    )
  return b.routed(`${at}.mlp`, input, router, { experts: count, used, normalize }, (rows, linear) => {
    const gate = linear(`${at}.mlp_gate`, rows, each('mlp_gate', intermediateSize, hiddenSize))
    const up = linear(`${at}.mlp_up`, rows, each('mlp_up', intermediateSize, hiddenSize))
    const gated = b.swiglu(`${at}.mlp_act`, [gate, up], activation)
    return linear(`${at}.mlp_down`, gated, each('mlp_down', hiddenSize, intermediateSize))
  })
}
