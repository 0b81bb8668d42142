// Jamba: Mamba, with norms on step sizes, B and C, in most layers; attention without positions in some.
import { hybrid } from '../../blocks/hybrid.ts'
import { type DecoderTraits, PLAIN } from '../../blocks/parts.ts'
import type { ModelConfig } from '../../config/config.ts'
import { denseLayers, ggufExperts } from '../../config/experts-config.ts'
import { type Fields, layersOf, layersWithHeads } from '../../config/fields.ts'
import { ggufSsm, hfSsm } from '../../config/recurrent-config.ts'
import { defaults, type FamilyFile } from '../../family.ts'
import { mambaLayer } from '../mamba.ts'

const LAYER = 'model.layers.N'
const TRAITS: DecoderTraits = { ...PLAIN, mayHaveExperts: true }
const SSM_KEYS = {
  use_bias: 'mamba_proj_bias',
  use_conv_bias: 'mamba_conv_bias',
  expand: 'mamba_expand',
  state_size: 'mamba_d_state',
  conv_kernel: 'mamba_d_conv',
  time_step_rank: 'mamba_dt_rank',
}

/** Norms with weights, and no rotation. */
const parts = (ssm: ModelConfig['ssm'], { rope, normEpsilon }: ModelConfig): Partial<ModelConfig> => ({
  ssm: { ...ssm, norms: { epsilon: normEpsilon, haveWeights: true } } as ModelConfig['ssm'],
  rope: { ...rope, dims: 0 },
})

/** The layers i with i % `period` equal to `offset`. */
const inPeriod = (
  fields: Fields,
  kind: 'attn' | 'expert',
  common: ModelConfig,
  defaults: [number, number],
) => {
  const period = fields.number(`${kind}_layer_period`, defaults[0])
  const offset = fields.number(`${kind}_layer_offset`, defaults[1])
  return layersOf(common).filter((layer) => layer % period === offset)
}

export const jamba: FamilyFile = {
  traits: TRAITS,
  recurrence: 'mamba',
  build: (config, decoder) => decoder(config, TRAITS, hybrid(mambaLayer)),
  gguf: {
    architecture: 'jamba',
    pairing: 'halves',
    config: (fields, common) => ({
      // The files do not say which layers have experts; in all published models it is every second one.
      ...ggufExperts(fields, common, {
        normalize: false,
        ...denseLayers(common, (layer) => layer % 2 === 0),
      }),
      attentionLayers: layersWithHeads(fields),
      ...parts(ggufSsm(fields, 'mamba'), common),
    }),
  },
  hf: {
    classes: {
      JambaForCausalLM: defaults(65_536, 4096, 14_336, 32, 32, 262_144, {
        num_key_value_heads: 8,
        num_experts: 16,
      }),
    },
    config(fields, common) {
      const count = fields.number('num_experts')
      const routed = count > 1 ? inPeriod(fields, 'expert', common, [2, 1]) : []
      return {
        ...(routed.length > 0 && {
          experts: {
            count,
            used: fields.number('num_experts_per_tok', 2),
            normalize: false,
            ...denseLayers(common, (layer) => !routed.includes(layer)),
          },
        }),
        attentionLayers: inPeriod(fields, 'attn', common, [8, 4]),
        ...parts(hfSsm(fields.renamed(SSM_KEYS), 'mamba', { stateSize: 16 }), common),
      }
    },
    names: {
      'norm.weight': 'model.final_layernorm.weight',
      'layers.N.mlp_norm.weight': `${LAYER}.pre_ff_layernorm.weight`,
      'layers.N.mlp_gate.weight': `${LAYER}.feed_forward.gate_proj.weight`,
      'layers.N.mlp_up.weight': `${LAYER}.feed_forward.up_proj.weight`,
      'layers.N.mlp_down.weight': `${LAYER}.feed_forward.down_proj.weight`,
      'layers.N.router.weight': `${LAYER}.feed_forward.router.weight`,
      'layers.N.experts.E.mlp_gate.weight': `${LAYER}.feed_forward.experts.E.gate_proj.weight`,
      'layers.N.experts.E.mlp_up.weight': `${LAYER}.feed_forward.experts.E.up_proj.weight`,
      'layers.N.experts.E.mlp_down.weight': `${LAYER}.feed_forward.experts.E.down_proj.weight`,
    },
  },
}
