// jina-bert-v2: reads the configuration and the tensors of a BERT with gated blocks, whose scores fall with
// the distance, from safetensors and GGUF. The code model also has norms of queries and keys, and one more
// norm in each layer.
import type { ModelConfig } from '../../core/arch/config/config.ts'
import { type Fields, unbuiltVariant } from '../../core/arch/config/fields.ts'
import { requireTensor, type Weights } from '../../core/arch/tensors/names.ts'
import type { ModelFile } from '../../core/formats/readers.ts'
import { BERT_TRAITS, DISTANCES, type EncoderTraits, encoder } from '../encoder.ts'
import { prefixOf } from './bert.ts'
import { type BiasOf, distanceTable } from './distances.ts'
import { gatherer } from './gather.ts'
import { checkSizes, type EncoderFamily, type Placed, UNTABLED } from './placed.ts'
import { fieldsOf, isGguf, isNamed, NO_ROPE, refuseOthers } from './stated.ts'

const ARCHITECTURE = 'jina-bert-v2'

const TRAITS: EncoderTraits = { ...BERT_TRAITS, mlp: 'gated', positions: 'rope', distances: true }

/** Keys of a configuration in GGUF and in config.json. */
const KEYS = {
  hiddenSize: ['embedding_length', 'hidden_size'],
  layers: ['block_count', 'num_hidden_layers'],
  heads: ['attention.head_count', 'num_attention_heads'],
  intermediateSize: ['feed_forward_length', 'intermediate_size'],
  normEpsilon: ['attention.layer_norm_epsilon', 'layer_norm_eps'],
  contextLength: ['context_length', 'max_position_embeddings'],
} as const

function jinaConfig(file: ModelFile): Placed {
  const fields = fieldsOf(file, ARCHITECTURE)
  if (isGguf(file)) refuseOthers(fields, { 'attention.causal': false })
  else refuseText(fields, { position_embedding_type: 'alibi', feed_forward_type: 'geglu' })
  const sizes = Object.fromEntries(
    Object.entries(KEYS).map(([name, keys]) => [name, fields.number(keys[isGguf(file) ? 0 : 1])]),
  ) as Record<keyof typeof KEYS, number>
  const prefix = prefixOf(file)
  const tableOf = (gguf: string, own: string) =>
    requireTensor(file, `${isGguf(file) ? gguf : prefix + own}.weight`).shape[0] ?? 0
  const config: ModelConfig = {
    ...sizes,
    family: ARCHITECTURE,
    name: file.name,
    kvHeads: sizes.heads,
    headDim: sizes.hiddenSize / sizes.heads,
    vocabSize: tableOf('token_embd', 'embeddings.word_embeddings'),
    rope: NO_ROPE,
    tiedEmbeddings: true,
    activation: 'gelu_exact',
  }
  const types = tableOf('token_types', 'embeddings.token_type_embeddings')
  const has = (gguf: string, own: string) =>
    file.tensors.has(isGguf(file) ? `blk.0.${gguf}.weight` : `${prefix}encoder.layer.0.${own}.weight`)
  const extras = {
    rowNorms: has('attn_q_norm', 'attention.self.layer_norm_q'),
    secondNorm: has('attn_norm_2', 'layer_norm_1'),
  }
  const placed = { ...UNTABLED, types, config, extras }
  checkSizes(file.name, placed)
  return placed
}

/** Throws `unsupported` for string settings that change the graph. */
function refuseText(fields: Fields, texts: Readonly<Record<string, string>>): void {
  for (const [key, right] of Object.entries(texts)) {
    const found = fields.text(key, right)
    if (found !== right) throw unbuiltVariant(fields.file, `${key} "${found}"`, right)
  }
}

function jinaWeights(file: ModelFile, { config, types, extras = {} }: Placed): Weights {
  const { hiddenSize, vocabSize, intermediateSize, layers } = config
  const prefix = prefixOf(file)
  const { put, split, finish } = gatherer(file, prefix)
  const both = (name: string, [gguf, own]: readonly [string, string], shape: readonly number[]) => {
    put(name, [gguf, own], shape)
    put(`${name}.bias`, [`${gguf}.bias`, `${own}.bias`], shape.slice(0, 1))
  }
  put('embed', ['token_embd', 'embeddings.word_embeddings'], [vocabSize, hiddenSize])
  put('kinds', ['token_types', 'embeddings.token_type_embeddings'], [types, hiddenSize])
  both('embed_norm', ['token_embd_norm', 'embeddings.LayerNorm'], [hiddenSize])
  const [square, wide] = [
    [hiddenSize, hiddenSize],
    [intermediateSize, hiddenSize],
  ] as const
  for (let layer = 0; layer < layers; layer++) {
    const at = `layers.${layer}`
    const names = (gguf: string, own: string) =>
      [`blk.${layer}.${gguf}`, `encoder.layer.${layer}.${own}`] as const
    for (const [part, own] of Object.entries({ q: 'query', k: 'key', v: 'value' }))
      both(`${at}.attn_${part}`, names(`attn_${part}`, `attention.self.${own}`), square)
    if (extras.rowNorms) {
      for (const part of ['q', 'k'])
        both(`${at}.attn_${part}_norm`, names(`attn_${part}_norm`, `attention.self.layer_norm_${part}`), [
          hiddenSize,
        ])
    }
    both(`${at}.attn_output`, names('attn_output', 'attention.output.dense'), square)
    both(`${at}.attn_post_norm`, names('attn_output_norm', 'attention.output.LayerNorm'), [hiddenSize])
    if (extras.secondNorm) both(`${at}.attn_second_norm`, names('attn_norm_2', 'layer_norm_1'), [hiddenSize])
    const own = ownNames(file, `${prefix}encoder.layer.${layer}`)
    const gated = names('ffn_up', own.gated)
    // Earlier converters wrote the two halves separately.
    if (file.tensors.has(`blk.${layer}.ffn_gate.weight`)) {
      put(`${at}.mlp_gate`, names('ffn_gate', ''), wide)
      put(`${at}.mlp_up`, gated, wide)
    } else split(halvesOf(at, isGguf(file) ? extras.secondNorm === true : own.isUpFirst), gated, wide)
    both(`${at}.mlp_down`, names('ffn_down', own.down), wide.toReversed())
    both(`${at}.mlp_post_norm`, names('layer_output_norm', own.norm), [hiddenSize])
  }
  return new Map([...finish(), [DISTANCES, distanceTable(config, () => falling(config.heads))]])
}

/** Names of a layer's feed-forward block in safetensors: those of the code model, or of the others. */
function ownNames({ tensors }: ModelFile, layer: string) {
  const isUpFirst = tensors.has(`${layer}.mlp.up_gated_layer.weight`)
  return isUpFirst
    ? { isUpFirst, gated: 'mlp.up_gated_layer', down: 'mlp.down_layer', norm: 'layer_norm_2' }
    : { isUpFirst, gated: 'mlp.gated_layers', down: 'mlp.wo', norm: 'mlp.layernorm' }
}

/** The halves of a stored product in order. Converters to GGUF keep the order of the original files. */
const halvesOf = (layer: string, isUpFirst: boolean): readonly string[] =>
  isUpFirst ? [`${layer}.mlp_up`, `${layer}.mlp_gate`] : [`${layer}.mlp_gate`, `${layer}.mlp_up`]

/** ALiBi on both sides: scores fall with the distance, with a slope per head. */
function falling(heads: number): BiasOf {
  const whole = 2 ** Math.floor(Math.log2(heads))
  // If the number of heads is not a power of two, the remaining heads get every second slope of twice as many
  // heads.
  const slopes = Array.from({ length: heads }, (_, head) =>
    head < whole ? 2 ** ((-8 * (head + 1)) / whole) : 2 ** ((-4 * (2 * (head - whole) + 1)) / whole),
  )
  return (head, distance) => -slopes[head]! * Math.abs(distance)
}

/** Jina's own JinaBertModel, as in jina-embeddings-v2. */
export const JINA: EncoderFamily = {
  name: 'jina-bert-v2',
  isOf: (file) => isNamed(file, ARCHITECTURE, /^JinaBert(Model|ForMaskedLM)$/),
  config: jinaConfig,
  weights: jinaWeights,
  graph: ({ config, types, extras }) => encoder(config, types, { ...TRAITS, ...extras }),
}
