// OLMo Hybrid: most layers have the gated delta rule and norms on their inputs; some have OLMo 3's attention.
import { deltaLayer } from '../../blocks/delta.ts'
import { hybrid } from '../../blocks/hybrid.ts'
import { type DecoderTraits, PLAIN } from '../../blocks/parts.ts'
import { hfDelta } from '../../config/recurrent-config.ts'
import { defaults, type FamilyFile, NO_GGUF } from '../../family.ts'
import { attentionLayers } from './qwen3-5.ts'

const TRAITS: DecoderTraits = { ...PLAIN, norms: 'after', recurrentNorms: 'before', headNorms: 'row' }
/** The class's name, and the name in its files. */
const FIRST_OR_ONLY =
  'model.layers.N.post_attention_layernorm.weight|model.layers.N.feedforward_layer_norm.weight'
const LINEAR = 'model.layers.N.linear_attn'

export const olmoHybrid: FamilyFile = {
  traits: TRAITS,
  recurrence: 'delta',
  build: (config, decoder) => decoder(config, TRAITS, hybrid(deltaLayer)),
  gguf: NO_GGUF,
  hf: {
    classes: {
      OlmoHybridForCausalLM: defaults(100_352, 3840, 11_008, 32, 30, 65_536, {
        linear_allow_neg_eigval: true,
      }),
    },
    config(fields, common) {
      const { heads, hiddenSize, rope } = common
      const keyHeads = fields.number('linear_num_key_heads', heads)
      const keyDim = fields.number('linear_key_head_dim', Math.trunc((0.75 * hiddenSize) / keyHeads))
      const sizes = {
        linear_num_key_heads: keyHeads,
        linear_num_value_heads: heads,
        linear_key_head_dim: keyDim,
        linear_value_head_dim: 2 * keyDim,
      }
      const betaScale = fields.fact('linear_allow_neg_eigval') ? 2 : 1
      return {
        attentionLayers: attentionLayers(fields, common),
        // In the class, the norm after the rule has a different epsilon.
        ssm: hfDelta(fields.renamed({}, sizes), 1e-5, betaScale),
        rope: fields.isNull('rope_parameters.rope_theta') ? { ...rope, dims: 0 } : rope,
      }
    },
    names: {
      'layers.N.ssm_norm.weight':
        'model.layers.N.input_layernorm.weight|model.layers.N.attention_layer_norm.weight',
      'layers.N.attn_post_norm.weight': FIRST_OR_ONLY,
      'layers.N.mlp_norm.weight': FIRST_OR_ONLY,
      'layers.N.ssm_conv.weight': () => ({
        tensor: '',
        joined: ['q', 'k', 'v'].map((part) => `${LINEAR}.${part}_conv1d.weight`),
      }),
      'layers.N.ssm_in_x.weight': () => ({
        tensor: '',
        joined: ['q', 'k', 'v'].map((part) => `${LINEAR}.${part}_proj.weight`),
      }),
      'layers.N.ssm_in_z.weight': `${LINEAR}.g_proj.weight`,
      'layers.N.ssm_in_beta.weight': `${LINEAR}.b_proj.weight`,
      'layers.N.ssm_in_dt.weight': `${LINEAR}.a_proj.weight`,
      'layers.N.ssm_gate_norm.weight': `${LINEAR}.o_norm.weight`,
      'layers.N.ssm_output.weight': `${LINEAR}.o_proj.weight`,
    },
  },
}
