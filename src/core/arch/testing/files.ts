// Test files. In: hyperparameters. Out: what openModel returns for a file of each format with these
// hyperparameters.
import { bufferSource } from '../../base/bytes.ts'
import { HalfbyteError } from '../../base/errors.ts'
import type { ModelFile } from '../../formats/readers.ts'
import type { MetaValue, TensorIndex, TensorInfo } from '../../formats/tensors.ts'
import type { ModelConfig } from '../config/config.ts'
import { storedConfig } from '../config/config-hbm.ts'

/** A small model in which all numbers differ. */
export const SMALL: ModelConfig = {
  family: 'llama',
  name: 'small',
  hiddenSize: 48,
  layers: 2,
  heads: 6,
  kvHeads: 2,
  headDim: 8,
  intermediateSize: 100,
  vocabSize: 70,
  normEpsilon: 1e-5,
  rope: { theta: 20_000, dims: 8, pairing: 'halves', scaling: undefined },
  contextLength: 256,
  tiedEmbeddings: false,
}

type Sizes = Readonly<Record<string, readonly number[]>>

function index(sizes: Sizes): TensorIndex {
  const tensors = new Map<string, TensorInfo>()
  for (const [name, shape] of Object.entries(sizes)) {
    const byteLength = shape.reduce((product, size) => product * size, 4)
    const source = bufferSource('model', new Uint8Array(0))
    tensors.set(name, { name, dtype: 'F32', shape, source, offset: 0, byteLength })
  }
  return tensors
}

/** Names from the formats' own documentation, independent of our table. */
function tensors(format: 'gguf' | 'safetensors' | 'hbm', config: ModelConfig): Sizes {
  const { hiddenSize: h, heads, kvHeads, headDim, intermediateSize: i, vocabSize } = config
  const sizes: Record<string, readonly number[]> = {}
  const put = (gguf: string, hf: string, own: string, shape: readonly number[]) => {
    sizes[{ gguf, safetensors: hf, hbm: own }[format]] = shape
  }
  put('token_embd.weight', 'model.embed_tokens.weight', 'embed.weight', [vocabSize, h])
  put('output_norm.weight', 'model.norm.weight', 'norm.weight', [h])
  if (!config.tiedEmbeddings) put('output.weight', 'lm_head.weight', 'output.weight', [vocabSize, h])
  for (let layer = 0; layer < config.layers; layer++) {
    const each = (gguf: string, hf: string, own: string, shape: readonly number[]) =>
      put(`blk.${layer}.${gguf}`, `model.layers.${layer}.${hf}`, `layers.${layer}.${own}`, shape)
    each('attn_norm.weight', 'input_layernorm.weight', 'attn_norm.weight', [h])
    each('ffn_norm.weight', 'post_attention_layernorm.weight', 'mlp_norm.weight', [h])
    for (const [letter, n] of [
      ['q', heads * headDim],
      ['k', kvHeads * headDim],
      ['v', kvHeads * headDim],
    ] as const) {
      each(`attn_${letter}.weight`, `self_attn.${letter}_proj.weight`, `attn_${letter}.weight`, [n, h])
      if (config.family !== 'qwen2') continue
      each(`attn_${letter}.bias`, `self_attn.${letter}_proj.bias`, `attn_${letter}.bias`, [n])
    }
    each('attn_output.weight', 'self_attn.o_proj.weight', 'attn_output.weight', [h, heads * headDim])
    each('ffn_gate.weight', 'mlp.gate_proj.weight', 'mlp_gate.weight', [i, h])
    each('ffn_up.weight', 'mlp.up_proj.weight', 'mlp_up.weight', [i, h])
    each('ffn_down.weight', 'mlp.down_proj.weight', 'mlp_down.weight', [h, i])
  }
  return sizes
}

type Changes = Readonly<Record<string, MetaValue | undefined>>

/** Keys whose new value is undefined are omitted. */
function changed(values: Readonly<Record<string, MetaValue>>, changes: Changes): Record<string, MetaValue> {
  const entries = Object.entries({ ...values, ...changes })
  return Object.fromEntries(entries.filter((entry): entry is [string, MetaValue] => entry[1] !== undefined))
}

export function ggufFile(config: ModelConfig, changes: Changes = {}): ModelFile {
  const keys: Record<string, MetaValue> = {
    embedding_length: config.hiddenSize,
    block_count: config.layers,
    feed_forward_length: config.intermediateSize,
    context_length: config.contextLength,
    'attention.head_count': config.heads,
    'attention.head_count_kv': config.kvHeads,
    'attention.layer_norm_rms_epsilon': config.normEpsilon,
    'rope.freq_base': config.rope.theta,
    'rope.dimension_count': config.rope.dims,
  }
  const named = Object.entries(keys).map(([key, value]) => [`${config.family}.${key}`, value] as const)
  const tokens = Array.from({ length: config.vocabSize }, (_, id) => `t${id}`)
  const metadata = changed(
    {
      'general.architecture': config.family,
      'tokenizer.ggml.tokens': tokens,
      ...Object.fromEntries(named),
    },
    changes,
  )
  return {
    format: 'gguf',
    name: config.name,
    tensors: index(tensors('gguf', config)),
    metadata: new Map(Object.entries(metadata)),
  }
}

export function hfFile(config: ModelConfig, changes: Changes = {}): ModelFile {
  const json = changed(
    {
      architectures: [config.family === 'llama' ? 'LlamaForCausalLM' : 'Qwen2ForCausalLM'],
      hidden_size: config.hiddenSize,
      num_hidden_layers: config.layers,
      num_attention_heads: config.heads,
      num_key_value_heads: config.kvHeads,
      intermediate_size: config.intermediateSize,
      vocab_size: config.vocabSize,
      rms_norm_eps: config.normEpsilon,
      rope_theta: config.rope.theta,
      max_position_embeddings: config.contextLength,
      tie_word_embeddings: config.tiedEmbeddings,
      hidden_act: 'silu',
    },
    changes,
  )
  return {
    format: 'safetensors',
    name: config.name,
    tensors: index(tensors('safetensors', config)),
    metadata: new Map([['config', json]]),
  }
}

/** The configuration is serialised to JSON and parsed, as in a pack. */
export function hbmFile(config: ModelConfig, changes: Changes = {}): ModelFile {
  const json = changed(JSON.parse(JSON.stringify(storedConfig(config))) as Record<string, MetaValue>, changes)
  return {
    format: 'hbm',
    name: config.name,
    tensors: index(tensors('hbm', config)),
    metadata: new Map([['config', json]]),
  }
}

/** The file with tensors changed: a shape replaces a tensor, undefined removes it. */
export function withTensors(
  file: ModelFile,
  changes: Readonly<Record<string, readonly number[] | undefined>>,
): ModelFile {
  const tensors = new Map(file.tensors)
  for (const [name, shape] of Object.entries(changes)) {
    if (shape === undefined) tensors.delete(name)
    else for (const info of index({ [name]: shape }).values()) tensors.set(name, info)
  }
  return { ...file, tensors }
}

/** Code and message of the error that a call throws. */
export async function failureOf(work: () => unknown): Promise<{ code: string; message: string }> {
  try {
    await work()
  } catch (error) {
    if (error instanceof HalfbyteError) return { code: error.code, message: error.message }
    throw error
  }
  throw new Error('nothing was thrown')
}
