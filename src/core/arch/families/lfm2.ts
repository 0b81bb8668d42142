// LFM2, dense or with experts, and LFM3: most layers have a short convolution between two gates, some have
// attention.
import { matrix } from '../../graph/builder.ts'
import type { Value } from '../../graph/ir.ts'
import { attention } from '../blocks/attention.ts'
import { type DecoderTraits, type Mixer, PLAIN } from '../blocks/parts.ts'
import type { ModelConfig } from '../config/config.ts'
import { denseLayers, ggufExperts } from '../config/experts-config.ts'
import { type Fields, layersOf, layersWithHeads, unbuiltVariant, windowOf } from '../config/fields.ts'
import { localRope, proportionalRope } from '../config/hf-rope.ts'
import { defaults, type FamilyFile, type Names, NO_GGUF } from '../family.ts'

const TRAITS: DecoderTraits = { ...PLAIN, headNorms: 'head' }

/** out(c * conv(b * x)), where one matrix projects the input to b, c and x. */
const shortConvolution: Mixer = ({ b, config, linears }, layer, input) => {
  const { hiddenSize, convTaps = 0 } = config
  const at = `layers.${layer}`
  const names = {
    [`${at}.conv_b`]: hiddenSize,
    [`${at}.conv_c`]: hiddenSize,
    [`${at}.conv_x`]: hiddenSize,
  }
  const [before, behind, x] = linears(`${at}.conv_in`, input, names) as [Value, Value, Value]
  const gated = b.swiglu(`${at}.conv_gated`, [before, x], 'none')
  const kernel = matrix(convTaps, { [`${at}.conv.weight`]: hiddenSize })
  const convolved = b.conv1d(`${at}.conv`, gated, kernel, undefined, 'none')
  const made = b.swiglu(`${at}.conv_made`, [behind, convolved], 'none')
  return b.linear(
    `${at}.conv_product`,
    made,
    matrix(hiddenSize, { [`${at}.conv_output.weight`]: hiddenSize }),
  )
}

const mix: Mixer = (parts, layer, input) =>
  (parts.config.attentionLayers?.includes(layer) ? attention : shortConvolution)(parts, layer, input)

/** Rows of a convolution's input projection: B, C, x. */
const projected =
  (tensor: string, index: number) =>
  ({ hiddenSize: n }: ModelConfig) => ({
    tensor,
    shape: [3 * n, n],
    runs: [[index * n, n]] as const,
  })
const convolution = (inTensor: string, prefix: string) => ({
  'layers.N.conv_b.weight': projected(inTensor, 0),
  'layers.N.conv_c.weight': projected(inTensor, 1),
  'layers.N.conv_x.weight': projected(inTensor, 2),
  'layers.N.conv.weight': `${prefix}.conv.weight`,
  'layers.N.conv_output.weight': `${prefix}.out_proj.weight`,
})

const HF = 'model.layers.N'

/** Epsilon added to the sum by which weights are divided. */
const EPSILON = 1e-6

/** The layers that config.json lists as attention. */
const attentionOf = (fields: Fields, layers: number): number[] => {
  const kinds = fields.list('layer_types')
  const listed = fields.numberList('full_attn_idxs')
  return layersOf({ layers }).filter((layer) =>
    kinds.length > 0
      ? kinds[layer] === 'full_attention'
      : !fields.has('full_attn_idxs') || listed.includes(layer),
  )
}

const HF_NAMES: Names = {
  'norm.weight': 'model.embedding_norm.weight',
  'layers.N.attn_norm.weight': `${HF}.operator_norm.weight`,
  'layers.N.mlp_norm.weight': `${HF}.ffn_norm.weight`,
  'layers.N.attn_q_norm.weight': `${HF}.self_attn.q_layernorm.weight`,
  'layers.N.attn_k_norm.weight': `${HF}.self_attn.k_layernorm.weight`,
  'layers.N.attn_output.weight': `${HF}.self_attn.out_proj.weight`,
  'layers.N.mlp_gate.weight': `${HF}.feed_forward.w1.weight`,
  'layers.N.mlp_up.weight': `${HF}.feed_forward.w3.weight`,
  'layers.N.mlp_down.weight': `${HF}.feed_forward.w2.weight`,
  ...convolution(`${HF}.conv.in_proj.weight`, `${HF}.conv`),
}

const EXPERTS = { ...TRAITS, mlp: 'experts' } as const

export const lfm2moe: FamilyFile = {
  traits: EXPERTS,
  build: (config, decoder) => decoder(config, EXPERTS, mix),
  gguf: {
    architecture: 'lfm2moe',
    pairing: 'halves',
    config: (fields, common) => ({
      attentionLayers: layersWithHeads(fields),
      convTaps: fields.number('shortconv.l_cache'),
      ...ggufExperts(fields, common, {
        normalize: true,
        scoring: 'sigmoid',
        isBiased: true,
        epsilon: EPSILON,
      }),
    }),
    names: {
      'norm.weight': 'token_embd_norm.weight|output_norm.weight',
      ...convolution('blk.N.shortconv.in_proj.weight', 'blk.N.shortconv'),
    },
  },
  hf: {
    classes: {
      Lfm2MoeForCausalLM: defaults(65_536, 2048, 7168, 32, 32, 128_000, {
        num_key_value_heads: 8,
        rms_norm_eps: 1e-5,
        rope_theta: 1e6,
        tie_word_embeddings: true,
        num_experts: 32,
        num_experts_per_tok: 4,
        moe_intermediate_size: 1792,
        num_dense_layers: 2,
      }),
    },
    keys: { rms_norm_eps: 'norm_eps', tie_word_embeddings: 'tie_embedding' },
    config(fields, { layers }) {
      const dense = fields.number('num_dense_layers')
      const scale = fields.number('routed_scaling_factor', 1)
      return {
        attentionLayers: attentionOf(fields, layers),
        convTaps: fields.number('conv_L_cache', 3),
        experts: {
          count: fields.number('num_experts'),
          used: fields.number('num_experts_per_tok'),
          size: fields.number('moe_intermediate_size'),
          normalize: fields.fact('norm_topk_prob', true),
          scoring: 'sigmoid',
          epsilon: EPSILON,
          ...(scale !== 1 && { scale }),
          ...(fields.fact('use_expert_bias', true) && { isBiased: true }),
          ...denseLayers({ layers }, (layer) => layer < dense),
        },
      }
    },
    names: {
      ...HF_NAMES,
      'layers.N.router.weight': `${HF}.feed_forward.gate.weight`,
      'layers.N.experts.E.mlp_gate.weight': `${HF}.feed_forward.experts.E.w1.weight`,
      'layers.N.experts.E.mlp_up.weight': `${HF}.feed_forward.experts.E.w3.weight`,
      'layers.N.experts.E.mlp_down.weight': `${HF}.feed_forward.experts.E.w2.weight`,
    },
  },
}

export const lfm2: FamilyFile = {
  traits: TRAITS,
  build: (config, decoder) => decoder(config, TRAITS, mix),
  gguf: {
    architecture: 'lfm2',
    pairing: 'halves',
    config: (fields) => ({
      attentionLayers: layersWithHeads(fields),
      convTaps: fields.number('shortconv.l_cache'),
    }),
    names: {
      'norm.weight': 'token_embd_norm.weight',
      ...convolution('blk.N.shortconv.in_proj.weight', 'blk.N.shortconv'),
    },
  },
  hf: {
    classes: {
      Lfm2ForCausalLM: defaults(65_536, 2560, 12_288, 32, 32, 128_000, {
        num_key_value_heads: 8,
        rms_norm_eps: 1e-5,
        rope_theta: 1e6,
        tie_word_embeddings: true,
      }),
    },
    keys: {
      rms_norm_eps: 'norm_eps',
      tie_word_embeddings: 'tie_embedding',
      intermediate_size: 'block_ff_dim',
    },
    config(fields, { layers, intermediateSize }) {
      return {
        attentionLayers: attentionOf(fields, layers),
        convTaps: fields.number('conv_L_cache', 3),
        intermediateSize: fields.fact('block_auto_adjust_ff_dim', true)
          ? adjusted(
              intermediateSize,
              fields.number('block_ffn_dim_multiplier', 1),
              fields.number('block_multiple_of', 256),
            )
          : intermediateSize,
      }
    },
    names: HF_NAMES,
  },
}

const LFM3: DecoderTraits = { ...TRAITS, norms: 'around', attentionGate: 'head' }

export const lfm3: FamilyFile = {
  traits: LFM3,
  build: (config, decoder) => decoder(config, LFM3, mix),
  gguf: NO_GGUF,
  hf: {
    classes: {
      Lfm3ForCausalLM: defaults(128_000, 2048, 7680, 24, 16, 128_000, {
        num_key_value_heads: 4,
        head_dim: 128,
        rms_norm_eps: 1e-5,
        sliding_window: 256,
        tie_word_embeddings: true,
      }),
    },
    keys: { rms_norm_eps: 'norm_eps' },
    config(fields, own) {
      for (const key of ['use_sandwich_norm', 'use_attention_gate'])
        if (!fields.fact(key, true)) throw unbuiltVariant(fields.file, `${key} false`, 'true')
      const listed = fields.list('layer_types')
      const kinds = layersOf(own).map((layer) => listed[layer] ?? usualKind(layer))
      return {
        attentionLayers: layersOf(own).filter((layer) => kinds[layer] !== 'conv'),
        convTaps: fields.number('conv_L_cache', 7),
        window: windowOf(
          own,
          fields.number('sliding_window'),
          kinds.map((kind) => kind === 'sliding_attention'),
        ),
        rope: proportionalRope(fields, own, 0.5),
        localRope: localRope(fields, own, 10_000),
      }
    },
    names: {
      ...HF_NAMES,
      'layers.N.attn_gate.weight': `${HF}.self_attn.gate_proj.weight|${HF}.self_attn.g_proj.weight`,
      'layers.N.attn_q_norm.weight': `${HF}.self_attn.q_norm.weight`,
      'layers.N.attn_k_norm.weight': `${HF}.self_attn.k_norm.weight`,
      'layers.N.attn_output.weight': `${HF}.self_attn.o_proj.weight`,
      'layers.N.attn_post_norm.weight': `${HF}.post_operator_norm.weight`,
      'layers.N.mlp_post_norm.weight': `${HF}.post_ffn_norm.weight`,
    },
  },
}

/** The default kind of a layer. */
function usualKind(layer: number): string {
  if (layer % 4 === 2) return 'full_attention'
  return layer % 4 === 0 && layer > 0 ? 'sliding_attention' : 'conv'
}

/** The feed-forward size: two thirds of the size in config.json, rounded to whole blocks. */
function adjusted(stated: number, multiplier: number, multiple: number): number {
  return multiple * Math.ceil(Math.trunc(multiplier * Math.trunc((2 * stated) / 3)) / multiple)
}
