// Maps the tensors of an opened model to canonical names and to the shapes that the graph expects.

import { filledSource } from '../../base/bytes.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { elementCount } from '../../formats/dtypes.ts'
import { shown } from '../../formats/malformed.ts'
import type { ModelFile } from '../../formats/readers.ts'
import type { TensorInfo } from '../../formats/tensors.ts'
import type { Family, ModelConfig, RowFactors } from '../config/config.ts'
import { unbuiltVariant } from '../config/fields.ts'
import { familyFile } from '../families.ts'
import { EMBEDDING, type StoredWeight } from '../family.ts'
import { formOf, joinedRows, pieceOf } from './pieces.ts'
import { changedRows } from './row-table.ts'
import { expectedTensors } from './tensor-names.ts'

/**
 * The weight of shape `shape` in `tensor`, which must have the shape that `place` implies. Throws
 * `architecture` if it does not.
 */
export function weightAt(
  file: string,
  tensor: TensorInfo,
  place: StoredWeight,
  shape: readonly number[],
): TensorInfo {
  const stored = place.isFlat === true ? flat(tensor) : tensor
  const due = place.form === 'shares' ? shape.slice(0, 1) : (place.shape ?? shape)
  const form = formOf(stored, place)
  const isTurned = form === 'transposed' || form === 'turned'
  checkShape(file, stored, isTurned ? [...due.slice(0, -2), ...due.slice(-2).toReversed()] : due)
  // Runs of rows are taken from the matrix before its rows are reordered.
  const whole =
    place.runs === undefined && place.turn === undefined ? stored : { ...stored, sorted: undefined }
  const piece = pieceOf(whole, { ...place, form }, shape)
  return place.factors?.some(([, factor]) => factor !== 1) ? scaledRows(piece, place.factors) : piece
}

/** A float matrix whose rows are multiplied by `factors`. Rows past the last factor stay unchanged. */
function scaledRows(tensor: TensorInfo, factors: RowFactors): TensorInfo {
  const [rows = 0, width = 0] = tensor.shape
  const scaled = changedRows(tensor, 0, rows, (values, first) => {
    let start = 0
    for (const [count, factor] of factors) {
      const from = Math.max(start - first, 0) * width
      const to = Math.max(start + count - first, 0) * width
      for (let i = from; i < Math.min(to, values.length); i++) values[i]! *= factor
      start += count
    }
    return Promise.resolve()
  })
  return { ...scaled, like: tensor.dtype }
}

/** A weight that no file stores. */
function constantTensor(
  name: string,
  shape: readonly number[],
  value: number | ((index: number) => number),
): TensorInfo {
  const valueAt = typeof value === 'number' ? () => value : value
  const byteLength = 4 * (elementCount(shape) ?? 0)
  const source = filledSource(name, byteLength, async (target, offset) => {
    const values = Float32Array.from({ length: target.length / 4 }, (_, at) => valueAt(offset / 4 + at))
    target.set(new Uint8Array(values.buffer))
  })
  return { name, dtype: 'F32', shape, source, offset: 0, byteLength }
}

/** Divisors of RoPE frequencies in GGUF files of Llama 3. */
export const ROPE_FACTORS = 'rope_freqs.weight'
/** The divisors of LongRoPE. */
export const LONG_FACTORS = 'rope_factors_long.weight'
export const SHORT_FACTORS = 'rope_factors_short.weight'

/** Tensors that no graph reads: values that can be computed, and second copies of tied tables. */
const UNUSED = [
  ROPE_FACTORS,
  LONG_FACTORS,
  SHORT_FACTORS,
  'lm_head.weight',
  'output.weight',
  /rotary_emb\.inv_freq$/,
  /\.(attn|attention)\.(masked_)?bias$/,
  // Layers that only draft the tokens after the next one.
  /^mtp\./,
  /\.act_fn\.(alpha_[np]|beta|eps)$/,
] as const

/** A model's tensors by canonical name, in the order of the layers. */
export type Weights = ReadonlyMap<string, TensorInfo>

/**
 * Finds every tensor that the graph of `config` reads. Throws `architecture` if a tensor is missing or has
 * a different shape, `unsupported` if the file has tensors that the graph would ignore.
 */
export function resolveWeights(
  model: Pick<ModelFile, 'name' | 'format' | 'tensors'>,
  config: ModelConfig,
): Weights {
  const weights = new Map<string, TensorInfo>()
  const used = new Set<string>()
  for (const { name, shape, place } of expectedTensors(model.format, config)) {
    if (place.constant !== undefined) {
      weights.set(name, constantTensor(name, shape, place.constant))
      continue
    }
    const own = place.orElse === undefined || hasTensor(model, place.tensor) ? place : place.orElse
    const tensors = (own.joined ?? [own.tensor]).map((each) => requireTensor(model, each))
    weights.set(name, weightAt(model.name, joinedRows(model.name, tensors), own, shape))
    for (const tensor of tensors) used.add(tensor.name)
  }
  const { isUnused: isUnusedIn } = familyFile(config.family)
  const isUnused = (name: string) =>
    isUnusedIn?.(name, config) === true ||
    UNUSED.some((unused) => (typeof unused === 'string' ? unused === name : unused.test(name)))
  refuseStrangers(model, used, isUnused, config.family)
  return weights
}

/**
 * Throws `unsupported` for tensors that a graph would ignore. `isUnused`: whether a tensor may be ignored.
 * `user`: what reads the other tensors, as errors name it.
 */
export function refuseStrangers(
  { name: file, tensors }: Pick<ModelFile, 'name' | 'tensors'>,
  used: ReadonlySet<string>,
  isUnused: (name: string) => boolean,
  user: string,
): void {
  const strangers = [...tensors.keys()].filter((name) => !used.has(name) && !isUnused(name))
  if (strangers.length === 0) return
  throw unbuiltVariant(
    file,
    `${strangers.length} tensors that ${user} does not use, such as ${shown(strangers[0]!)}`,
    `the ${used.size} tensors of the plain architecture`,
  )
}

const flat = (tensor: TensorInfo): TensorInfo => ({ ...tensor, shape: [elementCount(tensor.shape) ?? 0] })

/** The embedding table, with one row per token of the vocabulary. Throws `architecture` if there is none. */
export function embeddingTable(
  model: Pick<ModelFile, 'name' | 'format' | 'tensors'>,
  family: Family,
): TensorInfo {
  if (model.format !== 'safetensors') {
    return requireTensor(model, model.format === 'gguf' ? 'token_embd.weight' : 'embed.weight')
  }
  const name = familyFile(family).hf.names?.['embed.weight']
  return requireTensor(model, typeof name === 'string' ? name : EMBEDDING)
}

/**
 * The role of a weight in `chooseEncoding`. Tables (tokens, positions, logits) need more precision than
 * matrices. So do the small matrices that compute step sizes, because their errors add up in exponents.
 * Weights that only recurrent kernels read are f32 vectors, and so are routers. Per-layer embeddings have a
 * separate role because they make up most of such a model.
 */
export function roleOf(name: string): 'matrix' | 'table' | 'rows' | 'vector' {
  if (name === 'layer_embed.weight') return 'rows'
  if (/^(embed|positions|kinds|output)\.weight$|ssm_(select_\w+|dt)\.weight$/.test(name)) return 'table'
  return /(norm|router|shared_gate|attn_sinks|stream_\w+)\.weight$|\.bias$|ssm_(decay|skip|first|enter|stay)$|conv\.weight$/.test(
    name,
  )
    ? 'vector'
    : 'matrix'
}

const hasTensor = ({ tensors }: Pick<ModelFile, 'tensors'>, names: string): boolean =>
  names.split('|').some((name) => tensors.has(name))

export function requireTensor(
  model: Pick<ModelFile, 'name' | 'format' | 'tensors'>,
  fileName: string,
): TensorInfo {
  // GPT-2's original files omit the prefix `transformer.`.
  const names = fileName.split('|').flatMap((name) => [name, name.replace(/^transformer\./, '')])
  const found = names.find((name) => model.tensors.has(name))
  const tensor = found === undefined ? undefined : model.tensors.get(found)
  if (tensor !== undefined) return tensor
  throw new HalfbyteError(
    'architecture',
    `${model.name}: the ${model.format} file has ${model.tensors.size} tensors but not ${fileName.replaceAll('|', ' or ')}, which the model ` +
      'needs; it is incomplete or has a different architecture',
    { tensor: fileName, format: model.format },
  )
}

/** Throws `architecture` for a tensor of a different shape. */
export function checkShape(file: string, tensor: TensorInfo, shape: readonly number[]): void {
  // Some writers store a vector as a matrix of one row. Torch keeps the single input channel of a
  // convolution.
  const found =
    shape.length === tensor.shape.length ? tensor.shape : tensor.shape.filter((size) => size !== 1)
  if (found.length === shape.length && found.every((size, index) => size === shape[index])) return
  throw new HalfbyteError(
    'architecture',
    `${file}: ${shown(tensor.name)} has the shape [${tensor.shape}] but the configuration makes it [${shape}]; ` +
      'the tensors and the configuration belong to different models',
    { tensor: tensor.name, shape: tensor.shape.map(String), expected: shape.map(String) },
  )
}

/**
 * The stored tensor of a weight that the plan names. Throws `architecture` if the plan of this configuration
 * reads a weight that the family lacks.
 */
export function weightOf(weights: Weights, name: string): TensorInfo {
  const tensor = weights.get(name)
  if (tensor !== undefined) return tensor
  throw new HalfbyteError(
    'architecture',
    `the model's configuration asks for the tensor ${name}, which its family does not have; convert or download it again`,
    { tensor: name },
  )
}
