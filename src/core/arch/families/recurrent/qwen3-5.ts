// Qwen3.5, dense: the gated delta rule in three layers of four, gated attention in the fourth.
import { deltaLayer } from '../../blocks/delta.ts'
import { hybrid } from '../../blocks/hybrid.ts'
import { type DecoderTraits, PLAIN } from '../../blocks/parts.ts'
import type { ModelConfig } from '../../config/config.ts'
import { type Fields, layersOf } from '../../config/fields.ts'
import { attentionIn, hfDelta } from '../../config/recurrent-config.ts'
import { defaults, type FamilyFile, type Names } from '../../family.ts'

const TRAITS: DecoderTraits = { ...PLAIN, headNorms: 'head', attentionGate: 'number' }

/** Rows of the projection that holds each head's query followed by its gate. */
const half =
  (tensor: string, which: 0 | 1) =>
  ({ heads, headDim, hiddenSize }: ModelConfig) => ({
    tensor,
    shape: [2 * heads * headDim, hiddenSize],
    runs: Array.from({ length: heads }, (_, head) => [(2 * head + which) * headDim, headDim] as const),
  })
export const gatedQueries = (tensor: string): Names => ({
  'layers.N.attn_q.weight': half(tensor, 0),
  'layers.N.attn_gate.weight': half(tensor, 1),
})

const lessOne = (tensor: string) => () => ({ tensor, change: { scale: 1, offset: 1 } })

/** Norms in Hugging Face files, which store the weight minus 1, except for the norm after the delta rule. */
export const QWEN_NEXT_NORMS: Names = {
  'norm.weight': lessOne('model.norm.weight'),
  'layers.N.attn_norm.weight': lessOne('model.layers.N.input_layernorm.weight'),
  'layers.N.ssm_norm.weight': lessOne('model.layers.N.input_layernorm.weight'),
  'layers.N.mlp_norm.weight': lessOne('model.layers.N.post_attention_layernorm.weight'),
  'layers.N.attn_q_norm.weight': lessOne('model.layers.N.self_attn.q_norm.weight'),
  'layers.N.attn_k_norm.weight': lessOne('model.layers.N.self_attn.k_norm.weight'),
}

/** The layers with attention: the listed ones, or the last of each interval. */
export function attentionLayers(fields: Fields, { layers }: Pick<ModelConfig, 'layers'>): number[] {
  const types = fields.list('layer_types')
  if (types.length > 0) return attentionIn(types)
  return everyLast(layers, fields.number('full_attention_interval', 4))
}

export const everyLast = (layers: number, interval: number): number[] =>
  layersOf({ layers }).filter((layer) => layer % interval === interval - 1)

/**
 * GGUF keys: `ssm.inner_size` is the width of all values together, `ssm.state_size` the width of a head's
 * key.
 */
export function ggufDelta(fields: Fields, order: 'grouped' | 'tiled', epsilon: number): ModelConfig['ssm'] {
  return {
    kind: 'delta',
    innerSize: fields.number('ssm.inner_size'),
    stateSize: fields.number('ssm.state_size'),
    convKernel: fields.number('ssm.conv_kernel'),
    convBias: false,
    heads: fields.number('ssm.time_step_rank'),
    groups: fields.number('ssm.group_count'),
    order,
    betaScale: 1,
    epsilon,
  }
}

export const qwen35: FamilyFile = {
  traits: TRAITS,
  recurrence: 'delta',
  build: (config, decoder) => decoder(config, TRAITS, hybrid(deltaLayer)),
  gguf: {
    architecture: 'qwen35',
    pairing: 'halves',
    config: (fields, { layers, normEpsilon }) => ({
      attentionLayers: everyLast(layers, fields.number('full_attention_interval', 4)),
      ssm: ggufDelta(fields, 'tiled', normEpsilon),
    }),
    names: {
      ...gatedQueries('blk.N.attn_q.weight'),
      'layers.N.mlp_norm.weight': 'blk.N.post_attention_norm.weight',
    },
  },
  hf: {
    classes: {
      Qwen3_5ForCausalLM: defaults(248_320, 4096, 12_288, 32, 16, 32_768, {
        num_key_value_heads: 4,
        head_dim: 256,
        partial_rotary_factor: 0.25,
        linear_num_value_heads: 32,
        linear_num_key_heads: 16,
        linear_value_head_dim: 128,
        linear_key_head_dim: 128,
      }),
    },
    config: (fields, common) => ({
      attentionLayers: attentionLayers(fields, common),
      ssm: hfDelta(fields, common.normEpsilon),
    }),
    names: { ...gatedQueries('model.layers.N.self_attn.q_proj.weight'), ...QWEN_NEXT_NORMS },
  },
}
