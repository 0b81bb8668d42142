// Nemotron-H: each layer is Mamba-2, attention without positions, or a feed-forward block with a squared
// ReLU.
import { hybrid } from '../../blocks/hybrid.ts'
import { type DecoderTraits, PLAIN } from '../../blocks/parts.ts'
import type { ExpertsConfig, Mamba2Config } from '../../config/config.ts'
import { denseLayers, sharedBlock } from '../../config/experts-config.ts'
import { type Fields, layersOf, layersWithHeads, unbuiltVariant } from '../../config/fields.ts'
import { ggufSsm, hfSsm } from '../../config/recurrent-config.ts'
import { defaults, type FamilyFile, modules } from '../../family.ts'
import { mamba2Layer } from '../mamba.ts'

const TRAITS: DecoderTraits = { ...PLAIN, mlp: 'plain', mayHaveExperts: true, activation: 'relu2' }
const NORM = 'backbone.layers.N.norm.weight'
const MIXER = 'backbone.layers.N.mixer'
const LETTERS: ReadonlyMap<string, string> = new Map([
  ['M', 'linear_attention'],
  ['*', 'full_attention'],
  ['-', 'mlp'],
  ['E', 'moe'],
])
/** Names in earlier versions. */
const KINDS: ReadonlyMap<string, string> = new Map([
  ['mamba', 'linear_attention'],
  ['attention', 'full_attention'],
])

function kindsOf(fields: Fields): string[] {
  const kinds = fields.has('hybrid_override_pattern')
    ? [...fields.text('hybrid_override_pattern')].map((letter) => LETTERS.get(letter) ?? letter)
    : fields.textList(fields.has('layers_block_type') ? 'layers_block_type' : 'layer_types')
  if (kinds.length === 0) return ['linear_attention', 'moe', 'full_attention', 'mlp']
  const known = kinds.map((kind) => KINDS.get(kind) ?? kind)
  const built = ['linear_attention', 'full_attention', 'mlp', 'moe']
  const other = known.find((kind) => !built.includes(kind))
  if (other !== undefined) throw unbuiltVariant(fields.file, `layers of type "${other}"`, built.join(', '))
  return known
}

/** Experts chosen by sigmoid scores with a bias, and a shared one, all with a squared ReLU. */
function hfExperts(fields: Fields, kinds: readonly string[]): ExpertsConfig {
  if (fields.has('moe_latent_size')) throw unbuiltVariant(fields.file, 'a moe_latent_size', 'none')
  const scale = fields.number('routed_scaling_factor', 1)
  const groups = fields.number('n_group', 1)
  return {
    count: fields.number('n_routed_experts', 8),
    used: fields.number('num_experts_per_tok', 2),
    size: fields.number('moe_intermediate_size', 7688),
    normalize: fields.fact('norm_topk_prob', true),
    scoring: 'sigmoid',
    isBiased: true,
    epsilon: 1e-20,
    ...(scale !== 1 && { scale }),
    ...(groups > 1 && { groups: { count: groups, used: fields.number('topk_group', 1), best: 2 } }),
    ...sharedBlock(fields.number('moe_shared_expert_intermediate_size', 7688)),
    ...denseLayers({ layers: kinds.length }, (layer) => kinds[layer] !== 'moe'),
  }
}

export const nemotronH: FamilyFile = {
  traits: TRAITS,
  recurrence: 'mamba2',
  build: (config, decoder) => decoder(config, TRAITS, hybrid(mamba2Layer)),
  gguf: {
    architecture: 'nemotron_h',
    pairing: 'halves',
    config(fields, common) {
      const widths = fields.numberList('feed_forward_length')
      return {
        attentionLayers: layersWithHeads(fields),
        mlpLayers: layersOf(common).filter((layer) => (widths[layer] ?? 0) > 0),
        ssm: ggufSsm(fields, 'mamba2'),
        rope: { ...common.rope, dims: 0 },
      }
    },
    names: { 'layers.N.mlp_norm.weight': 'blk.N.attn_norm.weight' },
  },
  hf: {
    classes: {
      NemotronHForCausalLM: defaults(131_072, 4096, 21_504, 52, 32, 4096, {
        num_key_value_heads: 8,
        head_dim: 128,
        n_groups: 8,
        ssm_state_size: 128,
        mamba_num_heads: 128,
        mamba_head_dim: 64,
        time_step_min: 0.001,
        rms_norm_eps: 1e-5,
      }),
    },
    keys: { hidden_act: 'mlp_hidden_act', rms_norm_eps: 'layer_norm_epsilon' },
    config(fields, common) {
      const kinds = kindsOf(fields)
      const layersOfKind = (kind: string) => [...kinds.keys()].filter((layer) => kinds[layer] === kind)
      const heads = fields.number('mamba_num_heads')
      const keys = { state_size: 'ssm_state_size', num_heads: 'mamba_num_heads' }
      const inner = { inner_size: heads * fields.number('mamba_head_dim') }
      if (fields.fact('mamba_proj_bias', false)) throw unbuiltVariant(fields.file, 'mamba_proj_bias', 'none')
      const ssm = hfSsm(fields.renamed({ ...keys, time_step_limit: '' }, inner), 'mamba2') as Mamba2Config
      return {
        layers: kinds.length,
        attentionLayers: layersOfKind('full_attention'),
        mlpLayers: [...layersOfKind('mlp'), ...layersOfKind('moe')].toSorted((a, b) => a - b),
        ...(kinds.includes('moe') && { experts: hfExperts(fields, kinds) }),
        // The class clamps step sizes to at least the smallest one used at initialisation.
        ssm: { ...ssm, timeStepLimit: [fields.number('time_step_min'), Number.POSITIVE_INFINITY] as const },
        rope: { ...common.rope, dims: 0 },
        // The class never ties the output matrix, whatever the file says.
        tiedEmbeddings: false,
      }
    },
    names: {
      'layers.N.attn_norm.weight': NORM,
      'layers.N.ssm_norm.weight': NORM,
      'layers.N.mlp_norm.weight': NORM,
      ...modules({
        'layers.N.attn_q': `${MIXER}.q_proj`,
        'layers.N.attn_k': `${MIXER}.k_proj`,
        'layers.N.attn_v': `${MIXER}.v_proj`,
        'layers.N.attn_output': `${MIXER}.o_proj`,
        'layers.N.mlp_up': `${MIXER}.up_proj`,
        'layers.N.mlp_down': `${MIXER}.down_proj`,
        'layers.N.router': `${MIXER}.gate`,
        'layers.N.experts.E.mlp_up': `${MIXER}.experts.E.up_proj`,
        'layers.N.experts.E.mlp_down': `${MIXER}.experts.E.down_proj`,
        'layers.N.shared.mlp_up': `${MIXER}.shared_experts.up_proj`,
        'layers.N.shared.mlp_down': `${MIXER}.shared_experts.down_proj`,
      }),
      'layers.N.router_choice.bias': `${MIXER}.gate.e_score_correction_bias`,
    },
  },
}
