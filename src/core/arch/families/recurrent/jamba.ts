// Jamba: Mamba with norms of step sizes, B and C in most layers, attention without positions in some.
import { hybrid } from '../../blocks/hybrid.ts'
import { PLAIN } from '../../blocks/parts.ts'
import type { ModelConfig } from '../../config/config.ts'
import { type Fields, layersOf, layersWithHeads, unbuiltVariant } from '../../config/fields.ts'
import { ggufSsm, hfSsm } from '../../config/recurrent-config.ts'
import { decoder } from '../../decoder.ts'
import { defaults, type FamilyFile } from '../../family.ts'
import { mambaLayer } from '../mamba.ts'

const LAYER = 'model.layers.N'
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

/** The layers whose index leaves `offset` when divided by `period`. */
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
  traits: PLAIN,
  recurrence: 'mamba',
  build: (config) => decoder(config, PLAIN, hybrid(mambaLayer)),
  gguf: {
    architecture: 'jamba',
    pairing: 'halves',
    config: (fields, common) => ({
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
      const experts = fields.number('num_experts')
      if (experts > 1 && inPeriod(fields, 'expert', common, [2, 1]).length > 0) {
        throw unbuiltVariant(fields.file, `${experts} experts`, 'one dense MLP per layer')
      }
      return {
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
    },
  },
}
