// nomic-bert: reads the configuration and the tensors of a BERT with rotated positions and gated feed-forward
// blocks, from safetensors and GGUF.
import type { ModelFile } from '../../formats/readers.ts'
import type { TensorInfo } from '../../formats/tensors.ts'
import type { ModelConfig } from '../config/config.ts'
import { Fields, unbuiltVariant } from '../config/fields.ts'
import { checkShape, pieceOf, requireTensor, type Weights } from '../tensors/names.ts'
import { checkSizes, type Placed, refuseStrangers } from './bert.ts'

const ARCHITECTURE = 'nomic-bert'

/** By the class, or where none is named by the type, in safetensors; by the architecture in GGUF. */
export function isNomic({ format, metadata, name }: ModelFile): boolean {
  if (format === 'gguf') return metadata.get('general.architecture') === ARCHITECTURE
  const fields = new Fields(name, (key) => metadata.get(key)).record('config') ?? Fields.of(name, {})
  const [listed] = fields.textList('architectures')
  return listed === undefined
    ? fields.text('model_type', '') === 'nomic_bert'
    : listed === 'NomicBertModel' || listed === 'NomicBertForMaskedLM'
}

/** Throws as `encoderConfig` does. */
export function nomicConfig(file: ModelFile): Placed {
  const config = file.format === 'gguf' ? ggufConfig(file) : hfConfig(file)
  const types = requireTensor(
    file,
    file.format === 'gguf' ? 'token_types.weight' : 'embeddings.token_type_embeddings.weight',
  )
  const placed = { config, firstPosition: 0, types: types.shape[0] ?? 0, isReranker: false }
  checkSizes(file.name, placed)
  const { dims, theta } = config.rope
  if (dims < 2 || dims % 2 !== 0 || dims > config.headDim)
    throw unbuiltVariant(
      file.name,
      `${dims} rotated dimensions`,
      `an even number from 2 to ${config.headDim}`,
    )
  if (!(theta > 0 && Number.isFinite(theta)))
    throw unbuiltVariant(file.name, `a RoPE base of ${theta}`, '1000')
  return placed
}

/** What the graph of the family has beside `config`. */
const SHARED = { family: 'nomic-bert', tiedEmbeddings: true, activation: 'silu' } as const

function ggufConfig(file: ModelFile): ModelConfig {
  const fields = new Fields(file.name, (key) => file.metadata.get(`${ARCHITECTURE}.${key}`))
  if (fields.fact('attention.causal', false))
    throw unbuiltVariant(file.name, 'attention to earlier positions only', 'attention to both sides')
  const heads = fields.number('attention.head_count')
  const hiddenSize = fields.number('embedding_length')
  const headDim = hiddenSize / heads
  return {
    ...SHARED,
    name: file.name,
    hiddenSize,
    layers: fields.number('block_count'),
    heads,
    kvHeads: heads,
    headDim,
    intermediateSize: fields.number('feed_forward_length'),
    vocabSize: requireTensor(file, 'token_embd.weight').shape[0] ?? 0,
    normEpsilon: fields.number('attention.layer_norm_epsilon'),
    rope: { theta: fields.number('rope.freq_base', 10_000), dims: headDim, pairing: 'halves' },
    contextLength: fields.number('context_length'),
  }
}

/** Facts that change the graph, and what each must be. */
const FACTS: readonly (readonly [key: string, right: boolean])[] = [
  ['prenorm', false],
  ['parallel_block', false],
  ['use_rms_norm', false],
  ['causal', false],
  ['qkv_proj_bias', false],
  ['mlp_fc1_bias', false],
  ['mlp_fc2_bias', false],
  ['rotary_emb_interleaved', false],
]

/** Newer files of transformers have its usual keys, the maker's own those of GPT-2. */
function hfConfig(file: ModelFile): ModelConfig {
  const all = new Fields(file.name, (key) => file.metadata.get(key))
  const fields = all.record('config') ?? Fields.of(file.name, {})
  const either = (own: string, usual: string, fallback: number) =>
    fields.number(own, fields.number(usual, fallback))
  for (const [key, right] of FACTS) {
    if (fields.fact(key, right) !== right)
      throw unbuiltVariant(file.name, `${key} ${!right}`, `${key} ${right}, as nomic-embed-text-v1.5`)
  }
  const activation = fields.text('activation_function', fields.text('hidden_act', 'swiglu'))
  if (activation !== 'swiglu' && activation !== 'silu')
    throw unbuiltVariant(file.name, `the activation "${activation}"`, 'swiglu')
  const stretch = fields.number('rotary_scaling_factor', 1)
  if (stretch !== 1) throw unbuiltVariant(file.name, `rotary_scaling_factor ${stretch}`, 'none')
  const heads = either('n_head', 'num_attention_heads', 12)
  const hiddenSize = either('n_embd', 'hidden_size', 768)
  const headDim = hiddenSize / heads
  const theta = fields.number(
    'rotary_emb_base',
    fields.record('rope_parameters')?.number('rope_theta', 1000) ?? 1000,
  )
  return {
    ...SHARED,
    name: file.name,
    hiddenSize,
    layers: either('n_layer', 'num_hidden_layers', 12),
    heads,
    kvHeads: heads,
    headDim,
    intermediateSize: either('n_inner', 'intermediate_size', 3072),
    vocabSize: fields.number('vocab_size', 30_528),
    normEpsilon: either('layer_norm_epsilon', 'layer_norm_eps', 1e-12),
    rope: { theta, dims: headDim * fields.number('rotary_emb_fraction', 1), pairing: 'halves' },
    contextLength: either('n_positions', 'max_position_embeddings', 2048),
  }
}

/** Throws as `encoderWeights` does. */
export function nomicWeights(file: ModelFile, { config, types }: Placed): Weights {
  const { hiddenSize, vocabSize, intermediateSize, layers } = config
  const isGguf = file.format === 'gguf'
  const used = new Set<string>()
  const weights = new Map<string, TensorInfo>()
  const stored = (gguf: string, safetensors: string, shape: readonly number[]): TensorInfo => {
    const tensor = requireTensor(file, isGguf ? gguf : safetensors)
    checkShape(file.name, tensor, shape)
    used.add(tensor.name)
    return tensor
  }
  const put = (name: string, gguf: string, safetensors: string, shape: readonly number[]) =>
    weights.set(name, stored(gguf, safetensors, shape))
  const norm = (name: string, gguf: string, safetensors: string) => {
    for (const kind of ['weight', 'bias'])
      put(`${name}.${kind}`, `${gguf}.${kind}`, `${safetensors}.${kind}`, [hiddenSize])
  }
  put('embed.weight', 'token_embd.weight', 'embeddings.word_embeddings.weight', [vocabSize, hiddenSize])
  put('kinds.weight', 'token_types.weight', 'embeddings.token_type_embeddings.weight', [types, hiddenSize])
  norm('embed_norm', 'token_embd_norm', 'emb_ln')
  const wide = [intermediateSize, hiddenSize]
  for (let layer = 0; layer < layers; layer++) {
    const [at, gguf, own] = [`layers.${layer}`, `blk.${layer}`, `encoder.layers.${layer}`]
    const square = [hiddenSize, hiddenSize]
    const qkv = stored(`${gguf}.attn_qkv.weight`, `${own}.attn.Wqkv.weight`, [3 * hiddenSize, hiddenSize])
    for (const [index, part] of ['q', 'k', 'v'].entries()) {
      const rows = { tensor: qkv.name, runs: [[index * hiddenSize, hiddenSize]] as const }
      weights.set(`${at}.attn_${part}.weight`, pieceOf(qkv, rows, square))
    }
    put(`${at}.attn_output.weight`, `${gguf}.attn_output.weight`, `${own}.attn.out_proj.weight`, square)
    norm(`${at}.attn_post_norm`, `${gguf}.attn_output_norm`, `${own}.norm1`)
    put(`${at}.mlp_up.weight`, `${gguf}.ffn_up.weight`, `${own}.mlp.fc11.weight`, wide)
    put(`${at}.mlp_gate.weight`, `${gguf}.ffn_gate.weight`, `${own}.mlp.fc12.weight`, wide)
    put(`${at}.mlp_down.weight`, `${gguf}.ffn_down.weight`, `${own}.mlp.fc2.weight`, wide.toReversed())
    norm(`${at}.mlp_post_norm`, `${gguf}.layer_output_norm`, `${own}.norm2`)
  }
  refuseStrangers(file, used)
  return weights
}
