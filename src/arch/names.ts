// Names. In: an opened model and its hyperparameters. Out: its tensors by canonical name, each with the shape the graph expects.
import { HalfbyteError } from '../base/errors.ts'
import { elementCount, rowBytes } from '../formats/dtypes.ts'
import { shown } from '../formats/malformed.ts'
import type { ModelFile, ModelFormat } from '../formats/model-file.ts'
import type { TensorInfo } from '../formats/tensors.ts'
import type { ModelConfig } from './config.ts'
import { recurrentTensors } from './recurrent-names.ts'
import { unbuiltVariant } from './refuse.ts'
import { first, hidden, type RowExtra, row, type TensorRow } from './tensor-row.ts'

const table = ({ vocabSize, hiddenSize }: ModelConfig) => [vocabSize, hiddenSize]
const query = ({ heads, headDim, hiddenSize }: ModelConfig) => [heads * headDim, hiddenSize]
const keyValue = ({ kvHeads, headDim, hiddenSize }: ModelConfig) => [kvHeads * headDim, hiddenSize]
const widen = ({ intermediateSize, hiddenSize }: ModelConfig) => [intermediateSize, hiddenSize]
const isQwen2 = ({ family }: ModelConfig) => family === 'qwen2'
const attends = ({ heads, attentionLayers }: ModelConfig, layer: number) =>
  heads > 0 && (attentionLayers?.includes(layer) ?? true)
const hasMlp = ({ intermediateSize }: ModelConfig) => intermediateSize > 0
const isHybrid = ({ family }: ModelConfig) => family === 'granitehybrid'

const HF = 'model.layers.N.self_attn'
const MLP = 'model.layers.N.mlp'
const SHARED = 'model.layers.N.shared_mlp'

/** Granite's gate and up are one tensor in safetensors. */
const half = (index: number): RowExtra => ({
  rowsOf: ({ intermediateSize: n }, format) => (format === 'safetensors' ? [index * n, 2 * n] : undefined),
})
/** Granite divides its logits by a number: the norm in front of them does it. */
const logitScale: RowExtra = {
  change: (format, { multipliers }) =>
    format === 'hbm' || multipliers === undefined ? undefined : { scale: multipliers.logits },
}

/** Every tensor of every family. */
const TENSORS: readonly TensorRow[] = [
  row(
    'embed.weight',
    'token_embd.weight',
    'model.embed_tokens.weight|backbone.embeddings.weight|backbone.embedding.weight',
    table,
  ),
  row(
    'norm.weight',
    'output_norm.weight',
    'model.norm.weight|backbone.norm_f.weight',
    hidden,
    undefined,
    logitScale,
  ),
  row('output.weight', 'output.weight', 'lm_head.weight', table, ({ tiedEmbeddings }) => !tiedEmbeddings),
  row(
    'layers.N.attn_norm.weight',
    'blk.N.attn_norm.weight',
    'model.layers.N.input_layernorm.weight',
    hidden,
    attends,
  ),
  row('layers.N.attn_q.weight', 'blk.N.attn_q.weight', `${HF}.q_proj.weight`, query, attends),
  row('layers.N.attn_k.weight', 'blk.N.attn_k.weight', `${HF}.k_proj.weight`, keyValue, attends),
  row('layers.N.attn_v.weight', 'blk.N.attn_v.weight', `${HF}.v_proj.weight`, keyValue, attends),
  row('layers.N.attn_q.bias', 'blk.N.attn_q.bias', `${HF}.q_proj.bias`, first(query), isQwen2),
  row('layers.N.attn_k.bias', 'blk.N.attn_k.bias', `${HF}.k_proj.bias`, first(keyValue), isQwen2),
  row('layers.N.attn_v.bias', 'blk.N.attn_v.bias', `${HF}.v_proj.bias`, first(keyValue), isQwen2),
  row(
    'layers.N.attn_output.weight',
    'blk.N.attn_output.weight',
    `${HF}.o_proj.weight`,
    (config) => query(config).reverse(),
    attends,
  ),
  ...recurrentTensors,
  row(
    'layers.N.mlp_norm.weight',
    'blk.N.ffn_norm.weight',
    'model.layers.N.post_attention_layernorm.weight',
    hidden,
    hasMlp,
  ),
  ...(['gate', 'up'] as const).flatMap((part, index) => {
    const [name, gguf] = [`layers.N.mlp_${part}.weight`, `blk.N.ffn_${part}.weight`]
    return [
      row(name, gguf, `${MLP}.${part}_proj.weight`, widen, (config) => hasMlp(config) && !isHybrid(config)),
      row(name, gguf, `${SHARED}.input_linear.weight`, widen, isHybrid, half(index)),
    ]
  }),
  row(
    'layers.N.mlp_down.weight',
    'blk.N.ffn_down.weight',
    `${MLP}.down_proj.weight|${SHARED}.output_linear.weight`,
    (config) => widen(config).reverse(),
    hasMlp,
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
  for (const { name, fileName, row, shape } of expectedTensors(model.format, config)) {
    const tensor = requireTensor(model, fileName)
    weights.set(name, storedPart(model, tensor, shape, row, config))
    used.add(tensor.name)
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

/**
 * What a weight is to `chooseEncoding`: the tables of tokens and logits are more than a matrix, and so are the small ones from
 * which step sizes come, whose errors add up in exponents; what only recurrent kernels read is f32.
 */
export function roleOf(name: string): 'matrix' | 'table' | 'vector' {
  if (name === 'embed.weight' || name === 'output.weight' || /ssm_(select_\w+|dt)\.weight$/.test(name))
    return 'table'
  return /norm\.weight$|\.bias$|ssm_(decay|skip|conv\.weight)$/.test(name) ? 'vector' : 'matrix'
}

function* expectedTensors(format: ModelFormat, config: ModelConfig) {
  for (const each of TENSORS) {
    if (!each.name.includes('.N.') && each.isIn?.(config, -1) !== false) yield expected(each, -1)
  }
  for (let layer = 0; layer < config.layers; layer++) {
    for (const each of TENSORS) {
      if (each.name.includes('.N.') && each.isIn?.(config, layer) !== false) yield expected(each, layer)
    }
  }

  function expected(row: TensorRow, layer: number) {
    const fill = (name: string) => name.replaceAll('.N.', `.${layer}.`)
    return { name: fill(row.name), fileName: fill(fileNameOf(row, format)), row, shape: row.shape(config) }
  }
}

const fileNameOf = (each: TensorRow, format: ModelFormat): string =>
  format === 'hbm' ? each.name : each[format]

function requireTensor(model: Pick<ModelFile, 'name' | 'format' | 'tensors'>, fileName: string): TensorInfo {
  const names = fileName.split('|')
  const found = names.find((name) => model.tensors.has(name))
  const tensor = found === undefined ? undefined : model.tensors.get(found)
  if (tensor !== undefined) return tensor
  throw new HalfbyteError(
    'architecture',
    `${model.name}: the ${model.format} file has ${model.tensors.size} tensors but not ${names.join(' or ')}, which the model ` +
      'needs; it is incomplete or of another architecture',
    { tensor: fileName, format: model.format },
  )
}

/** The rows of a stored tensor that are meant, with the change that their values need. */
function storedPart(
  model: Pick<ModelFile, 'name' | 'format'>,
  tensor: TensorInfo,
  shape: readonly number[],
  row: TensorRow,
  config: ModelConfig,
): TensorInfo {
  const span = model.format === 'hbm' ? undefined : row.rowsOf?.(config, model.format)
  const change = row.change?.(model.format, config)
  if (span === undefined) {
    const stored = row.isFlat === true ? { ...tensor, shape: [elementCount(tensor.shape) ?? 0] } : tensor
    checkShape(model.name, stored, shape)
    return change === undefined && shape.length === 1 ? stored : { ...stored, shape, change }
  }
  const [start, all] = span
  const [n = 0, k = 1] = shape
  checkShape(model.name, tensor, [all, k])
  const bytes = rowBytes(tensor.dtype, k)
  return { ...tensor, shape, change, offset: tensor.offset + start * bytes, byteLength: n * bytes }
}

function checkShape(file: string, tensor: TensorInfo, shape: readonly number[]): void {
  // Some writers keep a vector as a matrix of one row, and torch the one input channel of a convolution.
  const found =
    shape.length === tensor.shape.length ? tensor.shape : tensor.shape.filter((size) => size !== 1)
  if (found.length === shape.length && found.every((size, index) => size === shape[index])) return
  throw new HalfbyteError(
    'architecture',
    `${file}: ${shown(tensor.name)} has the shape [${tensor.shape}] but the configuration makes it [${shape}]; ` +
      'the tensors and the configuration are of different models',
    { tensor: tensor.name, shape: tensor.shape.map(String), expected: shape.map(String) },
  )
}
