// Hugging Face configuration. In: config.json. Out: the hyperparameters it states, not yet validated.
import type { Family, ModelConfig, RopeScaling } from './config.ts'
import { isMambaSsm, mambaSsmConfig } from './config-mamba-ssm.ts'
import type { Fields } from './fields.ts'
import {
  hfAttentionLayers,
  hfGraniteSsm,
  hfMultipliers,
  hfSsm,
  isPurelyRecurrent,
  NO_ATTENTION,
  RECURRENT_CONTEXT,
} from './recurrent-config.ts'
import { unbuiltVariant, unknownArchitecture } from './refuse.ts'

const CLASSES: Readonly<Record<string, Family>> = {
  LlamaForCausalLM: 'llama',
  MistralForCausalLM: 'llama',
  Qwen2ForCausalLM: 'qwen2',
  MambaForCausalLM: 'mamba',
  Mamba2ForCausalLM: 'mamba2',
  GraniteMoeHybridForCausalLM: 'granitehybrid',
}

/** Throws `architecture` for another family and keys of the wrong type, `unsupported` for variants that are not built. */
export function hfConfig(name: string, fields: Fields): ModelConfig {
  if (isMambaSsm(fields)) return mambaSsmConfig(name, fields)
  const [listed = fields.text('model_type')] = fields.list('architectures')
  const family = Object.hasOwn(CLASSES, String(listed)) ? CLASSES[String(listed)] : undefined
  if (family === undefined) throw unknownArchitecture(fields.file, String(listed))
  if (isPurelyRecurrent(family)) return recurrentConfig(name, fields, family)
  const contextLength = fields.number('max_position_embeddings')
  refuseVariants(fields, family, contextLength)
  const hiddenSize = fields.number('hidden_size')
  const heads = fields.number('num_attention_heads')
  const headDim = fields.number('head_dim', hiddenSize / heads)
  const isHybrid = family === 'granitehybrid'
  const isTurned = !isHybrid || fields.text('position_embedding_type', 'nope') === 'rope'
  // Since version 5 of transformers one object holds all of RoPE.
  const rope = fields.record('rope_parameters')
  return {
    family,
    name,
    hiddenSize,
    layers: fields.number('num_hidden_layers'),
    heads,
    kvHeads: fields.number('num_key_value_heads', heads),
    headDim,
    intermediateSize: fields.number(isHybrid ? 'shared_intermediate_size' : 'intermediate_size'),
    ...(isHybrid && {
      ssm: hfGraniteSsm(fields),
      attentionLayers: hfAttentionLayers(fields),
      multipliers: hfMultipliers(fields, headDim),
    }),
    vocabSize: fields.number('vocab_size'),
    normEpsilon: fields.number('rms_norm_eps', 1e-6),
    rope: {
      theta: (rope ?? fields).number('rope_theta', 10_000),
      dims: isTurned ? headDim * (rope ?? fields).number('partial_rotary_factor', 1) : 0,
      pairing: 'halves',
      scaling: isTurned ? ropeScaling(rope ?? fields.record('rope_scaling'), contextLength) : undefined,
    },
    contextLength,
    tiedEmbeddings: fields.fact('tie_word_embeddings', false),
  }
}

/** Mamba and Mamba-2: there are no positions. */
function recurrentConfig(name: string, fields: Fields, family: Family): ModelConfig {
  refuseVariants(fields, family, RECURRENT_CONTEXT)
  return {
    family,
    name,
    hiddenSize: fields.number('hidden_size'),
    layers: fields.number('num_hidden_layers'),
    ...NO_ATTENTION,
    ssm: hfSsm(fields, family),
    vocabSize: fields.number('vocab_size'),
    normEpsilon: fields.number('layer_norm_epsilon', 1e-5),
    contextLength: RECURRENT_CONTEXT,
    tiedEmbeddings: fields.fact('tie_word_embeddings', family === 'mamba'),
  }
}

function refuseVariants(fields: Fields, family: Family, contextLength: number): void {
  const refuse = (found: string, supported: string) => unbuiltVariant(fields.file, found, supported)
  const activation = fields.text('hidden_act', 'silu')
  if (activation !== 'silu') throw refuse(`the activation "${activation}"`, 'silu')
  if (fields.has('quantization_config')) {
    throw refuse('weights that another tool quantised', 'weights in F32, F16 or BF16')
  }
  const experts = fields.number('num_local_experts', 0)
  if (experts > 0) throw refuse(`${experts} experts`, 'one dense MLP per layer')
  for (const bias of family === 'llama' || family === 'granitehybrid'
    ? ['attention_bias', 'mlp_bias']
    : ['mlp_bias']) {
    if (fields.fact(bias, false)) throw refuse(`the biases of ${bias}`, 'none')
  }
  const window = fields.number('sliding_window', 0)
  // Only Qwen2 states a window that it does not use.
  const usesWindow = family === 'llama' || fields.fact('use_sliding_window', false)
  if (usesWindow && window > 0 && window < contextLength) {
    throw refuse(`a sliding window of ${window}`, 'full attention')
  }
}

function ropeScaling(fields: Fields | undefined, contextLength: number): RopeScaling | undefined {
  const type = fields?.text('rope_type', fields.text('type', 'default')) ?? 'default'
  if (fields === undefined || type === 'default') return undefined
  if (type === 'linear') return { type, factor: fields.number('factor') }
  if (type !== 'llama3') {
    throw unbuiltVariant(fields.file, `RoPE scaling "${type}"`, 'linear or llama3 scaling, or none')
  }
  return {
    type,
    factor: fields.number('factor'),
    lowFrequencyFactor: fields.number('low_freq_factor'),
    highFrequencyFactor: fields.number('high_freq_factor'),
    originalContextLength: fields.number('original_max_position_embeddings', contextLength),
  }
}
