// The tensor table's rows for latent attention. Files store the rotated part of each head's query last, both
// parts of the short row together, and the keys and values of each head together.
import type { ModelConfig } from '../config/config.ts'
import { type IsIn, row, type Shape, type StoredWeight, type TensorRow } from '../family.ts'

type Latent = ModelConfig & { readonly latent: NonNullable<ModelConfig['latent']> }

const hasLatent: IsIn = ({ latent }) => latent !== undefined
const hasQueryRow: IsIn = ({ latent }) => latent?.queryRank !== undefined

const GGUF = 'blk.N'
const HF = 'model.layers.N.self_attn'

/** A row of the table, for configurations with latent attention. */
const latentRow = (
  name: string,
  gguf: string,
  safetensors: string,
  shape: (config: Latent) => readonly number[],
  isIn: IsIn = hasLatent,
  place?: (config: Latent, format: 'gguf' | 'safetensors') => Partial<StoredWeight>,
): TensorRow =>
  row(`layers.N.${name}.weight`, gguf, safetensors, shape as Shape, isIn, place as TensorRow['place'])

/** In each head of `each` rows: `count` rows from each of the given starts. */
const ofHeads = (
  heads: number,
  each: number,
  ...parts: readonly (readonly [first: number, count: number])[]
): StoredWeight['runs'] =>
  Array.from({ length: heads }, (_, head) =>
    parts.map(([first, count]) => [head * each + first, count] as const),
  ).flat()

/** Rows of the matrix that holds the keys and values of all heads. */
const ofKeysAndValues = ({ heads, latent }: Latent, part: 'keys' | 'values') => {
  const { rank, plainDim, valueDim } = latent
  const each = plainDim + valueDim
  const own = part === 'keys' ? ([0, plainDim] as const) : ([plainDim, valueDim] as const)
  return { shape: [heads * each, rank], runs: ofHeads(heads, each, own) }
}

/** Rows [first, first + count) of the matrix that holds the short row and the part that heads share. */
const ofShort = ({ hiddenSize, latent, rope }: Latent, first: number, count: number) => ({
  shape: [latent.rank + rope.dims, hiddenSize],
  runs: [[first, count]] as const,
})

export const latentTensors: readonly TensorRow[] = [
  latentRow(
    'attn_q_a',
    `${GGUF}.attn_q_a.weight`,
    `${HF}.q_a_proj.weight`,
    ({ hiddenSize, latent }) => [latent.queryRank ?? 0, hiddenSize],
    hasQueryRow,
  ),
  latentRow(
    'attn_q_a_norm',
    `${GGUF}.attn_q_a_norm.weight`,
    `${HF}.q_a_layernorm.weight`,
    ({ latent }) => [latent.queryRank ?? 0],
    hasQueryRow,
  ),
  latentRow(
    'attn_q_b',
    `${GGUF}.attn_q_b.weight|${GGUF}.attn_q.weight`,
    `${HF}.q_b_proj.weight|${HF}.q_proj.weight`,
    ({ heads, hiddenSize, latent, rope }) => [
      heads * (latent.plainDim + rope.dims),
      latent.queryRank ?? hiddenSize,
    ],
    hasLatent,
    ({ heads, latent: { plainDim }, rope: { dims } }) => ({
      runs: ofHeads(heads, plainDim + dims, [plainDim, dims], [0, plainDim]),
    }),
  ),
  latentRow(
    'attn_kv_a',
    `${GGUF}.attn_kv_a_mqa.weight`,
    `${HF}.kv_a_proj_with_mqa.weight`,
    ({ hiddenSize, latent }) => [latent.rank, hiddenSize],
    hasLatent,
    (config) => ofShort(config, 0, config.latent.rank),
  ),
  latentRow(
    'attn_k_rope',
    `${GGUF}.attn_kv_a_mqa.weight`,
    `${HF}.kv_a_proj_with_mqa.weight`,
    ({ hiddenSize, rope }) => [rope.dims, hiddenSize],
    hasLatent,
    (config) => ofShort(config, config.latent.rank, config.rope.dims),
  ),
  latentRow(
    'attn_kv_a_norm',
    `${GGUF}.attn_kv_a_norm.weight`,
    `${HF}.kv_a_layernorm.weight`,
    ({ latent }) => [latent.rank],
  ),
  latentRow(
    'attn_k_b',
    `${GGUF}.attn_kv_b.weight`,
    `${HF}.kv_b_proj.weight`,
    ({ heads, latent }) => [heads * latent.plainDim, latent.rank],
    hasLatent,
    (config, format) => {
      const { heads, latent } = config
      // Since 2025, llama.cpp's converter has stored them separately, with the keys transposed.
      const shape = [heads, latent.plainDim, latent.rank]
      const apart = { tensor: `${GGUF}.attn_k_b.weight`, shape, form: 'turned' } as const
      return { ...ofKeysAndValues(config, 'keys'), ...(format === 'gguf' && { orElse: apart }) }
    },
  ),
  latentRow(
    'attn_v_b',
    `${GGUF}.attn_kv_b.weight`,
    `${HF}.kv_b_proj.weight`,
    ({ heads, latent }) => [heads * latent.valueDim, latent.rank],
    hasLatent,
    (config, format) => {
      const { heads, latent } = config
      const shape = [heads, latent.valueDim, latent.rank]
      const apart = { tensor: `${GGUF}.attn_v_b.weight`, shape }
      return { ...ofKeysAndValues(config, 'values'), ...(format === 'gguf' && { orElse: apart }) }
    },
  ),
]
