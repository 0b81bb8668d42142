// ERNIE 4.5 with experts, chosen by their probabilities plus a bias, and a shared block.
import { PLAIN } from '../../blocks/parts.ts'
import { denseLayers, ggufExperts, sharedBlock } from '../../config/experts-config.ts'
import { unbuiltVariant } from '../../config/fields.ts'
import { defaults, family } from '../../family.ts'

/** Lower bound of the sum by which weights are divided; a larger bound would change them. */
const LEAST_SUM = 1e-6

const BIAS = 'model.layers.N.mlp.moe_statics.e_score_correction_bias'

export const ernie45moe = family(
  { ...PLAIN, mlp: 'experts' },
  {
    gguf: {
      architecture: 'ernie4_5-moe',
      pairing: 'interleaved',
      config: (fields, common) => ggufExperts(fields, common, { normalize: true, isBiased: true }),
    },
    hf: {
      classes: {
        Ernie4_5_MoeForCausalLM: defaults(103_424, 2560, 12_288, 28, 20, 131_072, {
          num_key_value_heads: 4,
          rms_norm_eps: 1e-5,
          rope_theta: 500_000,
          tie_word_embeddings: true,
          moe_intermediate_size: 1536,
          num_experts_per_tok: 6,
          num_experts: 64,
          moe_num_shared_experts: 2,
          moe_layer_start_index: 1,
        }),
      },
      keys: { num_experts: 'moe_num_experts', num_experts_per_tok: 'moe_k' },
      config(fields, { layers, rope }) {
        if (fields.fact('use_bias', false))
          throw unbuiltVariant(fields.file, 'use_bias true', 'use_bias false')
        const least = fields.number('moe_norm_min', 0)
        if (least > LEAST_SUM)
          throw unbuiltVariant(fields.file, `moe_norm_min ${least}`, `at most ${LEAST_SUM}`)
        const size = fields.number('moe_intermediate_size')
        const interval = fields.number('moe_layer_interval', 1)
        const start = fields.number('moe_layer_start_index')
        const end = fields.number('moe_layer_end_index', -1)
        const isDense = (layer: number) =>
          (layer + 1) % interval !== 0 || layer < start || (end >= 0 && layer > end)
        return {
          rope: { ...rope, pairing: 'interleaved' },
          experts: {
            count: fields.number('num_experts'),
            used: fields.number('num_experts_per_tok'),
            size,
            normalize: true,
            isBiased: true,
            ...sharedBlock(size * fields.number('moe_num_shared_experts')),
            ...denseLayers({ layers }, isDense),
          },
        }
      },
      names: {
        'layers.N.router_choice.bias': ({ experts }) => ({ tensor: BIAS, shape: [1, experts?.count ?? 0] }),
      },
    },
  },
)
