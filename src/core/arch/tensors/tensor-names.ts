// The table of all tensors of all families: canonical name, name in each file format, and shape.
import type { ModelFormat } from '../../formats/readers.ts'
import { ALIBI, alibiSize } from '../blocks/alibi.ts'
import {
  attends as attendsIn,
  hasBias,
  hasMlp as hasMlpIn,
  headNormsOf,
  isRecurrent,
  normsOf,
  PLAIN,
  hasExperts as routes,
} from '../blocks/parts.ts'
import type { Biases, ModelConfig } from '../config/config.ts'
import { headsOf, keyLayerOf, mlpSizeOf } from '../config/layer-sizes.ts'
import { familyFile } from '../families.ts'
import {
  EMBEDDING,
  first,
  hidden,
  type IsIn,
  row,
  type Shape,
  type StoredWeight,
  type TensorRow,
} from '../family.ts'
import { latentTensors } from './latent-names.ts'
import { recurrentTensors } from './recurrent-names.ts'

/** One tensor of one model. */
export interface ExpectedTensor {
  readonly name: string
  readonly shape: readonly number[]
  readonly place: StoredWeight
}

const table: Shape = ({ vocabSize, hiddenSize }) => [vocabSize, hiddenSize]
const square: Shape = ({ hiddenSize }) => [hiddenSize, hiddenSize]
const query: Shape = (config, _, layer) => [config.heads * headsOf(config, layer).headDim, config.hiddenSize]
const keyValue: Shape = (config, _, layer) => {
  const { kvHeads, headDim } = headsOf(config, layer)
  return [kvHeads * headDim, config.hiddenSize]
}
const widen: Shape = (config, _, layer) => [mlpSizeOf(config, layer), config.hiddenSize]
const expert: Shape = ({ experts, intermediateSize, hiddenSize }) => [
  experts?.size ?? intermediateSize,
  hiddenSize,
]
const shared: Shape = ({ experts, hiddenSize }) => [experts?.shared?.size ?? 0, hiddenSize]
const router: Shape = ({ experts, hiddenSize }) => [experts?.count ?? 0, hiddenSize]
/** Attention's output. */
const attended: Shape = (config, _, layer) => [
  config.hiddenSize,
  config.heads * (config.latent?.valueDim ?? headsOf(config, layer).headDim),
]
const turned =
  (shape: Shape): Shape =>
  (...of) =>
    shape(...of).toReversed()
const headNorm =
  (shape: Shape): Shape =>
  (config, traits, layer) => {
    const kind = headNormsOf(config, traits)
    const isOfRow = kind === 'row' || kind === 'layers'
    return isOfRow ? shape(config, traits, layer).slice(0, 1) : [headsOf(config, layer).headDim]
  }

const attends: IsIn = (config, _, layer) => attendsIn(config, layer)
/** Recurrent layers have separately named norms, unless they also have attention. */
const mixesHere: IsIn = (config, _, layer) =>
  config.mlpLayers?.includes(layer) !== true && (attendsIn(config, layer) || !isRecurrent(config, layer))
/** Attention with a separate matrix for queries. */
const hasQueries: IsIn = (config, traits, layer) => traits.latent !== true && attends(config, traits, layer)
/** Whether a layer stores keys and values. */
const ownsKeys: IsIn = (config, _, layer) => keyLayerOf(config, layer) === layer
/** Attention with separate matrices for keys and values. */
const hasKeys: IsIn = (...of) => hasQueries(...of) && ownsKeys(...of)
const convolves: IsIn = (config, traits, layer) =>
  config.convTaps !== undefined && !attends(config, traits, layer)
const hasHeadNorms: IsIn = (config, traits, layer) =>
  headNormsOf(config, traits) !== undefined && attends(config, traits, layer)
const hasKeyNorms: IsIn = (...of) => hasHeadNorms(...of) && ownsKeys(...of)
const hasHeadBias: IsIn = (config, traits, layer) =>
  headNormsOf(config, traits) === 'layer' && attends(config, traits, layer)
const biased =
  (part: keyof Biases | 'norm', isThere: IsIn = () => true): IsIn =>
  (config, traits, layer) =>
    hasBias(config, traits, part) && isThere(config, traits, layer)
const hasMlp: IsIn = (config, _, layer) => hasMlpIn(config, layer)
const normsBefore: IsIn = (config, traits, layer) =>
  normsOf(config, traits, layer) !== 'after' &&
  mixesHere(config, traits, layer) &&
  (layer > 0 || traits.firstNorm !== false)
const normsMlp: IsIn = (config, traits, layer) =>
  normsOf(config, traits, layer) !== 'after' &&
  hasMlp(config, traits, layer) &&
  !(config.parallelResidual === true && config.sharedNorm === true)
const normsAfter: IsIn = (config, traits, layer) => normsOf(config, traits, layer) !== 'before'
const hasExperts: IsIn = (config, _, layer) => routes(config, layer) && hasMlpIn(config, layer)
const isDense: IsIn = (config, traits, layer) => hasMlp(config, traits, layer) && !routes(config, layer)
const isGated: IsIn = (config, traits, layer) =>
  traits.mlp !== 'plain' && traits.mlp !== 'shifted' && isDense(config, traits, layer)
const hasUp: IsIn = (config, traits, layer) => traits.mlp !== 'shifted' && isDense(config, traits, layer)
const gates: Shape = (config, traits, layer) =>
  traits.attentionGate === 'head' ? [config.heads, config.hiddenSize] : query(config, traits, layer)
const hasGate: IsIn = (config, traits, layer) =>
  traits.attentionGate !== undefined && attends(config, traits, layer)
const hasShared: IsIn = (config, _, layer) => config.experts?.shared !== undefined && routes(config, layer)
const hasExpertGate: IsIn = (config, traits, layer) =>
  traits.mlp !== 'plain' && hasExperts(config, traits, layer)
const hasSharedGateMatrix: IsIn = (config, traits, layer) =>
  traits.mlp !== 'plain' && hasShared(config, traits, layer)
const hasSharedGate: IsIn = (config, traits, layer) =>
  config.experts?.shared?.isGated === true && hasShared(config, traits, layer)
const choosesByBias: IsIn = (config, _, layer) => config.experts?.isBiased === true && routes(config, layer)
const hasExpertBias: IsIn = (config, { expertBias }, layer) => expertBias === true && routes(config, layer)
const hasSinks: IsIn = (_, { sinks }) => sinks === true
const isUntied: IsIn = ({ tiedEmbeddings }) => !tiedEmbeddings
const normsEmbeddings: IsIn = (_, { embeddingNorm }) => embeddingNorm === true
const hasHead: IsIn = (_, { predictionHead }) => predictionHead === true
const hasPositions: IsIn = (_, { positions }) => positions === 'learned'

const hasSubNorms: IsIn = (_, { subNorms }) => subNorms === true
const usesAlibi: IsIn = ({ alibi }) => alibi !== undefined

const LAYER = 'model.layers.N'
/** Alternative names that writers use for the same tensor. */
const either = (...names: readonly string[]): string => names.join('|')

/** Table rows for each layer, by module name. */
const ofLayer =
  (kind: 'weight' | 'bias') =>
  (name: string, gguf: string, safetensors: string, shape: Shape, isIn?: IsIn): TensorRow =>
    row(
      `layers.N.${name}.${kind}`,
      `blk.N.${gguf}.${kind}`,
      either(...safetensors.split('|').map((name) => `${LAYER}.${name}.${kind}`)),
      shape,
      isIn,
    )
const weight = ofLayer('weight')
const bias = ofLayer('bias')

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
  row(ALIBI, '', '', (config) => [alibiSize(config)], usesAlibi),
  row('embed_norm.weight', 'token_embd_norm.weight', 'model.embed_norm.weight', hidden, normsEmbeddings),
  row(
    'embed_norm.bias',
    'token_embd_norm.bias',
    'model.embed_norm.bias',
    hidden,
    biased('norm', normsEmbeddings),
  ),
  row('norm.weight', 'output_norm.weight', 'model.norm.weight|backbone.norm_f.weight', hidden),
  row('norm.bias', 'output_norm.bias', 'model.norm.bias', hidden, biased('norm')),
  row('head.weight', '', '', square, hasHead),
  row('head_norm.weight', '', '', hidden, hasHead),
  row('output.weight', 'output.weight', 'lm_head.weight', table, isUntied),
  row('output.bias', 'output.bias', 'lm_head.bias', first(table), biased('logits')),
  weight('attn_norm', 'attn_norm', 'input_layernorm', hidden, normsBefore),
  bias('attn_norm', 'attn_norm', 'input_layernorm', hidden, biased('norm', normsBefore)),
  weight('attn_q', 'attn_q', 'self_attn.q_proj', query, hasQueries),
  weight('attn_k', 'attn_k', 'self_attn.k_proj', keyValue, hasKeys),
  weight('attn_v', 'attn_v', 'self_attn.v_proj', keyValue, hasKeys),
  bias('attn_q', 'attn_q', 'self_attn.q_proj', first(query), biased('qkv', hasQueries)),
  bias('attn_k', 'attn_k', 'self_attn.k_proj', first(keyValue), biased('qkv', hasKeys)),
  bias('attn_v', 'attn_v', 'self_attn.v_proj', first(keyValue), biased('qkv', hasKeys)),
  weight('attn_q_norm', 'attn_q_norm', 'self_attn.q_norm', headNorm(query), hasHeadNorms),
  weight('attn_k_norm', 'attn_k_norm', 'self_attn.k_norm', headNorm(keyValue), hasKeyNorms),
  bias('attn_q_norm', 'attn_q_norm', 'self_attn.q_norm', headNorm(query), hasHeadBias),
  bias('attn_k_norm', 'attn_k_norm', 'self_attn.k_norm', headNorm(keyValue), hasHeadBias),
  weight('attn_gate', '', '', gates, hasGate),
  weight('attn_sub_norm', 'attn_sub_norm', 'self_attn.attn_sub_norm', first(query), hasSubNorms),
  weight('attn_output', 'attn_output', 'self_attn.o_proj', attended, attends),
  bias('attn_output', 'attn_output', 'self_attn.o_proj', hidden, biased('output', attends)),
  row(
    'layers.N.attn_sinks.weight',
    'blk.N.attn_sinks.weight',
    `${LAYER}.self_attn.sinks`,
    ({ heads }) => [heads],
    hasSinks,
  ),
  ...latentTensors,
  weight('attn_post_norm', 'post_attention_norm', 'post_attention_layernorm', hidden, normsAfter),
  weight('conv_b', '', '', square, convolves),
  weight('conv_c', '', '', square, convolves),
  weight('conv_x', '', '', square, convolves),
  weight('conv', '', '', ({ hiddenSize, convTaps = 0 }) => [hiddenSize, convTaps], convolves),
  weight('conv_output', '', '', square, convolves),
  ...recurrentTensors,
  weight('mlp_norm', 'ffn_norm', 'post_attention_layernorm', hidden, normsMlp),
  bias('mlp_norm', 'ffn_norm', 'post_attention_layernorm', hidden, biased('norm', normsMlp)),
  weight('mlp_gate', 'ffn_gate', 'mlp.gate_proj', widen, isGated),
  bias('mlp_gate', 'ffn_gate', 'mlp.gate_proj', first(widen), biased('mlp', isGated)),
  weight('mlp_up', 'ffn_up', 'mlp.up_proj', widen, hasUp),
  bias('mlp_up', 'ffn_up', 'mlp.up_proj', first(widen), biased('mlp', isDense)),
  weight('mlp_sub_norm', 'ffn_sub_norm', 'mlp.ffn_sub_norm', first(widen), hasSubNorms),
  weight('mlp_down', 'ffn_down', 'mlp.down_proj', turned(widen), isDense),
  bias('mlp_down', 'ffn_down', 'mlp.down_proj', hidden, biased('mlp', isDense)),
  weight('router', 'ffn_gate_inp', either('mlp.gate', 'block_sparse_moe.gate'), router, hasExperts),
  bias('router', 'ffn_gate_inp', 'mlp.gate', first(router), hasExpertBias),
  row(
    'layers.N.router_choice.bias',
    'blk.N.exp_probs_b.bias',
    `${LAYER}.mlp.gate.e_score_correction_bias|${LAYER}.feed_forward.expert_bias`,
    first(router),
    choosesByBias,
  ),
  weight(
    'experts.E.mlp_gate',
    'ffn_gate_exps',
    either('mlp.experts.E.gate_proj', 'block_sparse_moe.experts.E.w1'),
    expert,
    hasExpertGate,
  ),
  weight(
    'experts.E.mlp_up',
    'ffn_up_exps',
    either('mlp.experts.E.up_proj', 'block_sparse_moe.experts.E.w3'),
    expert,
    hasExperts,
  ),
  weight(
    'experts.E.mlp_down',
    'ffn_down_exps',
    either('mlp.experts.E.down_proj', 'block_sparse_moe.experts.E.w2'),
    turned(expert),
    hasExperts,
  ),
  bias('experts.E.mlp_gate', 'ffn_gate_exps', '', first(expert), hasExpertBias),
  bias('experts.E.mlp_up', 'ffn_up_exps', '', first(expert), hasExpertBias),
  bias('experts.E.mlp_down', 'ffn_down_exps', '', hidden, hasExpertBias),
  weight(
    'shared.mlp_gate',
    'ffn_gate_shexp',
    either('mlp.shared_experts.gate_proj', 'mlp.shared_expert.gate_proj'),
    shared,
    hasSharedGateMatrix,
  ),
  weight(
    'shared.mlp_up',
    'ffn_up_shexp',
    either('mlp.shared_experts.up_proj', 'mlp.shared_expert.up_proj'),
    shared,
    hasShared,
  ),
  weight(
    'shared.mlp_down',
    'ffn_down_shexp',
    either('mlp.shared_experts.down_proj', 'mlp.shared_expert.down_proj'),
    turned(shared),
    hasShared,
  ),
  row(
    'layers.N.shared_gate.weight',
    'blk.N.ffn_gate_inp_shexp.weight',
    `${LAYER}.mlp.shared_expert_gate.weight`,
    ({ hiddenSize }) => [1, hiddenSize],
    hasSharedGate,
    ({ hiddenSize }, format) => (format === 'gguf' ? { shape: [hiddenSize] } : {}),
  ),
  weight('mlp_post_norm', 'post_ffw_norm', 'post_feedforward_layernorm', hidden, normsAfter),
]

/** Every tensor that the graph of `config` reads, in layer order. */
export function* expectedTensors(format: ModelFormat, config: ModelConfig): Generator<ExpectedTensor> {
  const { traits = PLAIN, tensors = [] } = familyFile(config.family)
  const all = [...TENSORS, ...tensors]
  for (let layer = -1; layer < config.layers; layer++) {
    for (const one of all) {
      if (one.name.includes('.N.') === layer < 0 || one.isIn?.(config, traits, layer) === false) continue
      const count = one.name.includes('.E.') ? (config.experts?.count ?? 0) : 1
      for (let expert = 0; expert < count; expert++) yield expected(one, layer, expert)
    }
  }

  function expected(one: TensorRow, layer: number, expert: number): ExpectedTensor {
    const fill = (name: string) => name.replaceAll('.N.', `.${layer}.`).replaceAll('.E.', `.${expert}.`)
    const shape = one.shape(config, traits, layer)
    const place = placeOf(one, format, config, { layer, expert }, shape)
    const factors = format === 'safetensors' ? config.factors?.[one.name.replace('layers.N.', '')] : undefined
    return { name: fill(one.name), shape, place: { ...filled(place), factors } }

    function filled({ joined, orElse, ...rest }: StoredWeight): StoredWeight {
      return {
        ...rest,
        tensor: fill(rest.tensor),
        ...(joined && { joined: joined.map(fill) }),
        ...(orElse && { orElse: filled(orElse) }),
      }
    }
  }
}

function placeOf(
  one: TensorRow,
  format: ModelFormat,
  config: ModelConfig,
  { layer, expert }: { readonly layer: number; readonly expert: number },
  shape: readonly number[],
): StoredWeight {
  if (format === 'hbm' || format === 'onnx') return { tensor: one.name }
  const { gguf, hf } = familyFile(config.family)
  const special = (format === 'gguf' ? gguf : hf).names?.[one.name]
  if (typeof special === 'function') return special(config, expert, layer)
  if (special !== undefined) return { tensor: special, ...one.place?.(config, format) }
  if (format !== 'gguf' || !one.name.includes('.E.'))
    return { tensor: one[format], ...one.place?.(config, format) }
  // GGUF stacks the experts of a layer in one tensor.
  const [n = 0] = shape
  const count = config.experts?.count ?? 0
  return { tensor: one.gguf, shape: [count, ...shape], runs: [[expert * n, n]] }
}
