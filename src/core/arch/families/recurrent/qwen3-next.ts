// Qwen3-Next: the gated delta rule in three of every four layers, gated attention in the fourth, and experts
// in all.
import { deltaLayer } from '../../blocks/delta.ts'
import { hybrid } from '../../blocks/hybrid.ts'
import { type DecoderTraits, PLAIN } from '../../blocks/parts.ts'
import type { ModelConfig } from '../../config/config.ts'
import { ggufExperts, sharedBlock } from '../../config/experts-config.ts'
import { hfDelta } from '../../config/recurrent-config.ts'
import { defaults, type FamilyFile, type Names, type StoredWeight } from '../../family.ts'
import { hfQwenExperts } from '../qwen.ts'
import { attentionLayers, everyLast, gatedQueries, ggufDelta, QWEN_NEXT_NORMS } from './qwen3-5.ts'

const TRAITS: DecoderTraits = { ...PLAIN, headNorms: 'head', attentionGate: 'number', mlp: 'experts' }
const LINEAR = 'model.layers.N.linear_attn'
const PROJECTION = `${LINEAR}.in_proj_qkvz.weight`

/** Sizes of the delta rule: a key, the values of the heads that share it, and the number of those heads. */
function sizesOf({ ssm }: ModelConfig) {
  if (ssm?.kind !== 'delta') return { keys: 0, key: 0, values: 0, heads: 0 }
  const { groups: keys, stateSize: key, innerSize, heads } = ssm
  return { keys, key, values: innerSize / keys, heads: heads / keys }
}

const runsOfKeys = (count: number, width: number, first: number, rows: number) =>
  Array.from({ length: count }, (_, key) => [key * width + first, rows] as const)

/** Rows of the projection that holds each key head's query, key, values and gates in turn. */
const projected =
  (part: 'x' | 'z', tensor: string) =>
  (config: ModelConfig): StoredWeight => {
    const { keys, key, values } = sizesOf(config)
    const width = 2 * (key + values)
    const runs = (first: number, rows: number) => runsOfKeys(keys, width, first, rows)
    return {
      tensor,
      shape: [keys * width, config.hiddenSize],
      runs:
        part === 'z'
          ? runs(2 * key + values, values)
          : [...runs(0, key), ...runs(key, key), ...runs(2 * key, values)],
    }
  }

/**
 * Rows of the projection that holds, for each key head in turn, the update shares and then the step sizes of
 * its heads.
 */
const shareOrStep =
  (tensor: string, part: 0 | 1) =>
  (config: ModelConfig): StoredWeight => {
    const { keys, heads } = sizesOf(config)
    const runs = runsOfKeys(keys, 2 * heads, part * heads, heads)
    return { tensor, shape: [2 * keys * heads, config.hiddenSize], runs }
  }

const steps = (tensor: string): Names => ({
  'layers.N.ssm_in_beta.weight': shareOrStep(tensor, 0),
  'layers.N.ssm_in_dt.weight': shareOrStep(tensor, 1),
})

export const qwen3next: FamilyFile = {
  traits: TRAITS,
  recurrence: 'delta',
  build: (config, decoder) => decoder(config, TRAITS, hybrid(deltaLayer)),
  gguf: {
    architecture: 'qwen3next',
    pairing: 'halves',
    config(fields, common) {
      const { experts } = ggufExperts(fields, common, { normalize: true })
      return {
        experts: experts && { ...experts, ...sharedBlock(experts.shared?.size ?? 0, true) },
        attentionLayers: everyLast(common.layers, fields.number('full_attention_interval', 4)),
        ssm: ggufDelta(fields, 'grouped', common.normEpsilon),
      }
    },
    names: {
      ...gatedQueries('blk.N.attn_q.weight'),
      // Earlier files store the whole projection in one tensor.
      'layers.N.ssm_in_x.weight': (config) => ({
        tensor: 'blk.N.attn_qkv.weight',
        orElse: projected('x', 'blk.N.ssm_in.weight')(config),
      }),
      'layers.N.ssm_in_z.weight': (config) => ({
        tensor: 'blk.N.attn_gate.weight',
        orElse: projected('z', 'blk.N.ssm_in.weight')(config),
      }),
      ...steps('blk.N.ssm_ba.weight'),
      'layers.N.mlp_norm.weight': 'blk.N.post_attention_norm.weight',
    },
  },
  hf: {
    classes: {
      Qwen3NextForCausalLM: defaults(151_936, 2048, 5632, 48, 16, 32_768, {
        num_key_value_heads: 2,
        head_dim: 256,
        partial_rotary_factor: 0.25,
        linear_num_value_heads: 32,
        linear_num_key_heads: 16,
        linear_value_head_dim: 128,
        linear_key_head_dim: 128,
        num_experts: 512,
        num_experts_per_tok: 10,
        moe_intermediate_size: 512,
        shared_expert_intermediate_size: 512,
        norm_topk_prob: true,
      }),
    },
    config: (fields, common) => ({
      experts: hfQwenExperts(fields, common),
      attentionLayers: attentionLayers(fields, common),
      ssm: hfDelta(fields, common.normEpsilon),
    }),
    names: {
      ...gatedQueries('model.layers.N.self_attn.q_proj.weight'),
      ...QWEN_NEXT_NORMS,
      'layers.N.ssm_in_x.weight': projected('x', PROJECTION),
      'layers.N.ssm_in_z.weight': projected('z', PROJECTION),
      ...steps(`${LINEAR}.in_proj_ba.weight`),
    },
  },
}
