// Recurrent weights. In: hyperparameters, a kind of file. Out: every tensor of a model with recurrent layers, and its place.
import type { ModelFormat } from '../formats/model-file.ts'
import type { ModelConfig } from './config.ts'
import { recurrentTensors } from './recurrent-names.ts'
import type { ExpectedTensor } from './tensor-names.ts'
import { EMBEDDING, hidden, type RowExtra, row, type TensorRow } from './tensor-row.ts'

const table = ({ vocabSize, hiddenSize }: ModelConfig) => [vocabSize, hiddenSize]
const query = ({ heads, headDim, hiddenSize }: ModelConfig) => [heads * headDim, hiddenSize]
const keyValue = ({ kvHeads, headDim, hiddenSize }: ModelConfig) => [kvHeads * headDim, hiddenSize]
const widen = ({ intermediateSize, hiddenSize }: ModelConfig) => [intermediateSize, hiddenSize]
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

/** Every tensor of Mamba, Mamba-2 and hybrids. */
const TENSORS: readonly TensorRow[] = [
  row('embed.weight', 'token_embd.weight', EMBEDDING, table),
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

/** In the order of the layers. */
export function* recurrentWeights(format: ModelFormat, config: ModelConfig): Generator<ExpectedTensor> {
  for (let layer = -1; layer < config.layers; layer++) {
    for (const each of TENSORS) {
      if (each.name.includes('.N.') === layer < 0 || each.isIn?.(config, layer) === false) continue
      const shape = each.shape(config)
      const span = format === 'hbm' ? undefined : each.rowsOf?.(config, format)
      const [start, all] = span ?? []
      const [n = 0, k = 1] = shape
      const fill = (name: string) => name.replaceAll('.N.', `.${layer}.`)
      yield {
        name: fill(each.name),
        shape,
        place: {
          tensor: fill(format === 'hbm' ? each.name : each[format]),
          change: each.change?.(format, config),
          isFlat: each.isFlat,
          ...(start !== undefined && all !== undefined && { shape: [all, k], runs: [[start, n]] as const }),
        },
      }
    }
  }
}
