// Falcon-H1: attention and Mamba-2 side by side in every layer. Bamba: Mamba-2 in most layers, attention in
// some.
import { hybrid } from '../../blocks/hybrid.ts'
import { PLAIN } from '../../blocks/parts.ts'
import type { Mamba2Config, ModelConfig } from '../../config/config.ts'
import { type Fields, layersOf, unbuiltVariant } from '../../config/fields.ts'
import { ggufSsm, hfSsm } from '../../config/recurrent-config.ts'
import { defaults, type FamilyFile, NO_GGUF } from '../../family.ts'
import { mamba2Layer } from '../mamba.ts'

const LAYER = 'model.layers.N'

/** The keys that `hfSsm` reads, with these classes' names for them. */
const SSM_KEYS = {
  use_bias: 'mamba_proj_bias',
  use_conv_bias: 'mamba_conv_bias',
  inner_size: 'mamba_d_ssm',
  expand: 'mamba_expand',
  state_size: 'mamba_d_state',
  conv_kernel: 'mamba_d_conv',
  num_heads: 'mamba_n_heads',
  n_groups: 'mamba_n_groups',
}

const NAMES = {
  'norm.weight': 'model.final_layernorm.weight',
  'layers.N.mlp_norm.weight': `${LAYER}.pre_ff_layernorm.weight`,
  'layers.N.mlp_gate.weight': `${LAYER}.feed_forward.gate_proj.weight`,
  'layers.N.mlp_up.weight': `${LAYER}.feed_forward.up_proj.weight`,
  'layers.N.mlp_down.weight': `${LAYER}.feed_forward.down_proj.weight`,
}

const SIZES = {
  num_key_value_heads: 8,
  rms_norm_eps: 1e-5,
  mamba_n_heads: 128,
  mamba_n_groups: 1,
  mamba_d_state: 256,
}

/** Falcon-H1's multipliers of activations, as factors of the weights that compute them. */
function factorsOf(fields: Fields, { innerSize, stateSize, groups }: Mamba2Config): ModelConfig['factors'] {
  const factor = (key: string) => fields.number(`${key}_multiplier`, 1)
  const listed = (key: string, count: number): number[] => {
    const list = fields.numberList(key)
    return list.length === 0 ? Array.from({ length: count }, () => 1) : [...list]
  }
  const [z = 1, x = 1, enter = 1, leave = 1, dt = 1] = listed('ssm_multipliers', 5)
  const [gate = 1, down = 1] = listed('mlp_multipliers', 2)
  const attention = factor('attention_in')
  const ssm = factor('ssm_in')
  const all = (value: number) => [[Number.POSITIVE_INFINITY, value]] as const
  const between = groups * stateSize
  return {
    'attn_q.weight': all(attention),
    'attn_k.weight': all(attention * factor('key')),
    'attn_v.weight': all(attention),
    'attn_output.weight': all(factor('attention_out')),
    'ssm_in_z.weight': all(ssm * z),
    'ssm_in_x.weight': [
      [innerSize, ssm * x],
      [between, ssm * enter],
      [between, ssm * leave],
    ],
    'ssm_in_dt.weight': all(ssm * dt),
    'ssm_output.weight': all(factor('ssm_out')),
    'mlp_gate.weight': all(gate),
    'mlp_down.weight': all(down),
  }
}

export const falconH1: FamilyFile = {
  traits: PLAIN,
  recurrence: 'mamba2',
  build: (config, decoder) => decoder(config, PLAIN, hybrid(mamba2Layer)),
  gguf: {
    architecture: 'falcon-h1',
    pairing: 'halves',
    config: (fields, common) => ({
      recurrentLayers: layersOf(common),
      ssm: { ...ggufSsm(fields, 'mamba2'), gateNorm: false } as Mamba2Config,
    }),
    // llama.cpp's converter drops the suffix.
    names: { 'layers.N.mlp_norm.weight': 'blk.N.ffn_norm|blk.N.ffn_norm.weight' },
  },
  hf: {
    classes: {
      FalconH1ForCausalLM: defaults(128_000, 4096, 14_336, 32, 32, 8192, {
        ...SIZES,
        mamba_d_ssm: 1024,
        mamba_rms_norm: false,
        mamba_norm_before_gate: true,
      }),
    },
    config(fields, common) {
      const gateNorm = fields.fact('mamba_rms_norm')
      if (gateNorm && fields.fact('mamba_norm_before_gate')) {
        throw unbuiltVariant(fields.file, 'a norm before the gate', 'a norm after the gate, or none')
      }
      if (fields.fact('projectors_bias', false)) throw unbuiltVariant(fields.file, 'projectors_bias', 'none')
      const ssm = { ...hfSsm(fields.renamed(SSM_KEYS), 'mamba2'), gateNorm } as Mamba2Config
      return {
        recurrentLayers: layersOf(common),
        ssm,
        embeddingScale: fields.number('embedding_multiplier', 1),
        logitScale: fields.number('lm_head_multiplier', 1),
        factors: factorsOf(fields, ssm),
      }
    },
    names: NAMES,
  },
}

export const bamba: FamilyFile = {
  traits: PLAIN,
  recurrence: 'mamba2',
  build: (config, decoder) => decoder(config, PLAIN, hybrid(mamba2Layer)),
  // llama.cpp's converter stores these models as Granite hybrids.
  gguf: NO_GGUF,
  hf: {
    classes: {
      BambaForCausalLM: defaults(128_000, 4096, 14_336, 32, 32, 262_144, {
        ...SIZES,
        partial_rotary_factor: 0.5,
      }),
    },
    config: (fields) => ({
      attentionLayers: fields.numberList('attn_layer_indices'),
      ssm: hfSsm(fields.renamed(SSM_KEYS), 'mamba2'),
    }),
    names: NAMES,
  },
}
