// Gemma 4: Gemma 3 with wider heads in layers without a window, whose keys may also serve as values;
// per-layer embeddings; last layers that reuse earlier keys and values; and a scale after each layer.
import { withInputs } from '../../blocks/layer-embedding.ts'
import type { HeadSizes, ModelConfig, RopeConfig } from '../../config/config.ts'
import { Fields, layersOf, requireFacts, unbuiltVariant } from '../../config/fields.ts'
import { localRope, proportionalRope } from '../../config/hf-rope.ts'
import { isLocal } from '../../config/layer-sizes.ts'
import { defaults, type FamilyFile, type Names, type StoredWeight } from '../../family.ts'
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

/** A layer's key, which transformers pads with zeros to the widest key. */
function keyOf(stated: Fields, layer: number): string {
  const keys = [1, 2, 3, 4].map((width) => `${layer}`.padStart(width, '0'))
  return keys.find((key) => stated.has(key)) ?? `${layer}`
}

/** The heads of layers without a window, which config.json states in one of two ways. */
function fullHeads(fields: Fields, own: ModelConfig, hasWindow: (layer: number) => boolean): HeadSizes {
  const stated = fields.record('per_layer_config')
  const { kvHeads, headDim } = own
  if (stated === undefined) {
    const others = fields.fact('attention_k_eq_v', false) && fields.has('num_global_key_value_heads')
    return {
      kvHeads: others ? fields.number('num_global_key_value_heads') : kvHeads,
      headDim: fields.number('global_head_dim', 512),
    }
  }
  const found = layersOf(own).map((layer): HeadSizes => {
    const one = stated.record(keyOf(stated, layer)) ?? Fields.of(fields.file, {})
    return {
      kvHeads: one.number('num_key_value_heads', kvHeads),
      headDim: one.number('head_dim', headDim),
    }
  })
  const full = found.find((_, layer) => !hasWindow(layer)) ?? { kvHeads, headDim }
  const isOdd = found.some((one, layer) => {
    const due = hasWindow(layer) ? own : full
    return one.kvHeads !== due.kvHeads || one.headDim !== due.headDim
  })
  if (isOdd)
    throw unbuiltVariant(
      fields.file,
      'more than one head size per kind of layer',
      'one size for layers with a window and one for those without',
    )
  return full
}

/** The last layer never has a window, whatever the file says. */
function localLayers(fields: Fields, { layers }: ModelConfig): (layer: number) => boolean {
  const hasWindow = localInHf(fields, 6)
  return (layer) => layer !== layers - 1 && hasWindow(layer)
}

function mlpSizes(fields: Fields, own: ModelConfig, shared: number): number[] {
  const isWide = fields.fact('use_double_wide_mlp', false)
  const { layers, intermediateSize } = own
  return layersOf(own).map((layer) => intermediateSize * (isWide && layer >= layers - shared ? 2 : 1))
}

function hfConfig(fields: Fields, own: ModelConfig): Partial<ModelConfig> {
  requireFacts(fields, { enable_moe_block: false })
  if (fields.has('use_bidirectional_attention') && fields.text('use_bidirectional_attention') === 'all')
    throw unbuiltVariant(fields.file, 'attention to later positions', 'none')
  const hasWindow = localLayers(fields, own)
  const full = fullHeads(fields, own, hasWindow)
  const shared = fields.number('num_kv_shared_layers')
  const size = fields.number('hidden_size_per_layer_input')
  return {
    ...factors(own),
    logitCap: fields.number('final_logit_softcapping', 0),
    window: localWindow(fields.number('sliding_window'), own, hasWindow),
    rope: proportionalRope(fields, { ...own, headDim: full.headDim }, 0.25),
    localRope: localRope(fields, own, 10_000),
    fullHeads: full,
    sharedKvLayers: shared,
    valuesAreKeys: fields.fact('attention_k_eq_v', false),
    ...(size > 0 && { layerEmbedding: { size, rows: fields.number('vocab_size_per_layer_input') } }),
    ...differing(mlpSizes(fields, own, shared)),
  }
}

function ggufConfig(fields: Fields, own: ModelConfig): Partial<ModelConfig> {
  if (fields.number('expert_count', 0) > 0)
    throw unbuiltVariant(fields.file, 'experts', 'one dense MLP per layer')
  const hasWindow = localInGguf(fields, 6)
  const heads = eachLayer(fields, 'attention.head_count_kv', own, own.kvHeads)
  const layers = layersOf(own)
  const kvHeads = (kind: boolean): number | undefined =>
    heads[layers.find((layer) => hasWindow(layer) === kind) ?? -1]
  const headDim = fields.number('attention.key_length_swa', own.headDim)
  const size = fields.number('embedding_length_per_layer_input', 0)
  const rope: RopeConfig = {
    ...own.rope,
    theta: fields.number('rope.freq_base_swa', 10_000),
    dims: fields.number('rope.dimension_count_swa', headDim),
    scaling: undefined,
  }
  return {
    ...factors(own),
    logitCap: fields.number('final_logit_softcapping', 0),
    window: localWindow(fields.number('attention.sliding_window'), own, hasWindow),
    localRope: rope,
    headDim,
    kvHeads: kvHeads(true) ?? own.kvHeads,
    fullHeads: { kvHeads: kvHeads(false) ?? own.kvHeads, headDim: own.headDim },
    sharedKvLayers: fields.number('attention.shared_kv_layers', 0),
    ...(size > 0 && { layerEmbedding: { size, rows: own.vocabSize } }),
    ...differing(eachLayer(fields, 'feed_forward_length', own)),
  }
}

/** The factor of each layer's output, which files may lack. */
async function scales(
  config: ModelConfig,
  numbers: (layer: number) => Promise<readonly number[] | undefined>,
): Promise<Pick<ModelConfig, 'layerScales'>> {
  const found: number[] = []
  for (const layer of layersOf(config)) found.push((await numbers(layer))?.[0] ?? 1)
  return found.every((scale) => scale === 1) ? {} : { layerScales: found }
}

/** The tensors that compute values. */
const valueNames = (
  place: (kind: 'weight' | 'bias', config: ModelConfig, layer: number) => StoredWeight,
): Names => ({
  'layers.N.attn_v.weight': (config, _, layer) => place('weight', config, layer),
  'layers.N.attn_v.bias': (config, _, layer) => place('bias', config, layer),
})

const ATTENTION = 'model.layers.N.self_attn'

export const gemma4: FamilyFile = {
  traits: TRAITS,
  tensors: layerTensors,
  build: (config, decoder) => decoder(config, TRAITS, undefined, withInputs),
  isUnused: (name, config) =>
    isSharedKey(name, config) || /\.layer_(scalar|output_scale\.weight)$/.test(name),
  gguf: {
    architecture: 'gemma4',
    pairing: 'halves',
    config: ggufConfig,
    stored: (config, numbers) => scales(config, (layer) => numbers(`blk.${layer}.layer_output_scale.weight`)),
    names: {
      ...layerNames('gguf'),
      // A layer without value weights uses its keys.
      ...valueNames((kind) => ({
        tensor: `blk.N.attn_v.${kind}`,
        orElse: { tensor: `blk.N.attn_k.${kind}` },
      })),
    },
  },
  hf: {
    classes: {
      Gemma4ForCausalLM: defaults(262_144, 2304, 9216, 30, 8, 131_072, {
        num_key_value_heads: 4,
        head_dim: 256,
        sliding_window: 512,
        tie_word_embeddings: true,
        vocab_size_per_layer_input: 262_144,
        hidden_size_per_layer_input: 256,
        num_kv_shared_layers: 0,
      }),
    },
    keys: { hidden_act: 'hidden_activation' },
    names: {
      ...layerNames('hf'),
      ...valueNames((kind, config, layer) => {
        const isKey = config.valuesAreKeys === true && !isLocal(config, layer)
        return { tensor: `${ATTENTION}.${isKey ? 'k' : 'v'}_proj.${kind}` }
      }),
    },
    config: hfConfig,
    stored: (config, numbers) => scales(config, (layer) => numbers(`model.layers.${layer}.layer_scalar`)),
  },
}
