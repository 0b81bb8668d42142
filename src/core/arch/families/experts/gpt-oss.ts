// gpt-oss: attention sinks, biases, and experts with a clamped gate, in MXFP4 or floats.
import { PLAIN } from '../../blocks/parts.ts'
import type { ModelConfig } from '../../config/config.ts'
import { ggufExperts } from '../../config/experts-config.ts'
import { Fields, unbuiltVariant } from '../../config/fields.ts'
import { hfRope } from '../../config/hf-rope.ts'
import { defaults, family, type StoredWeight } from '../../family.ts'

/** The gates' limit and the activation's slope. */
const LIMIT = 7
const SLOPE = 1.702

/** The rotation of models whose files do not state it. */
const YARN = {
  rope_type: 'yarn',
  factor: 32,
  beta_fast: 32,
  beta_slow: 1,
  truncate: false,
  original_max_position_embeddings: 4096,
}

const EXPERTS = 'model.layers.N.mlp.experts'

const sizesOf = ({ experts, intermediateSize, hiddenSize }: ModelConfig) =>
  [experts?.count ?? 0, intermediateSize, hiddenSize] as const

/** In each expert, gate and up rows alternate. Floats are stored as [inputs, outputs]. */
const gateOrUp =
  (first: 0 | 1) =>
  (config: ModelConfig, expert: number): StoredWeight => {
    const [count, size, hidden] = sizesOf(config)
    return {
      tensor: `${EXPERTS}.gate_up_proj`,
      shape: [count, 2 * size, hidden],
      runs: [[expert * 2 * size, 2 * size]],
      turn: { first, of: 2 },
      form: 'transposed',
      matrix: expert,
    }
  }
const gateOrUpBias =
  (first: 0 | 1) =>
  (config: ModelConfig, expert: number): StoredWeight => {
    const [count, size] = sizesOf(config)
    const runs = [[expert * 2 * size, 2 * size]] as const
    const plusOne = first === 1 ? { change: { scale: 1, offset: 1 } } : {}
    return {
      tensor: `${EXPERTS}.gate_up_proj_bias`,
      shape: [count, 2 * size],
      runs,
      turn: { first, of: 2 },
      ...plusOne,
    }
  }

export const gptOss = family(
  {
    ...PLAIN,
    mlp: 'experts',
    qkvBias: true,
    bias: true,
    normBias: false,
    expertBias: true,
    sinks: true,
    activation: 'gelu_quick',
  },
  {
    gguf: {
      architecture: 'gpt-oss',
      pairing: 'halves',
      windowPeriod: 2,
      config(fields, common) {
        const size = fields.number('expert_feed_forward_length')
        const { experts } = ggufExperts(fields, { ...common, intermediateSize: size }, { normalize: true })
        const scaling = common.rope.scaling
        return {
          intermediateSize: size,
          experts: experts && { ...experts, normalize: true, limit: LIMIT },
          rope:
            scaling?.type === 'yarn'
              ? { ...common.rope, scaling: { ...scaling, isUnrounded: true } }
              : common.rope,
        }
      },
      names: {
        'layers.N.mlp_norm.weight': 'blk.N.post_attention_norm.weight|blk.N.ffn_norm.weight',
        'layers.N.experts.E.mlp_up.bias': ({ experts, intermediateSize: n }, expert) => ({
          tensor: 'blk.N.ffn_up_exps.bias',
          shape: [experts?.count ?? 0, n],
          runs: [[expert * n, n]],
          change: { scale: 1, offset: 1 },
        }),
      },
    },
    hf: {
      classes: {
        GptOssForCausalLM: defaults(201_088, 2880, 2880, 36, 64, 131_072, {
          num_key_value_heads: 8,
          head_dim: 64,
          rms_norm_eps: 1e-5,
          rope_theta: 150_000,
          sliding_window: 128,
          sliding_window_pattern: 2,
          num_local_experts: 128,
          num_experts_per_tok: 4,
        }),
      },
      keys: { num_local_experts: 'num_experts', num_experts_per_tok: 'experts_per_token' },
      config(fields, common) {
        const slope = fields.number('swiglu_alpha', SLOPE)
        if (slope !== SLOPE)
          throw unbuiltVariant(fields.file, `swiglu_alpha ${slope}`, `swiglu_alpha ${SLOPE}`)
        return {
          activation: 'gelu_quick',
          ...(!fields.has('rope_parameters') &&
            !fields.has('rope_scaling') && { rope: hfRope(fields, Fields.of(fields.file, YARN), common) }),
          experts: {
            count: fields.number('num_local_experts'),
            used: fields.number('num_experts_per_tok'),
            normalize: true,
            limit: fields.number('swiglu_limit', LIMIT),
          },
        }
      },
      names: {
        'layers.N.router.weight': 'model.layers.N.mlp.router.weight',
        'layers.N.router.bias': 'model.layers.N.mlp.router.bias',
        'layers.N.experts.E.mlp_gate.weight': gateOrUp(0),
        'layers.N.experts.E.mlp_up.weight': gateOrUp(1),
        'layers.N.experts.E.mlp_gate.bias': gateOrUpBias(0),
        'layers.N.experts.E.mlp_up.bias': gateOrUpBias(1),
        'layers.N.experts.E.mlp_down.weight': (config, expert) => {
          const [count, size, hidden] = sizesOf(config)
          return {
            tensor: `${EXPERTS}.down_proj`,
            shape: [count, hidden, size],
            runs: [[expert * hidden, hidden]],
            form: 'transposed',
            matrix: expert,
          }
        },
        'layers.N.experts.E.mlp_down.bias': (config, expert) => {
          const [count, , hidden] = sizesOf(config)
          return {
            tensor: `${EXPERTS}.down_proj_bias`,
            shape: [count, hidden],
            runs: [[expert * hidden, hidden]],
          }
        },
      },
    },
  },
)
