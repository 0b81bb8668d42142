// Gemma 3n: a residual of four streams, per-layer embeddings, last layers that reuse earlier keys and values,
// and feed-forward blocks that keep only a few of their values.
import type { DecoderTraits } from '../../blocks/parts.ts'
import { streamed } from '../../blocks/streams.ts'
import type { GateCutoff, ModelConfig } from '../../config/config.ts'
import { type Fields, unbuiltVariant } from '../../config/fields.ts'
import { localRope } from '../../config/hf-rope.ts'
import { MAX_STREAMS } from '../../config/layer-sizes.ts'
import {
  defaults,
  type FamilyFile,
  hidden,
  type IsIn,
  row,
  type Shape,
  type TensorRow,
} from '../../family.ts'
import { quantile } from './normal.ts'
import {
  differing,
  eachLayer,
  factors,
  isSharedKey,
  layerNames,
  layerTensors,
  localInGguf,
  localInHf,
  localWindow,
  TRAITS,
} from './tensors.ts'

const STREAMED: DecoderTraits = { ...TRAITS, streams: true }

const count = ({ streams }: ModelConfig): number => streams?.count ?? 1
const square: Shape = ({ hiddenSize }) => [hiddenSize, hiddenSize]

/** Projections from the embeddings to streams, and from streams to the output. GGUF stacks them. */
const projections = (name: string, gguf: string, safetensors: string): TensorRow[] =>
  Array.from({ length: MAX_STREAMS - 1 }, (_, index) =>
    row(
      `${name}.${index + 1}.weight`,
      gguf,
      `model.${safetensors}.${index}.weight`,
      square,
      (config) => index + 1 < count(config),
      (config, format) => {
        const { hiddenSize } = config
        if (format !== 'gguf') return {}
        const shape = [count(config) - 1, hiddenSize, hiddenSize]
        return { shape, runs: [[index * hiddenSize, hiddenSize]] }
      },
    ),
  )

const weight = (
  name: string,
  gguf: string,
  safetensors: string,
  shape: Shape,
  isIn?: IsIn,
  place?: TensorRow['place'],
): TensorRow =>
  row(`layers.N.${name}.weight`, `blk.N.${gguf}.weight`, `model.layers.N.${safetensors}`, shape, isIn, place)

const rank = ({ streams }: ModelConfig): number => streams?.besideRank ?? 0

const TENSORS: readonly TensorRow[] = [
  ...layerTensors,
  ...projections('stream_in', 'altup_proj.weight', 'altup_projections'),
  ...projections('stream_out', 'altup_unembd_proj.weight', 'altup_unembed_projections'),
  // transformers divides this norm's output by the hidden size.
  weight(
    'stream_router_norm',
    'altup_router_norm',
    'altup.router_norm.weight',
    hidden,
    undefined,
    ({ hiddenSize }) => ({ change: { scale: 1 / hiddenSize, offset: 0 } }),
  ),
  weight('stream_router', 'altup_router', 'altup.modality_router.weight', (config) => [
    count(config),
    config.hiddenSize,
  ]),
  weight('stream_predict', 'altup_predict_coef', 'altup.prediction_coefs.weight', (config) => [
    count(config) ** 2,
    count(config),
  ]),
  weight('stream_correct', 'altup_correct_coef', 'altup.correction_coefs.weight', (config) => [
    count(config),
    count(config),
  ]),
  weight(
    'stream_scale',
    'altup_correct_scale',
    'altup.correct_output_scale',
    hidden,
    ({ streams }) => streams?.isScaled === true,
  ),
  weight('laurel_left', 'laurel_l', 'laurel.linear_left.weight', (config) => [
    rank(config),
    config.hiddenSize,
  ]),
  weight('laurel_right', 'laurel_r', 'laurel.linear_right.weight', (config) => [
    config.hiddenSize,
    rank(config),
  ]),
  weight('laurel_norm', 'laurel_post_norm', 'laurel.post_laurel_norm.weight', hidden),
]

/** Layers whose gates drop a share of their values. Default: the class's layers. */
function cutoffs(fields: Fields, { layers }: ModelConfig): GateCutoff[] {
  const key = 'activation_sparsity_pattern'
  const shares = fields.isList(key) ? fields.numberList(key) : Array(layers > 10 ? 10 : 0).fill(0.95)
  return shares.flatMap((share, layer) => {
    if (share === 0) return []
    if (share >= 1e-6 && share <= 1 - 1e-6) return [{ layer, deviations: quantile(share) }]
    throw unbuiltVariant(fields.file, `${key} with ${share}`, 'shares from 0 to below 1')
  })
}

/** The cutoff that llama.cpp always uses in the first ten layers. */
const FIRST_CUT = { layers: 10, deviations: 1.6448533535003662 }
/** The default for the first layer that reuses keys and values. */
const FIRST_SHARED = 20

function ggufCutoffs(fields: Fields, { layers }: ModelConfig): GateCutoff[] {
  const key = 'activation_sparsity_scale'
  const stated = fields.isList(key) ? fields.numberList(key) : undefined
  if (stated === undefined) {
    const first = Math.min(layers, FIRST_CUT.layers)
    return Array.from({ length: first }, (_, layer) => ({ layer, deviations: FIRST_CUT.deviations }))
  }
  // Minus infinity makes the layer keep all values.
  return stated.flatMap((deviations, layer) => (Number.isFinite(deviations) ? [{ layer, deviations }] : []))
}

export const gemma3n: FamilyFile = {
  traits: STREAMED,
  tensors: TENSORS,
  build: (config, decoder) => decoder(config, STREAMED, undefined, streamed),
  isUnused: (name, config) => isSharedKey(name, config) || name.endsWith('.altup.correct_output_scale'),
  gguf: {
    architecture: 'gemma3n',
    pairing: 'halves',
    config: (fields, own) => ({
      ...factors(own),
      logitCap: fields.number('final_logit_softcapping', 30),
      window: localWindow(fields.number('attention.sliding_window'), own, localInGguf(fields, 5)),
      localRope: { ...own.rope, theta: fields.number('rope.freq_base_swa', 10_000), scaling: undefined },
      sharedKvLayers: fields.number('attention.shared_kv_layers', Math.max(0, own.layers - FIRST_SHARED)),
      layerEmbedding: { size: fields.number('embedding_length_per_layer_input'), rows: own.vocabSize },
      streams: {
        count: fields.number('altup.num_inputs', 4),
        active: fields.number('altup.active_idx', 0),
        isScaled: true,
        besideRank: fields.number('laurel_rank', 64),
      },
      gateCutoffs: ggufCutoffs(fields, own),
      ...differing(eachLayer(fields, 'feed_forward_length', own)),
    }),
    names: layerNames('gguf'),
  },
  hf: {
    classes: {
      Gemma3nForCausalLM: defaults(262_400, 2048, 16_384, 35, 8, 32_768, {
        num_key_value_heads: 2,
        head_dim: 256,
        sliding_window: 512,
        rope_theta: 1e6,
        tie_word_embeddings: true,
        vocab_size_per_layer_input: 262_144,
        hidden_size_per_layer_input: 256,
        num_kv_shared_layers: 15,
        altup_num_inputs: 4,
        altup_active_idx: 0,
        altup_correct_scale: true,
        laurel_rank: 64,
        final_logit_softcapping: 30,
      }),
    },
    keys: { hidden_act: 'hidden_activation' },
    names: layerNames('hf'),
    config: (fields, own) => ({
      ...factors(own),
      logitCap: fields.number('final_logit_softcapping', 0),
      window: localWindow(fields.number('sliding_window'), own, localInHf(fields, 5)),
      localRope: localRope(fields, own, fields.number('rope_local_base_freq', 10_000)),
      sharedKvLayers: fields.number('num_kv_shared_layers'),
      layerEmbedding: {
        size: fields.number('hidden_size_per_layer_input'),
        rows: fields.number('vocab_size_per_layer_input'),
      },
      streams: {
        count: fields.number('altup_num_inputs'),
        active: fields.number('altup_active_idx'),
        isScaled: fields.fact('altup_correct_scale'),
        besideRank: fields.number('laurel_rank'),
      },
      gateCutoffs: cutoffs(fields, own),
      ...differing(eachLayer(fields, 'intermediate_size', own)),
    }),
  },
}
