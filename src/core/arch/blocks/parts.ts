// What the blocks of a decoder share: the family's traits, norms and linears.
import { type GraphBuilder, matrix, vector } from '../../graph/builder.ts'
import type { Activation, Value } from '../../graph/ir.ts'
import type { ModelConfig } from '../config/config.ts'

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
  /** Some models of the family have experts in place of `mlp`. */
  readonly mayHaveExperts?: boolean
  /** Keys and values are made from one short row per token. */
  readonly latent?: boolean
  /** Biases on the router and on every matrix of every expert. */
  readonly expertBias?: boolean
  /** Bias on attention's output, in a family without `bias`. */
  readonly outputBias?: boolean
  /** Each head's softmax has one more score, of a position without a value. */
  readonly sinks?: boolean
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

export function decoderParts(b: GraphBuilder, config: ModelConfig, traits: DecoderTraits): Parts {
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

/** Whether a layer has experts. */
export const hasExperts = ({ experts }: ModelConfig, layer: number): boolean =>
  experts !== undefined && experts.denseLayers?.includes(layer) !== true

/** Builds the part of a layer that mixes positions, from the layer's normalised input. Default: attention. */
export type Mixer = (parts: Parts, layer: number, input: Value) => Value

/** Whether a layer has recurrent state. */
export const isRecurrent = ({ ssm, attentionLayers }: ModelConfig, layer: number): boolean =>
  ssm !== undefined && attentionLayers?.includes(layer) !== true
