// Granite 3, dense or with experts: Llama with factors on embeddings, scores, block outputs and logits.
// Granite with windows: sinks, and one RoPE base per kind of layer. HyperCLOVA X: norms around both blocks.
// Granite 4 hybrids: Mamba-2 in most layers, attention in some, and an MLP in each, possibly in addition to
// experts.
import type { Graph } from '../../graph/nodes.ts'
import { attention } from '../blocks/attention.ts'
import { isRecurrent, PLAIN } from '../blocks/parts.ts'
import type { ExpertsConfig, ModelConfig, RopeConfig } from '../config/config.ts'
import { ggufExperts, sharedBlock } from '../config/experts-config.ts'
import { type Fields, layersOf, layersWithHeads, unbuiltVariant, windowOf } from '../config/fields.ts'
import { attentionIn, ggufSsm, hfSsm } from '../config/recurrent-config.ts'
import {
  type Decoder,
  defaults,
  type FamilyFile,
  family,
  modules,
  type Names,
  NO_GGUF,
  type StoredWeight,
} from '../family.ts'
import { mamba2Layer } from './mamba.ts'
import { mergedGateUp } from './phi3.ts'

const ggufFactors = (fields: Fields, { headDim }: ModelConfig): Partial<ModelConfig> => ({
  embeddingScale: fields.number('embedding_scale', 1),
  residualScale: fields.number('residual_scale', 1),
  attentionScale: fields.number('attention.scale', 1 / Math.sqrt(headDim)),
  logitScale: 1 / fields.number('logit_scale'),
})

const hfFactors = (fields: Fields): Partial<ModelConfig> => ({
  embeddingScale: fields.number('embedding_multiplier', 1),
  residualScale: fields.number('residual_multiplier', 1),
  attentionScale: fields.number('attention_multiplier', 1),
  logitScale: 1 / fields.number('logits_scaling', 1),
})

export const granite = family(PLAIN, {
  gguf: { architecture: 'granite', pairing: 'interleaved', config: ggufFactors },
  hf: {
    classes: { GraniteForCausalLM: defaults(32_000, 4096, 11_008, 32, 32, 2048) },
    config: hfFactors,
  },
})

/** The experts of a config.json, and how many its class has by default. */
const hfExperts = (fields: Fields, count = fields.number('num_local_experts', 8)): ExpertsConfig => ({
  count,
  used: fields.number('num_experts_per_tok', 2),
  normalize: true,
})

const MOE = 'model.layers.N.block_sparse_moe'

/** Each expert's gate and up follow each other in one tensor for all experts. */
const expertRows =
  (tensor: string, part: 0 | 1) =>
  ({ experts, intermediateSize, hiddenSize }: ModelConfig, expert: number): StoredWeight => {
    const n = experts?.size ?? intermediateSize
    const shape = [experts?.count ?? 0, 2 * n, hiddenSize]
    return { tensor, shape, runs: [[(2 * expert + part) * n, n]] }
  }

const EXPERTS: Names = {
  'layers.N.router.weight': `${MOE}.router.layer.weight`,
  'layers.N.experts.E.mlp_gate.weight': expertRows(`${MOE}.input_linear.weight`, 0),
  'layers.N.experts.E.mlp_up.weight': expertRows(`${MOE}.input_linear.weight`, 1),
  'layers.N.experts.E.mlp_down.weight': ({ experts, intermediateSize, hiddenSize }, expert) => ({
    tensor: `${MOE}.output_linear.weight`,
    shape: [experts?.count ?? 0, hiddenSize, experts?.size ?? intermediateSize],
    runs: [[expert * hiddenSize, hiddenSize]],
  }),
}

const SHARED = 'model.layers.N.shared_mlp'

/** The shared block, which processes every token in addition to its experts. */
const sharedRows =
  (part: 0 | 1) =>
  ({ experts, hiddenSize }: ModelConfig): StoredWeight => {
    const n = experts?.shared?.size ?? 0
    return { tensor: `${SHARED}.input_linear.weight`, shape: [2 * n, hiddenSize], runs: [[part * n, n]] }
  }

const BESIDE: Names = {
  'layers.N.shared.mlp_gate.weight': sharedRows(0),
  'layers.N.shared.mlp_up.weight': sharedRows(1),
  'layers.N.shared.mlp_down.weight': `${SHARED}.output_linear.weight`,
}

export const granitemoe = family(
  { ...PLAIN, mlp: 'experts' },
  {
    gguf: {
      architecture: 'granitemoe',
      pairing: 'interleaved',
      config: (fields, common) => ({
        ...ggufFactors(fields, common),
        ...ggufExperts(fields, common, { normalize: true }),
      }),
    },
    hf: {
      classes: {
        GraniteMoeForCausalLM: defaults(32_000, 4096, 11_008, 32, 32, 2048),
        GraniteMoeSharedForCausalLM: defaults(32_000, 4096, 11_008, 32, 32, 2048),
      },
      config: (fields) => ({
        ...hfFactors(fields),
        experts: {
          ...hfExperts(fields),
          ...sharedBlock(fields.number('shared_intermediate_size', 0)),
        },
      }),
      names: { ...EXPERTS, ...BESIDE },
    },
  },
)

const AT = 'model.layers.N'

export const hyperclovax = family(
  { ...PLAIN, norms: 'around' },
  {
    gguf: NO_GGUF,
    hf: {
      classes: { HyperCLOVAXForCausalLM: defaults(32_000, 4096, 11_008, 32, 32, 2048) },
      names: modules({
        'layers.N.attn_post_norm': `${AT}.post_norm1`,
        'layers.N.mlp_norm': `${AT}.post_attention_layernorm`,
        'layers.N.mlp_post_norm': `${AT}.post_norm2`,
      }),
      config(fields, { headDim }) {
        if (!fields.fact('use_post_norm', true))
          throw unbuiltVariant(fields.file, 'use_post_norm false', 'use_post_norm true')
        return {
          embeddingScale: fields.number('embedding_multiplier', 1),
          residualScale: fields.number('residual_multiplier', 1),
          attentionScale: fields.number('attention_multiplier', headDim ** -0.5),
          logitScale: fields.number('logits_scaling', 1),
        }
      },
    },
  },
)

/** The RoPE base that these layers share; 0 means no rotation. */
function oneBase(fields: Fields, bases: readonly number[], fallback: number): number {
  const [base = fallback, another] = new Set(bases.filter((each) => each !== 0))
  if (another === undefined) return base
  throw unbuiltVariant(
    fields.file,
    `RoPE bases ${base} and ${another} in layers of one kind`,
    'one base per kind of layer',
  )
}

/** Every fourth layer lacks a window, and each layer has its own RoPE base. */
function windowed(fields: Fields, common: ModelConfig): Partial<ModelConfig> {
  const kinds = fields.list('layer_types')
  const all = layersOf(common)
  const isLocal = all.map((layer) =>
    kinds.length > 0 ? kinds[layer] === 'sliding_attention' : layer % 4 !== 0,
  )
  const sliding = windowOf(common, fields.number('sliding_window', 0), isLocal)
  const bases = fields.numberList('layer_rope_theta')
  const baseOf = (layers: readonly number[]) =>
    oneBase(
      fields,
      layers.map((layer) => bases[layer] ?? common.rope.theta),
      common.rope.theta,
    )
  const locals = sliding?.layers ?? []
  const unrotated = all.filter((layer) => bases[layer] === 0)
  return {
    window: sliding,
    rope: { ...common.rope, theta: baseOf(all.filter((layer) => !locals.includes(layer))) },
    localRope: sliding && { ...common.rope, theta: baseOf(locals) },
    unrotatedLayers: unrotated.length > 0 ? unrotated : undefined,
  }
}

export const graniteSwa = family(
  { ...PLAIN, sinks: true },
  {
    gguf: NO_GGUF,
    hf: {
      classes: {
        GraniteSWAForCausalLM: defaults(100_352, 2560, 8192, 24, 20, 8192, {
          num_key_value_heads: 4,
          rms_norm_eps: 1e-5,
          sliding_window: 128,
          tie_word_embeddings: true,
        }),
      },
      config: (fields, common) => ({ ...hfFactors(fields), ...windowed(fields, common) }),
    },
  },
)

const HYBRID = { ...PLAIN, mayHaveExperts: true }

/**
 * `GraniteMoeHybridForCausalLM`. The model multiplies each block's output by `residual`
 * before adding it. This graph instead keeps the residual stream divided by `residual`; the embedding's scale
 * and the norms' epsilon compensate for that.
 */
function build(config: ModelConfig, decoder: Decoder): Graph {
  const { embedding = 1, residual = 1 } = config.multipliers ?? {}
  const divided = {
    ...config,
    embeddingScale: embedding / residual,
    normEpsilon: config.normEpsilon / residual ** 2,
  }
  return decoder(divided, HYBRID, (parts, layer, input) => {
    if (!isRecurrent(config, layer)) return attention(parts, layer, input)
    // The norm after the gate is inside the layer, where the values are not divided.
    return mamba2Layer({ ...parts, config }, layer, input)
  })
}

/** The model divides its logits by a number. Here the final norm does that. */
const scaledNorm =
  (tensor: string) =>
  ({ multipliers }: ModelConfig): StoredWeight => ({
    tensor,
    change: multipliers && { scale: multipliers.logits },
  })

/** Without rotation, only the recurrent layers encode positions. */
const withoutRotation = (rope: RopeConfig): RopeConfig => ({ ...rope, dims: 0, scaling: undefined })

/** The keys that `hfSsm` reads, with Granite's names for them. */
const SSM_KEYS = {
  use_bias: 'mamba_proj_bias',
  use_conv_bias: 'mamba_conv_bias',
  expand: 'mamba_expand',
  state_size: 'mamba_d_state',
  conv_kernel: 'mamba_d_conv',
  num_heads: 'mamba_n_heads',
  n_groups: 'mamba_n_groups',
}

export const granitehybrid: FamilyFile = {
  traits: HYBRID,
  recurrence: 'mamba2',
  build,
  gguf: {
    architecture: 'granitehybrid',
    pairing: 'interleaved',
    config: (fields, common) => {
      const { rope, headDim } = common
      return {
        ...ggufExperts(fields, common, { normalize: true }),
        attentionLayers: layersWithHeads(fields),
        ssm: ggufSsm(fields, 'mamba2'),
        rope: fields.fact('rope.scaling.finetuned', true) ? rope : withoutRotation(rope),
        multipliers: {
          embedding: fields.number('embedding_scale', 1),
          residual: fields.number('residual_scale', 1),
          attention: fields.number('attention.scale', 1 / Math.sqrt(headDim)),
          logits: 1 / fields.number('logit_scale', 1),
        },
      }
    },
    names: { 'norm.weight': scaledNorm('output_norm.weight') },
  },
  hf: {
    classes: {
      GraniteMoeHybridForCausalLM: defaults(32_000, 4096, 11_008, 32, 32, 2048, {
        num_local_experts: 8,
        shared_intermediate_size: 1024,
      }),
    },
    biases: { qkv: 'attention_bias', output: 'attention_bias' },
    config(fields, { rope, activation }) {
      // The convolutions use the same activation.
      if (activation !== undefined) throw unbuiltVariant(fields.file, 'an activation other than SiLU', 'SiLU')
      const count = fields.number('num_local_experts', 0)
      const size = fields.number('shared_intermediate_size')
      const experts = {
        ...hfExperts(fields, count),
        size: fields.number('intermediate_size'),
        ...sharedBlock(size),
      }
      const types = fields.list(fields.has('layer_types') ? 'layer_types' : 'layers_block_type')
      return {
        intermediateSize: size,
        ...(count > 0 && { experts }),
        attentionLayers: attentionIn(types),
        ssm: hfSsm(fields.renamed(SSM_KEYS), 'mamba2', { stateSize: 256, groups: 1 }),
        rope: fields.text('position_embedding_type', 'nope') === 'rope' ? rope : withoutRotation(rope),
        multipliers: {
          embedding: fields.number('embedding_multiplier', 1),
          residual: fields.number('residual_multiplier', 1),
          attention: fields.number('attention_multiplier', 1),
          logits: 1 / fields.number('logits_scaling', 1),
        },
      }
    },
    names: {
      'norm.weight': scaledNorm('model.norm.weight'),
      ...mergedGateUp(`${SHARED}.input_linear.weight`),
      'layers.N.mlp_down.weight': `${SHARED}.output_linear.weight`,
      ...EXPERTS,
      ...BESIDE,
    },
  },
}
