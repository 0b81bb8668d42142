// Names. In: an opened model and its hyperparameters. Out: its tensors by canonical name, each with the shape the graph expects.
import { HalfbyteError } from '../base/errors.ts'
import { shown } from '../formats/malformed.ts'
import type { ModelFile, ModelFormat } from '../formats/model-file.ts'
import type { TensorInfo } from '../formats/tensors.ts'
import type { ModelConfig } from './config.ts'
import { unbuiltVariant } from './refuse.ts'

/** One kind of tensor under its three names; N is the layer. */
interface TensorRow {
  /** Canonical: in graphs, plans and .hbm packs. */
  readonly name: string
  readonly gguf: string
  readonly safetensors: string
  /** Outermost first. */
  readonly shape: (config: ModelConfig) => readonly number[]
  /** Default: every model has it. */
  readonly isIn?: (config: ModelConfig) => boolean
}

const hidden = ({ hiddenSize }: ModelConfig) => [hiddenSize]
const table = ({ vocabSize, hiddenSize }: ModelConfig) => [vocabSize, hiddenSize]
const query = ({ heads, headDim, hiddenSize }: ModelConfig) => [heads * headDim, hiddenSize]
const keyValue = ({ kvHeads, headDim, hiddenSize }: ModelConfig) => [kvHeads * headDim, hiddenSize]
const widen = ({ intermediateSize, hiddenSize }: ModelConfig) => [intermediateSize, hiddenSize]
const first = (shape: TensorRow['shape']) => (config: ModelConfig) => shape(config).slice(0, 1)
const isQwen2 = ({ family }: ModelConfig) => family === 'qwen2'

function row(
  name: string,
  gguf: string,
  safetensors: string,
  shape: TensorRow['shape'],
  isIn?: TensorRow['isIn'],
): TensorRow {
  return { name, gguf, safetensors, shape, isIn }
}

const HF = 'model.layers.N.self_attn'
const MLP = 'model.layers.N.mlp'

/** Every tensor of every family. */
const TENSORS: readonly TensorRow[] = [
  row('embed.weight', 'token_embd.weight', 'model.embed_tokens.weight', table),
  row('norm.weight', 'output_norm.weight', 'model.norm.weight', hidden),
  row('output.weight', 'output.weight', 'lm_head.weight', table, ({ tiedEmbeddings }) => !tiedEmbeddings),
  row('layers.N.attn_norm.weight', 'blk.N.attn_norm.weight', 'model.layers.N.input_layernorm.weight', hidden),
  row('layers.N.attn_q.weight', 'blk.N.attn_q.weight', `${HF}.q_proj.weight`, query),
  row('layers.N.attn_k.weight', 'blk.N.attn_k.weight', `${HF}.k_proj.weight`, keyValue),
  row('layers.N.attn_v.weight', 'blk.N.attn_v.weight', `${HF}.v_proj.weight`, keyValue),
  row('layers.N.attn_q.bias', 'blk.N.attn_q.bias', `${HF}.q_proj.bias`, first(query), isQwen2),
  row('layers.N.attn_k.bias', 'blk.N.attn_k.bias', `${HF}.k_proj.bias`, first(keyValue), isQwen2),
  row('layers.N.attn_v.bias', 'blk.N.attn_v.bias', `${HF}.v_proj.bias`, first(keyValue), isQwen2),
  row('layers.N.attn_output.weight', 'blk.N.attn_output.weight', `${HF}.o_proj.weight`, (config) =>
    query(config).reverse(),
  ),
  row(
    'layers.N.mlp_norm.weight',
    'blk.N.ffn_norm.weight',
    'model.layers.N.post_attention_layernorm.weight',
    hidden,
  ),
  row('layers.N.mlp_gate.weight', 'blk.N.ffn_gate.weight', `${MLP}.gate_proj.weight`, widen),
  row('layers.N.mlp_up.weight', 'blk.N.ffn_up.weight', `${MLP}.up_proj.weight`, widen),
  row('layers.N.mlp_down.weight', 'blk.N.ffn_down.weight', `${MLP}.down_proj.weight`, (config) =>
    widen(config).reverse(),
  ),
]

/** Divisors of RoPE's frequencies in GGUF files of Llama 3. */
export const ROPE_FACTORS = 'rope_freqs.weight'

/** Tensors that files carry and no graph reads: values that are computed, and the second copy of a tied table. */
const UNUSED = [ROPE_FACTORS, /rotary_emb\.inv_freq$/, 'lm_head.weight', 'output.weight'] as const

/** A model's tensors by canonical name, in the order of the layers. */
export type Weights = ReadonlyMap<string, TensorInfo>

/**
 * Finds every tensor the graph of `config` reads. Throws `architecture` for one that is missing or has another shape,
 * `unsupported` for a file with tensors the graph would ignore.
 */
export function resolveWeights(
  model: Pick<ModelFile, 'name' | 'format' | 'tensors'>,
  config: ModelConfig,
): Weights {
  const weights = new Map<string, TensorInfo>()
  const used = new Set<string>()
  for (const { name, fileName, shape } of expectedTensors(model.format, config)) {
    const tensor = requireTensor(model, fileName)
    checkShape(model.name, tensor, shape)
    weights.set(name, tensor)
    used.add(fileName)
  }
  const isUnused = (name: string) =>
    UNUSED.some((unused) => (typeof unused === 'string' ? unused === name : unused.test(name)))
  const strangers = [...model.tensors.keys()].filter((name) => !used.has(name) && !isUnused(name))
  if (strangers.length === 0) return weights
  throw unbuiltVariant(
    model.name,
    `${strangers.length} tensors, ${shown(strangers[0] as string)} the first, that ${config.family} does not use`,
    `the ${used.size} tensors of the plain architecture`,
  )
}

/** The embedding table, whose rows are the vocabulary. Throws `architecture` when there is none. */
export function embeddingTable(model: Pick<ModelFile, 'name' | 'format' | 'tensors'>): TensorInfo {
  return requireTensor(model, fileNameOf(TENSORS[0] as TensorRow, model.format))
}

/** What a weight is to `chooseEncoding`: only the tables of tokens and logits are more than a matrix. */
export function roleOf(name: string): 'matrix' | 'table' | 'vector' {
  if (name === 'embed.weight' || name === 'output.weight') return 'table'
  return /norm\.weight$|\.bias$/.test(name) ? 'vector' : 'matrix'
}

function* expectedTensors(format: ModelFormat, config: ModelConfig) {
  const present = TENSORS.filter(({ isIn }) => isIn === undefined || isIn(config))
  for (const each of present.filter(({ name }) => !name.includes('.N.'))) yield expected(each)
  for (let layer = 0; layer < config.layers; layer++) {
    for (const each of present.filter(({ name }) => name.includes('.N.'))) yield expected(each, layer)
  }

  function expected(each: TensorRow, layer?: number) {
    const fill = (name: string) => name.replace('.N.', `.${layer}.`)
    return { name: fill(each.name), fileName: fill(fileNameOf(each, format)), shape: each.shape(config) }
  }
}

const fileNameOf = (each: TensorRow, format: ModelFormat): string =>
  format === 'hbm' ? each.name : each[format]

function requireTensor(model: Pick<ModelFile, 'name' | 'format' | 'tensors'>, fileName: string): TensorInfo {
  const tensor = model.tensors.get(fileName)
  if (tensor !== undefined) return tensor
  throw new HalfbyteError(
    'architecture',
    `${model.name}: the ${model.format} file has ${model.tensors.size} tensors but not ${fileName}, which the model ` +
      'needs; it is incomplete or of another architecture',
    { tensor: fileName, format: model.format },
  )
}

function checkShape(file: string, tensor: TensorInfo, shape: readonly number[]): void {
  // Some writers keep a vector as a matrix of one row.
  const found = shape.length === 1 ? tensor.shape.filter((size) => size !== 1) : tensor.shape
  if (found.length === shape.length && found.every((size, index) => size === shape[index])) return
  throw new HalfbyteError(
    'architecture',
    `${file}: ${shown(tensor.name)} has the shape [${tensor.shape}] but the configuration makes it [${shape}]; ` +
      'the tensors and the configuration are of different models',
    { tensor: tensor.name, shape: tensor.shape.map(String), expected: shape.map(String) },
  )
}
