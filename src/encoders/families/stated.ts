// Reads an encoder's settings under the names of the file's format.
import type { ModelConfig } from '../../core/arch/config/config.ts'
import { ACTIVATIONS } from '../../core/arch/config/config-hf.ts'
import { Fields, layersOf, unbuiltVariant } from '../../core/arch/config/fields.ts'
import { requireTensor } from '../../core/arch/tensors/names.ts'
import type { ModelFile } from '../../core/formats/readers.ts'
import type { MetaValue } from '../../core/formats/tensors.ts'
import type { Activation } from '../../core/graph/ir.ts'

export const isGguf = ({ format }: ModelFile): boolean => format === 'gguf'

/** The keys of config.json, or those of an architecture in GGUF. */
export function fieldsOf(file: ModelFile, architecture: string): Fields {
  const { name, metadata } = file
  if (isGguf(file)) return new Fields(name, (key) => metadata.get(`${architecture}.${key}`))
  return new Fields(name, (key) => metadata.get(key)).record('config') ?? Fields.of(name, {})
}

/** Throws `unsupported` for a flag that changes the graph. */
export function refuseOthers(fields: Fields, facts: Readonly<Record<string, boolean>>): void {
  for (const [key, right] of Object.entries(facts)) {
    if (fields.fact(key, right) !== right)
      throw unbuiltVariant(fields.file, `${key} ${!right}`, `${key} ${right}`)
  }
}

/** Both formats use the same names for activations. Throws `unsupported` for others. */
export function activationOf(fields: Fields, key: string): Activation {
  const name = fields.text(key, 'gelu')
  const activation = ACTIVATIONS.get(name)
  if (activation !== undefined) return activation
  throw unbuiltVariant(fields.file, `the activation "${name}"`, [...ACTIVATIONS.keys()].join(' or '))
}

/** The pooling type of rerankers in GGUF. */
export const RANK = 4

/** RoPE settings for encoders with learned positions, or with score biases by distance. */
export const NO_ROPE = { theta: 10_000, dims: 0, pairing: 'halves' } as const

/** Whether a file has this class in safetensors, or this architecture in GGUF. */
export const isNamed = (file: ModelFile, architecture: string, classes: RegExp): boolean =>
  isGguf(file)
    ? file.metadata.get('general.architecture') === architecture
    : classes.test(fieldsOf(file, '').textList('architectures')[0] ?? '')

/**
 * The layers with a window: those marked in the list under `key`, or without a list, those for which `has` is
 * true.
 */
export function windowLayers(
  fields: Fields,
  layers: number,
  key: string,
  has: (layer: number) => boolean,
): number[] {
  const kinds = fields.isList(key) ? fields.list(key) : undefined
  const isMarked = (kind: MetaValue | undefined) => kind === true || kind === 'sliding_attention'
  return layersOf({ layers }).filter(kinds === undefined ? has : (layer) => isMarked(kinds[layer]))
}

/** The sizes of an encoder under GGUF's keys. Throws `unsupported` for causal attention. */
export function ggufSizes(file: ModelFile, fields: Fields) {
  if (fields.fact('attention.causal', false))
    throw unbuiltVariant(file.name, 'attention to earlier positions only', 'attention to both sides')
  const heads = fields.number('attention.head_count')
  const hiddenSize = fields.number('embedding_length')
  return {
    name: file.name,
    hiddenSize,
    layers: fields.number('block_count'),
    heads,
    kvHeads: heads,
    headDim: hiddenSize / heads,
    intermediateSize: fields.number('feed_forward_length'),
    vocabSize: requireTensor(file, 'token_embd.weight').shape[0] ?? 0,
    normEpsilon: fields.number('attention.layer_norm_epsilon'),
    contextLength: fields.number('context_length'),
    tiedEmbeddings: true,
  }
}

/** The sizes of a BERT-like model, under transformers' names. `defaults` are the family's. */
export function bertSizes(
  { name }: ModelFile,
  fields: Fields,
  defaults: { family: string; firstPosition: number; vocabSize: number; normEpsilon: number },
): ModelConfig {
  const heads = fields.number('num_attention_heads', 12)
  const hiddenSize = fields.number('hidden_size', 768)
  return {
    family: defaults.family,
    name,
    hiddenSize,
    layers: fields.number('num_hidden_layers', 12),
    heads,
    kvHeads: heads,
    headDim: hiddenSize / heads,
    intermediateSize: fields.number('intermediate_size', 3072),
    vocabSize: fields.number('vocab_size', defaults.vocabSize),
    normEpsilon: fields.number('layer_norm_eps', defaults.normEpsilon),
    rope: NO_ROPE,
    contextLength: fields.number('max_position_embeddings', 512) - defaults.firstPosition,
    tiedEmbeddings: true,
    activation: activationOf(fields, 'hidden_act'),
  }
}
