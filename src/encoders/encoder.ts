// Builds the graph of one step of a sentence encoder: each row attends to the rows of its text.
import type { ModelConfig } from '../core/arch/config/config.ts'
import { type GraphBuilder, graphBuilder, matrix, vector } from '../core/graph/builder.ts'
import { biasColumns, type DistanceBias, EVERY_POSITION, type Value } from '../core/graph/ir.ts'
import type { Graph } from '../core/graph/nodes.ts'

/** Every layer overwrites the previous layer's keys and values, which are no longer needed. */
const ONE_LAYER = 0

/** The name of the biases by head and distance. */
export const DISTANCES = 'distances.bias'

/** The differences between families of encoders. */
export interface EncoderTraits {
  readonly norm: 'rms' | 'layer'
  /** Where a block's norms are: on its input, on its sum with the input, or on its input and its output. */
  readonly norms: 'before' | 'after' | 'around'
  /** A norm of the embeddings, in place of the norm before the first layer's attention. */
  readonly embeddingNorm: boolean
  /** Norms of each head's queries and keys. */
  readonly headNorms?: true
  /** Layer norms of queries and keys, each over the values of all heads. */
  readonly rowNorms?: boolean
  /** If norms are `after`: attention's input is added and normalised once more. */
  readonly secondNorm?: boolean
  /** `all`: norms and all products except those of gated blocks have biases. */
  readonly biases: 'all' | 'norms' | 'none'
  readonly mlp: 'gated' | 'plain'
  /** `learned`: position embeddings are added to those of tokens. `rope`: `config.rope` rotates heads. */
  readonly positions: 'rope' | 'learned'
  /** Scores get biases by head and distance, the same in all layers. */
  readonly distances?: true
  /** If true, rows attend to themselves and earlier ones. Default: to both sides, equally far in windows. */
  readonly isCausal?: true
}

export const BERT_TRAITS: EncoderTraits = {
  norm: 'layer',
  norms: 'after',
  embeddingNorm: true,
  biases: 'all',
  mlp: 'plain',
  positions: 'learned',
}

interface Parts {
  readonly b: GraphBuilder
  readonly config: ModelConfig
  readonly traits: EncoderTraits
  /** Applies the norm `name` to whole rows. */
  readonly norm: (name: string, input: Value) => Value
  /** Multiplies by the matrix `name` [n, k], and adds its bias if the family has biases. */
  readonly linear: (name: string, input: Value, n: number) => Value
}

function encoderParts(config: ModelConfig, traits: EncoderTraits): Parts {
  const { hiddenSize, normEpsilon } = config
  const b = graphBuilder()
  const norm = (name: string, input: Value): Value => {
    const weight = vector({ [`${name}.weight`]: hiddenSize })
    if (traits.norm === 'rms') return b.rmsnorm(name, input, weight, normEpsilon)
    const bias = traits.biases === 'none' ? undefined : vector({ [`${name}.bias`]: hiddenSize })
    return b.layernorm(name, input, weight, bias, normEpsilon)
  }
  const linear = (name: string, input: Value, n: number): Value => {
    const bias = traits.biases === 'all' ? vector({ [`${name}.bias`]: n }) : undefined
    return b.linear(`${name}_product`, input, matrix(input.shape[1], { [`${name}.weight`]: n }), bias)
  }
  return { b, config, traits, norm, linear }
}

/**
 * Its output is the hidden states of the wanted rows, after the last norm. `kinds`: how many token types have
 * an embedding of their own; without it, `positions.weight` includes the embedding of the first type.
 */
export function encoder(config: ModelConfig, kinds?: number, traits = BERT_TRAITS): Graph {
  const parts = encoderParts(config, traits)
  const { b, norm } = parts
  let x = embedded(parts, kinds)
  for (let layer = 0; layer < config.layers; layer++) {
    const at = `layers.${layer}`
    const isLast = layer === config.layers - 1
    const attended = addedTo(parts, `${at}.attn`, x, (input) => attention(parts, layer, input))
    x = traits.secondNorm ? norm(`${at}.attn_second_norm`, b.add(`${at}.attn_again`, x, attended)) : attended
    x = addedTo(parts, `${at}.mlp`, x, (input) => feedForward(parts, at, input), isLast)
  }
  return b.finish(traits.norms === 'after' ? x : norm('norm', x))
}

function embedded({ b, config, traits, norm }: Parts, kinds: number | undefined): Value {
  const { hiddenSize, vocabSize, contextLength, embeddingScale } = config
  let x = b.embed('embed', matrix(hiddenSize, { 'embed.weight': vocabSize }), embeddingScale)
  if (traits.positions === 'learned') {
    const positions = matrix(hiddenSize, { 'positions.weight': contextLength })
    x = b.add('embedded', x, b.embedPositions('positions', positions))
  }
  if (kinds !== undefined)
    x = b.add('typed', x, b.embedKinds('kinds', matrix(hiddenSize, { 'kinds.weight': kinds })))
  return traits.embeddingNorm ? norm('embed_norm', x) : x
}

/** x + block(x), with the family's norms; for the last block, only the wanted rows. */
function addedTo(
  { b, traits: { norms, embeddingNorm }, norm }: Parts,
  name: string,
  x: Value,
  block: (input: Value) => Value,
  isLast = false,
): Value {
  const isNormed = norms === 'after' || (embeddingNorm && name === 'layers.0.attn')
  const made = block(isNormed ? x : norm(`${name}_norm`, x))
  const sum = b.add(`${name}_sum`, x, norms === 'around' ? norm(`${name}_post_norm`, made) : made)
  const kept = isLast ? b.takeRows('wanted', sum) : sum
  return norms === 'after' ? norm(`${name}_post_norm`, kept) : kept
}

/** Attention of one layer, with its output projection. */
function attention({ b, config, traits, norm, linear }: Parts, layer: number, input: Value): Value {
  const { hiddenSize, heads, kvHeads, headDim, normEpsilon, attentionScale, localRope } = config
  const at = `layers.${layer}`
  const parts = (kind: 'weight' | 'bias') => ({
    [`${at}.attn_q.${kind}`]: heads * headDim,
    [`${at}.attn_k.${kind}`]: kvHeads * headDim,
    [`${at}.attn_v.${kind}`]: kvHeads * headDim,
  })
  const weight = matrix(hiddenSize, parts('weight'))
  const bias = traits.biases === 'all' ? vector(parts('bias')) : undefined
  const qkv = b.linear(`${at}.attn_qkv`, input, weight, bias)
  const window = config.window?.layers.includes(layer) === true ? config.window.positions : 0
  const after = window === 0 ? EVERY_POSITION : window - 1
  const isOther = window > 0 && localRope !== undefined
  const { dims, pairing } = isOther ? localRope : config.rope
  const headNorm = (part: string) => vector({ [`${at}.attn_${part}_norm.weight`]: headDim })
  const rows = b
    .parts(qkv, weight)
    .map((row, part) => (traits.rowNorms && part < 2 ? norm(`${at}.attn_${'qk'[part]}_norm`, row) : row))
  const attended = b.attend(
    `${at}.attn`,
    rows,
    { layer: ONE_LAYER, heads, kvHeads, headDim, window, after: traits.isCausal === true ? 0 : after },
    { table: isOther ? 1 : 0, dims, pairing },
    {
      norms: traits.headNorms && {
        q: headNorm('q'),
        k: headNorm('k'),
        over: 'head',
        epsilon: normEpsilon,
      },
      scale: attentionScale,
      bias: traits.distances && distanceBias(config),
    },
  )
  return linear(`${at}.attn_output`, attended, hiddenSize)
}

function distanceBias({ heads, contextLength }: ModelConfig): DistanceBias {
  const reach = contextLength - 1
  return { table: vector({ [DISTANCES]: heads * biasColumns(reach) }), reach }
}

/** The feed-forward block of the layer named `at`. */
function feedForward({ b, config, traits, linear }: Parts, at: string, input: Value): Value {
  const { hiddenSize, intermediateSize, activation = 'gelu_exact' } = config
  /** The activation's inputs: a gate and its factor from one product, or the single input. */
  const wide = (): readonly Value[] => {
    if (traits.mlp === 'plain') return [linear(`${at}.mlp_up`, input, intermediateSize)]
    const gateUp = ['gate', 'up'].map((part) => [`${at}.mlp_${part}.weight`, intermediateSize] as const)
    const weight = matrix(hiddenSize, Object.fromEntries(gateUp))
    return b.parts(b.linear(`${at}.mlp_gate_up`, input, weight), weight)
  }
  return linear(`${at}.mlp_down`, b.swiglu(`${at}.mlp_act`, wide(), activation), hiddenSize)
}
