// Tensor names. In: hyperparameters, a kind of file. Out: every tensor of the model: our name, the file's, the shape.
import type { ModelFormat } from '../formats/model-file.ts'
import type { ModelConfig } from './config.ts'
import { isRecurrent, PLAIN } from './decoder.ts'
import { familyFile } from './families.ts'
import type { Place } from './family.ts'
import { recurrentTensors } from './recurrent-names.ts'
import { EMBEDDING, first, hidden, type IsIn, row, type Shape, type TensorRow } from './tensor-row.ts'

/** One tensor of one model. */
export interface ExpectedTensor {
  readonly name: string
  readonly shape: readonly number[]
  readonly place: Place
}

const table: Shape = ({ vocabSize, hiddenSize }) => [vocabSize, hiddenSize]
const square: Shape = ({ hiddenSize }) => [hiddenSize, hiddenSize]
const query: Shape = ({ heads, headDim, hiddenSize }) => [heads * headDim, hiddenSize]
const keyValue: Shape = ({ kvHeads, headDim, hiddenSize }) => [kvHeads * headDim, hiddenSize]
const widen: Shape = ({ intermediateSize, hiddenSize }) => [intermediateSize, hiddenSize]
const turned =
  (shape: Shape): Shape =>
  (config, traits) =>
    shape(config, traits).toReversed()
const headNorm =
  (shape: Shape): Shape =>
  (config, traits) =>
    traits.headNorms === 'head' ? [config.headDim] : shape(config, traits).slice(0, 1)

const attends: IsIn = ({ heads, attentionLayers }, _, layer) =>
  heads > 0 && (attentionLayers?.includes(layer) ?? true)
const convolves: IsIn = (config, traits, layer) =>
  config.convTaps !== undefined && !attends(config, traits, layer)
const hasHeadNorms: IsIn = (config, traits, layer) =>
  traits.headNorms !== undefined && attends(config, traits, layer)
const hasQkvBias: IsIn = (_, { qkvBias }) => qkvBias
const hasBias: IsIn = (_, { bias }) => bias
const hasMlp = ({ intermediateSize }: ModelConfig) => intermediateSize > 0
const normsBefore: IsIn = (config, { norms }, layer) => norms !== 'after' && !isRecurrent(config, layer)
const normsMlp: IsIn = (config, { norms }) => norms !== 'after' && hasMlp(config)
const normsAfter: IsIn = (_, { norms }) => norms !== 'before'
const hasBiasBefore: IsIn = (_, { bias, norms }) => bias && norms !== 'after'
const isGated: IsIn = (config, { mlp }) => mlp === 'gated' && hasMlp(config)
const isDense: IsIn = (config, { mlp }) => mlp !== 'experts' && hasMlp(config)
const hasExperts: IsIn = (_, { mlp }) => mlp === 'experts'
const isUntied: IsIn = ({ tiedEmbeddings }) => !tiedEmbeddings
const hasPositions: IsIn = (_, { positions }) => positions === 'learned'

/** A row of each layer. */
const each = (name: string, gguf: string, safetensors: string, shape: Shape, isIn?: IsIn): TensorRow =>
  row(`layers.N.${name}`, `blk.N.${gguf}`, `model.layers.N.${safetensors}`, shape, isIn)

/** Every tensor of every family. */
const TENSORS: readonly TensorRow[] = [
  row('embed.weight', 'token_embd.weight', EMBEDDING, table),
  row(
    'positions.weight',
    'position_embd.weight',
    'model.embed_positions.weight',
    ({ contextLength, hiddenSize }) => [contextLength, hiddenSize],
    hasPositions,
  ),
  row('norm.weight', 'output_norm.weight', 'model.norm.weight|backbone.norm_f.weight', hidden),
  row('norm.bias', 'output_norm.bias', 'model.norm.bias', hidden, hasBias),
  row('output.weight', 'output.weight', 'lm_head.weight', table, isUntied),
  each('attn_norm.weight', 'attn_norm.weight', 'input_layernorm.weight', hidden, normsBefore),
  each('attn_norm.bias', 'attn_norm.bias', 'input_layernorm.bias', hidden, hasBiasBefore),
  each('attn_q.weight', 'attn_q.weight', 'self_attn.q_proj.weight', query, attends),
  each('attn_k.weight', 'attn_k.weight', 'self_attn.k_proj.weight', keyValue, attends),
  each('attn_v.weight', 'attn_v.weight', 'self_attn.v_proj.weight', keyValue, attends),
  each('attn_q.bias', 'attn_q.bias', 'self_attn.q_proj.bias', first(query), hasQkvBias),
  each('attn_k.bias', 'attn_k.bias', 'self_attn.k_proj.bias', first(keyValue), hasQkvBias),
  each('attn_v.bias', 'attn_v.bias', 'self_attn.v_proj.bias', first(keyValue), hasQkvBias),
  each('attn_q_norm.weight', 'attn_q_norm.weight', 'self_attn.q_norm.weight', headNorm(query), hasHeadNorms),
  each(
    'attn_k_norm.weight',
    'attn_k_norm.weight',
    'self_attn.k_norm.weight',
    headNorm(keyValue),
    hasHeadNorms,
  ),
  each('attn_output.weight', 'attn_output.weight', 'self_attn.o_proj.weight', turned(query), attends),
  each('attn_output.bias', 'attn_output.bias', 'self_attn.o_proj.bias', hidden, hasBias),
  each(
    'attn_post_norm.weight',
    'post_attention_norm.weight',
    'post_attention_layernorm.weight',
    hidden,
    normsAfter,
  ),
  each('conv_b.weight', '', '', square, convolves),
  each('conv_c.weight', '', '', square, convolves),
  each('conv_x.weight', '', '', square, convolves),
  each('conv.weight', '', '', ({ hiddenSize, convTaps = 0 }) => [hiddenSize, convTaps], convolves),
  each('conv_output.weight', '', '', square, convolves),
  ...recurrentTensors,
  each('mlp_norm.weight', 'ffn_norm.weight', 'post_attention_layernorm.weight', hidden, normsMlp),
  each('mlp_norm.bias', 'ffn_norm.bias', 'post_attention_layernorm.bias', hidden, hasBiasBefore),
  each('mlp_gate.weight', 'ffn_gate.weight', 'mlp.gate_proj.weight', widen, isGated),
  each('mlp_up.weight', 'ffn_up.weight', 'mlp.up_proj.weight', widen, isDense),
  each('mlp_up.bias', 'ffn_up.bias', 'mlp.up_proj.bias', first(widen), hasBias),
  each('mlp_down.weight', 'ffn_down.weight', 'mlp.down_proj.weight', turned(widen), isDense),
  each('mlp_down.bias', 'ffn_down.bias', 'mlp.down_proj.bias', hidden, hasBias),
  each(
    'router.weight',
    'ffn_gate_inp.weight',
    'mlp.gate.weight',
    ({ experts, hiddenSize }) => [experts?.count ?? 0, hiddenSize],
    hasExperts,
  ),
  each(
    'experts.E.mlp_gate.weight',
    'ffn_gate_exps.weight',
    'mlp.experts.E.gate_proj.weight',
    widen,
    hasExperts,
  ),
  each('experts.E.mlp_up.weight', 'ffn_up_exps.weight', 'mlp.experts.E.up_proj.weight', widen, hasExperts),
  each(
    'experts.E.mlp_down.weight',
    'ffn_down_exps.weight',
    'mlp.experts.E.down_proj.weight',
    turned(widen),
    hasExperts,
  ),
  each(
    'mlp_post_norm.weight',
    'post_ffw_norm.weight',
    'post_feedforward_layernorm.weight',
    hidden,
    normsAfter,
  ),
]

/** Every tensor the graph of `config` reads, in the order of the layers. */
export function* expectedTensors(format: ModelFormat, config: ModelConfig): Generator<ExpectedTensor> {
  const { traits = PLAIN } = familyFile(config.family)
  for (let layer = -1; layer < config.layers; layer++) {
    for (const one of TENSORS) {
      if (one.name.includes('.N.') === layer < 0 || one.isIn?.(config, traits, layer) === false) continue
      const count = one.name.includes('.E.') ? (config.experts?.count ?? 0) : 1
      for (let expert = 0; expert < count; expert++) yield expected(one, layer, expert)
    }
  }

  function expected(one: TensorRow, layer: number, expert: number): ExpectedTensor {
    const fill = (name: string) => name.replaceAll('.N.', `.${layer}.`).replace('.E.', `.${expert}.`)
    const shape = one.shape(config, traits)
    const place = placeOf(one, format, config, expert, shape)
    return { name: fill(one.name), shape, place: { ...place, tensor: fill(place.tensor) } }
  }
}

function placeOf(
  one: TensorRow,
  format: ModelFormat,
  config: ModelConfig,
  expert: number,
  shape: readonly number[],
): Place {
  if (format === 'hbm') return { tensor: one.name }
  const { gguf, hf } = familyFile(config.family)
  const special = (format === 'gguf' ? gguf : hf).names?.[one.name]
  if (typeof special === 'function') return special(config, expert)
  if (special !== undefined) return { tensor: special }
  if (format !== 'gguf' || !one.name.includes('.E.'))
    return { tensor: one[format], ...one.place?.(config, format) }
  // GGUF stacks the experts of a layer.
  const [n = 0] = shape
  const count = config.experts?.count ?? 0
  return { tensor: one.gguf, shape: [count, ...shape], runs: [[expert * n, n]] }
}
