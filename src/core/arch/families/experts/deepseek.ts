// Families with latent attention: DeepSeek V2 and V3, Youtu and MiniCPM3. In DeepSeek's models, all layers
// but the first ones have experts.

import { PLAIN } from '../../blocks/parts.ts'
import type { ExpertsConfig, LatentConfig, ModelConfig } from '../../config/config.ts'
import { denseLayers, ggufExperts, latentConfig, sharedBlock } from '../../config/experts-config.ts'
import { type Fields, requireFacts, unbuiltVariant } from '../../config/fields.ts'
import { fullRope, hfRope } from '../../config/hf-rope.ts'
import { defaults, family } from '../../family.ts'

/** The norms of the short rows use the class's default epsilon, whatever config.json says. */
const LATENT_EPSILON = 1e-6

/** `valueDim`: the default if config.json does not state it. */
function hfLatent(fields: Fields, common: ModelConfig, valueDim?: number): Partial<ModelConfig> {
  requireFacts(fields, { attention_bias: false, mlp_bias: false })
  const stated = fullRope(fields)
  const size = { headDim: fields.number('qk_rope_head_dim'), contextLength: common.contextLength }
  const rope = hfRope(fields, stated, size)
  const rank = fields.number('q_lora_rank', 0)
  const latent: LatentConfig = {
    rank: fields.number('kv_lora_rank'),
    ...(rank > 0 && { queryRank: rank }),
    plainDim: fields.number('qk_nope_head_dim'),
    valueDim: fields.number('v_head_dim', valueDim),
    normEpsilon: LATENT_EPSILON,
  }
  // YaRN scales the scores of the whole key, although only part of it rotates.
  const isScaled = rope.scaling !== undefined && stated !== undefined
  const all = isScaled ? stated.number('mscale_all_dim', 0) : 0
  const growth = isScaled ? stated.number('factor', 1) : 1
  const magnitude = all === 0 || growth <= 1 ? 1 : 1 + 0.1 * all * Math.log(growth)
  const pairing = fields.fact('rope_interleave', true) ? 'interleaved' : 'halves'
  return latentConfig(common, latent, { ...rope, pairing }, magnitude ** 2)
}

function ggufLatent(fields: Fields, common: ModelConfig): Partial<ModelConfig> {
  const { rope, normEpsilon } = common
  const rank = fields.number('attention.q_lora_rank', 0)
  const latent: LatentConfig = {
    rank: fields.number('attention.kv_lora_rank'),
    ...(rank > 0 && { queryRank: rank }),
    plainDim: fields.number('attention.key_length_mla', fields.number('attention.key_length')) - rope.dims,
    valueDim: fields.number('attention.value_length_mla', fields.number('attention.value_length')),
    normEpsilon,
  }
  const scaling = rope.scaling
  if (scaling?.type !== 'yarn') return latentConfig(common, latent, rope)
  // The key stores a tenth of `mscale_all_dim`. Models set `mscale` to the same number, so the rotation
  // itself is not scaled.
  const share = fields.number('rope.scaling.yarn_log_multiplier', 0)
  const magnitude = 1 + share * Math.log(scaling.factor)
  return latentConfig(common, latent, { ...rope, scaling: { ...scaling, magnitude: 1 } }, magnitude ** 2)
}

/** `isSigmoid`: experts are chosen by sigmoid scores plus a bias, as in V3. V2 uses a softmax. */
export function hfDeepseekExperts(
  fields: Fields,
  { layers }: ModelConfig,
  isSigmoid: boolean,
): Pick<ModelConfig, 'experts'> {
  const method = fields.text('topk_method', isSigmoid ? 'noaux_tc' : 'greedy')
  if (method !== 'greedy' && method !== 'group_limited_greedy' && method !== 'noaux_tc')
    throw unbuiltVariant(
      fields.file,
      `the topk_method "${method}"`,
      'greedy, group_limited_greedy or noaux_tc',
    )
  const size = fields.number('moe_intermediate_size')
  const first = fields.number('first_k_dense_replace')
  const groups = fields.number('n_group', 1)
  const scale = fields.number('routed_scaling_factor')
  const experts: ExpertsConfig = {
    count: fields.number('n_routed_experts'),
    used: fields.number('num_experts_per_tok'),
    size,
    normalize: isSigmoid && fields.fact('norm_topk_prob', true),
    ...(scale !== 1 && { scale }),
    ...(isSigmoid && { scoring: 'sigmoid', isBiased: true, epsilon: 1e-20 }),
    ...(groups > 1 &&
      method !== 'greedy' && {
        groups: { count: groups, used: fields.number('topk_group'), best: isSigmoid ? 2 : 1 },
      }),
    ...sharedBlock(size * fields.number('n_shared_experts')),
    ...denseLayers({ layers }, (layer) => layer < first),
  }
  return { experts }
}

/** Only models that choose experts by sigmoid scores have a bias. */
export function ggufDeepseekExperts(
  fields: Fields,
  common: ModelConfig,
  kinds: ReadonlySet<string>,
): Pick<ModelConfig, 'experts'> {
  const isBiased = kinds.has('exp_probs_b.bias')
  return ggufExperts(fields, common, isBiased ? { isBiased, epsilon: 1e-20 } : {})
}

const V2 = {
  kv_lora_rank: 512,
  q_lora_rank: 1536,
  qk_nope_head_dim: 128,
  qk_rope_head_dim: 64,
  v_head_dim: 128,
}

export const deepseek2 = family(
  { ...PLAIN, latent: true, mayHaveExperts: true },
  {
    gguf: {
      architecture: 'deepseek2',
      pairing: 'interleaved',
      config: (fields, common, kinds) => ({
        ...ggufLatent(fields, common),
        ...ggufDeepseekExperts(fields, common, kinds),
      }),
    },
    hf: {
      classes: {
        DeepseekV2ForCausalLM: defaults(102_400, 4096, 11_008, 32, 32, 2048, {
          ...V2,
          first_k_dense_replace: 0,
          n_routed_experts: 64,
          n_shared_experts: 2,
          routed_scaling_factor: 1,
          moe_intermediate_size: 1407,
        }),
        DeepseekV3ForCausalLM: defaults(129_280, 7168, 18_432, 61, 128, 4096, {
          ...V2,
          first_k_dense_replace: 3,
          n_routed_experts: 256,
          n_shared_experts: 1,
          routed_scaling_factor: 2.5,
          moe_intermediate_size: 2048,
          num_experts_per_tok: 8,
          n_group: 8,
          topk_group: 4,
        }),
        YoutuForCausalLM: defaults(128_256, 2048, 6144, 32, 16, 131_072, {
          ...V2,
          tie_word_embeddings: true,
        }),
      },
      biases: {},
      config: (fields, common, listed) => ({
        ...hfLatent(fields, common),
        ...(listed !== 'YoutuForCausalLM' &&
          hfDeepseekExperts(fields, common, listed === 'DeepseekV3ForCausalLM')),
      }),
    },
  },
)

/** The hidden states are divided by this number before the logits. */
const logitScale = (base: number, { hiddenSize }: ModelConfig) => base / hiddenSize

export const minicpm3 = family(
  { ...PLAIN, latent: true },
  {
    gguf: {
      architecture: 'minicpm3',
      pairing: 'halves',
      // In llama.cpp, these three are constants of the architecture.
      config: (fields, common) => ({
        ...ggufLatent(fields, common),
        embeddingScale: 12,
        residualScale: 1.4 / Math.sqrt(common.layers),
        logitScale: logitScale(256, common),
      }),
    },
    hf: {
      classes: {
        MiniCPM3ForCausalLM: defaults(73_448, 2560, 6400, 62, 40, 32_768, {
          rms_norm_eps: 1e-5,
          tie_word_embeddings: true,
          kv_lora_rank: 256,
          q_lora_rank: 768,
          qk_nope_head_dim: 64,
          qk_rope_head_dim: 32,
          scale_emb: 12,
          scale_depth: 1.4,
          dim_model_base: 256,
          rope_interleave: false,
        }),
      },
      biases: {},
      config: (fields, common) => ({
        ...hfLatent(fields, common, common.hiddenSize / common.heads),
        embeddingScale: fields.number('scale_emb'),
        residualScale: fields.number('scale_depth', Math.sqrt(common.layers)) / Math.sqrt(common.layers),
        logitScale: logitScale(fields.number('dim_model_base', common.hiddenSize), common),
      }),
    },
  },
)
