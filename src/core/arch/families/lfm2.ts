// LFM2, dense: short convolutions between two gates in most layers, attention in some.
import { matrix } from '../../graph/builder.ts'
import type { Value } from '../../graph/ir.ts'
import { attention } from '../blocks/attention.ts'
import { type DecoderTraits, type Mixer, PLAIN } from '../blocks/parts.ts'
import type { ModelConfig } from '../config/config.ts'
import { layersOf, layersWithHeads } from '../config/fields.ts'
import { decoder } from '../decoder.ts'
import { defaults, type FamilyFile } from '../family.ts'

const TRAITS: DecoderTraits = { ...PLAIN, headNorms: 'head' }

/** out(c * conv(b * x)), where one matrix projects the input to b, c and x. */
const shortConvolution: Mixer = ({ b, config }, layer, input) => {
  const { hiddenSize, convTaps = 0 } = config
  const at = `layers.${layer}`
  const weight = matrix(hiddenSize, {
    [`${at}.conv_b.weight`]: hiddenSize,
    [`${at}.conv_c.weight`]: hiddenSize,
    [`${at}.conv_x.weight`]: hiddenSize,
  })
  const [before, behind, x] = b.parts(b.linear(`${at}.conv_in`, input, weight), weight) as [
    Value,
    Value,
    Value,
  ]
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

export const lfm2: FamilyFile = {
  traits: TRAITS,
  build: (config) => decoder(config, TRAITS, mix),
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
      const kinds = fields.list('layer_types')
      const listed = fields.numberList('full_attn_idxs')
      const isAttention = (layer: number) =>
        kinds.length > 0
          ? kinds[layer] === 'full_attention'
          : !fields.has('full_attn_idxs') || listed.includes(layer)
      return {
        attentionLayers: layersOf({ layers }).filter(isAttention),
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
    names: {
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
    },
  },
}

/** The feed-forward size: two thirds of the size in config.json, rounded to whole blocks. */
function adjusted(stated: number, multiplier: number, multiple: number): number {
  return multiple * Math.ceil(Math.trunc(multiplier * Math.trunc((2 * stated) / 3)) / multiple)
}
