// What the blocks of a decoder share: the family's traits, norms and linear layers.
import { type GraphBuilder, matrix, vector } from '../../graph/builder.ts'
import type { Activation, Value, WeightRef } from '../../graph/ir.ts'
import type { Biases, ModelConfig } from '../config/config.ts'

/** How a family's attention and feed-forward blocks differ from those of others. */
export interface DecoderTraits {
  readonly norm: 'rms' | 'layer'
  /** Where a block has its norms: on its input, on its output, or on both. */
  readonly norms: 'before' | 'after' | 'around'
  /** Where recurrent layers have their norms, if this differs from `norms`. */
  readonly recurrentNorms?: 'before'
  /** Norms of queries and keys. A model may omit them: `ModelConfig.headNorms`. */
  readonly headNorms?: HeadNormTrait
  /** Biases of queries, keys and values, unless the model says otherwise. */
  readonly qkvBias: boolean
  /** Biases of every other matrix and norm, unless the model says otherwise. */
  readonly bias: boolean
  /** Whether norms have biases. Default: `bias`. */
  readonly normBias?: boolean
  /** The token embeddings are normalised before the first layer. */
  readonly embeddingNorm?: boolean
  /** False: the first layer's attention reads the embeddings without a norm. Default: true. */
  readonly firstNorm?: boolean
  /**
   * Logits are computed from the last norm's output after one more linear layer, an activation and a norm.
   */
  readonly predictionHead?: boolean
  /** Norms precede attention's output matrix and the last matrix of the feed-forward block. */
  readonly subNorms?: boolean
  /** `shifted`: RWKV's block, which also reads the previous row. */
  readonly mlp: 'gated' | 'plain' | 'experts' | 'shifted'
  /** Some models of the family have experts in place of `mlp`. */
  readonly mayHaveExperts?: boolean
  /** Keys and values are computed from one short row per token. */
  readonly latent?: boolean
  /** Biases on the router and on every matrix of every expert. */
  readonly expertBias?: boolean
  /** Each head's values are normalised, without weights, before they are stored. */
  readonly valueNorms?: true
  /** Some models of the family have layers of several sizes. */
  readonly isUneven?: true
  /** Attention subtracts a second map of scores from the first. */
  readonly isDifferential?: true
  /** Some recurrent layers start with a shared block. */
  readonly sharedBlocks?: true
  /** The residual consists of several streams. */
  readonly streams?: true
  /** Each head's softmax includes one extra score, for a position without a value. */
  readonly sinks?: boolean
  readonly activation: Activation
  /**
   * Attention's output is multiplied by the sigmoid of another projection of its input, elementwise or with
   * one number per head.
   */
  readonly attentionGate?: 'number' | 'head'
  /**
   * `learned`: learned position embeddings are added to the token embeddings. `alibi`: a bias that depends on
   * the distance is added to scores.
   */
  readonly positions: 'rope' | 'learned' | 'alibi'
}

/**
 * Norms of queries and keys. `head`: an RMS norm per head. `row`: one RMS norm over all heads. `rotated`: an
 * RMS norm per head, after the rotation. `layer`: a layer norm per head, with biases. `layers`: a layer norm
 * per head without biases, with separate weights for each head.
 */
export type HeadNormTrait = 'head' | 'row' | 'rotated' | 'layer' | 'layers'

/** Whether the matrices of a part, or the norms, have biases. The model's setting overrides its family's. */
export function hasBias(
  { biases }: Pick<ModelConfig, 'biases'>,
  traits: DecoderTraits,
  part: keyof Biases | 'norm',
): boolean {
  if (part === 'norm') return traits.normBias ?? traits.bias
  return biases?.[part] ?? (part === 'qkv' ? traits.qkvBias : part !== 'logits' && traits.bias)
}

/** The norms of the queries and keys of a model. */
export const headNormsOf = (
  { headNorms }: Pick<ModelConfig, 'headNorms'>,
  traits: DecoderTraits,
): HeadNormTrait | undefined => (headNorms === false ? undefined : traits.headNorms)

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

/** The arguments that the builder of every block receives. */
export interface Parts {
  readonly b: GraphBuilder
  readonly config: ModelConfig
  readonly traits: DecoderTraits
  /** Applies the norm `name` to whole rows. `layers`: how many layers precede it. */
  readonly norm: (name: string, input: Value, layers: number) => Value
  /** Normalises the input of a block's last matrix, if the family has `subNorms`. */
  readonly subNorm: (name: string, input: Value) => Value
  /** Multiplies by the matrix `name` [n, k] of a part. Adds its bias if the part has biases. */
  readonly linear: (label: string, input: Value, name: string, n: number, part: keyof Biases) => Value
  /** Like `linear`, for several matrices at once. Without a part, no biases are added. */
  readonly linears: (
    label: string,
    input: Value,
    names: Readonly<Record<string, number>>,
    part?: keyof Biases,
  ) => readonly Value[]
  /** The biases of the matrices `names` [n] of a part, if the part has biases. */
  readonly biasOf: (names: Readonly<Record<string, number>>, part: keyof Biases) => WeightRef | undefined
}

export function decoderParts(b: GraphBuilder, config: ModelConfig, traits: DecoderTraits): Parts {
  const { halvedEvery = Number.POSITIVE_INFINITY } = config
  const norm = (name: string, input: Value, layers: number): Value => {
    const normEpsilon = config.normEpsilon * 4 ** Math.floor(layers / halvedEvery)
    const [, width] = input.shape
    const weight = vector({ [`${name}.weight`]: width })
    if (traits.norm === 'rms') return b.rmsnorm(name, input, weight, normEpsilon)
    const bias = hasBias(config, traits, 'norm') ? vector({ [`${name}.bias`]: width }) : undefined
    return b.layernorm(name, input, weight, bias, normEpsilon)
  }
  const subNorm: Parts['subNorm'] = (name, input) => (traits.subNorms === true ? norm(name, input, 0) : input)
  const biasOf: Parts['biasOf'] = (names, part) => {
    if (!hasBias(config, traits, part)) return undefined
    return vector(Object.fromEntries(Object.entries(names).map(([name, n]) => [`${name}.bias`, n])))
  }
  const linear: Parts['linear'] = (label, input, name, n, part) =>
    b.linear(label, input, matrix(input.shape[1], { [`${name}.weight`]: n }), biasOf({ [name]: n }, part))
  const linears: Parts['linears'] = (label, input, names, part) => {
    const weights = Object.entries(names).map(([name, n]) => [`${name}.weight`, n] as const)
    const weight = matrix(input.shape[1], Object.fromEntries(weights))
    return b.parts(b.linear(label, input, weight, part && biasOf(names, part)), weight)
  }
  return { b, config, traits, norm, subNorm, linear, linears, biasOf }
}

/** Whether a layer has experts. */
export const hasExperts = ({ experts }: ModelConfig, layer: number): boolean =>
  experts !== undefined && experts.denseLayers?.includes(layer) !== true

/** Builds the part of a layer that mixes positions, from the layer's normalised input. Default: attention. */
export type Mixer = (parts: Parts, layer: number, input: Value) => Value

/** Builds one layer, from its index and its input. */
export type Layer = (layer: number, x: Value) => Value

/** What surrounds the layers of a decoder. `plain`: the builder of its ordinary layers. */
export type Framing = (parts: Parts, plain: Layer, embedded: Value) => Frame
export interface Frame {
  /** The first layer's input. Default: the embeddings. */
  readonly first?: Value
  readonly each: Layer
  /** Computes the last norm's input from the last layer's output. Default: that output itself. */
  readonly leave?: (x: Value) => Value
}

/** Whether a layer has recurrent state. */
export const isRecurrent = (
  { ssm, attentionLayers, recurrentLayers, mlpLayers }: ModelConfig,
  layer: number,
): boolean =>
  ssm !== undefined &&
  mlpLayers?.includes(layer) !== true &&
  (recurrentLayers?.includes(layer) ?? attentionLayers?.includes(layer) !== true)

/** Whether a layer has attention. */
export const attends = ({ heads, attentionLayers, mlpLayers }: ModelConfig, layer: number): boolean =>
  heads > 0 && mlpLayers?.includes(layer) !== true && (attentionLayers?.includes(layer) ?? true)

/** Whether a layer has a feed-forward block. */
export const hasMlp = ({ intermediateSize, mlpLayers }: ModelConfig, layer: number): boolean =>
  intermediateSize > 0 && (mlpLayers?.includes(layer) ?? true)

/** Where a layer has its norms. */
export const normsOf = (config: ModelConfig, traits: DecoderTraits, layer: number): DecoderTraits['norms'] =>
  isRecurrent(config, layer) ? (traits.recurrentNorms ?? traits.norms) : traits.norms
