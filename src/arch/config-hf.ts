// Hugging Face configuration. In: config.json. Out: the hyperparameters it states, not yet validated.
import type { Family, ModelConfig, RopeScaling } from './config.ts'
import type { Fields } from './fields.ts'
import { unbuiltVariant, unknownArchitecture } from './refuse.ts'

const CLASSES: Readonly<Record<string, Family>> = {
  LlamaForCausalLM: 'llama',
  MistralForCausalLM: 'llama',
  Qwen2ForCausalLM: 'qwen2',
}

/** Throws `architecture` for another family and keys of the wrong type, `unsupported` for variants that are not built. */
export function hfConfig(name: string, fields: Fields): ModelConfig {
  const [listed = fields.text('model_type')] = fields.list('architectures')
  const family = Object.hasOwn(CLASSES, String(listed)) ? CLASSES[String(listed)] : undefined
  if (family === undefined) throw unknownArchitecture(fields.file, String(listed))
  const contextLength = fields.number('max_position_embeddings')
  refuseVariants(fields, family, contextLength)
  const hiddenSize = fields.number('hidden_size')
  const heads = fields.number('num_attention_heads')
  const headDim = fields.number('head_dim', hiddenSize / heads)
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
    intermediateSize: fields.number('intermediate_size'),
    vocabSize: fields.number('vocab_size'),
    normEpsilon: fields.number('rms_norm_eps', 1e-6),
    rope: {
      theta: (rope ?? fields).number('rope_theta', 10_000),
      dims: headDim * (rope ?? fields).number('partial_rotary_factor', 1),
      pairing: 'halves',
      scaling: ropeScaling(rope ?? fields.record('rope_scaling'), contextLength),
    },
    contextLength,
    tiedEmbeddings: fields.fact('tie_word_embeddings', false),
  }
}

function refuseVariants(fields: Fields, family: Family, contextLength: number): void {
  const refuse = (found: string, supported: string) => unbuiltVariant(fields.file, found, supported)
  const activation = fields.text('hidden_act', 'silu')
  if (activation !== 'silu') throw refuse(`the activation "${activation}"`, 'silu')
  if (fields.has('quantization_config')) {
    throw refuse('weights that another tool quantised', 'weights in F32, F16 or BF16')
  }
  for (const bias of family === 'llama' ? ['attention_bias', 'mlp_bias'] : ['mlp_bias']) {
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
