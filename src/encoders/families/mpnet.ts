// MPNet: reads the configuration and the tensors of a BERT whose scores get a bias by distance, from
// safetensors.
import { unbuiltVariant } from '../../core/arch/config/fields.ts'
import type { Weights } from '../../core/arch/tensors/names.ts'
import { pieceOf } from '../../core/arch/tensors/pieces.ts'
import { readVector } from '../../core/formats/dequantize.ts'
import type { ModelFile } from '../../core/formats/readers.ts'
import type { TensorInfo } from '../../core/formats/tensors.ts'
import { BERT_TRAITS, DISTANCES, encoder } from '../encoder.ts'
import { type BiasOf, distanceTable } from './distances.ts'
import { gatherer } from './gather.ts'
import { checkSizes, type EncoderFamily, type Placed, UNTABLED } from './placed.ts'
import { bertSizes, fieldsOf, isGguf } from './stated.ts'

/** Positions follow the id of padding, which is not configurable. */
const FIRST_POSITION = 2
/** Distances share a bias by bucket. Half of the buckets are for earlier positions, half for later ones. */
const BUCKETS = 32

/**
 * Each of the smallest distances has its own bucket; larger ones share increasingly wide buckets, up to 128.
 */
function bucketOf(distance: number): number {
  const half = BUCKETS / 2
  const near = BUCKETS / 4
  const furthest = 128
  const far = Math.abs(distance)
  const wide = Math.floor((Math.log2(far / near) / Math.log2(furthest / near)) * (half - near))
  const bucket = far < near ? far : Math.min(half - 1, near + wide)
  return distance > 0 ? half + bucket : bucket
}

function mpnetConfig(file: ModelFile): Placed {
  const fields = fieldsOf(file, '')
  const buckets = fields.number('relative_attention_num_buckets', BUCKETS)
  if (buckets !== BUCKETS) throw unbuiltVariant(file.name, `${buckets} distance buckets`, `${BUCKETS}`)
  const defaults = { family: 'mpnet', firstPosition: FIRST_POSITION, vocabSize: 30_527, normEpsilon: 1e-12 }
  const placed: Placed = {
    ...UNTABLED,
    firstPosition: FIRST_POSITION,
    config: bertSizes(file, fields, defaults),
  }
  checkSizes(file.name, placed)
  return placed
}

function mpnetWeights(file: ModelFile, { config, firstPosition }: Placed): Weights {
  const { hiddenSize, vocabSize, contextLength, intermediateSize, layers, heads } = config
  const prefix = file.tensors.has('mpnet.embeddings.word_embeddings.weight') ? 'mpnet.' : ''
  const { put, finish } = gatherer(file, prefix)
  const both = (name: string, own: string, shape: readonly number[]) => {
    put(name, ['', own], shape)
    put(`${name}.bias`, ['', `${own}.bias`], shape.slice(0, 1))
  }
  put('embed', ['', 'embeddings.word_embeddings'], [vocabSize, hiddenSize])
  put('positions', ['', 'embeddings.position_embeddings'], [firstPosition + contextLength, hiddenSize])
  both('embed_norm', 'embeddings.LayerNorm', [hiddenSize])
  for (let layer = 0; layer < layers; layer++) {
    const at = `layers.${layer}`
    const own = `encoder.layer.${layer}`
    for (const part of ['q', 'k', 'v'])
      both(`${at}.attn_${part}`, `${own}.attention.attn.${part}`, [hiddenSize, hiddenSize])
    both(`${at}.attn_output`, `${own}.attention.attn.o`, [hiddenSize, hiddenSize])
    both(`${at}.attn_post_norm`, `${own}.attention.LayerNorm`, [hiddenSize])
    both(`${at}.mlp_up`, `${own}.intermediate.dense`, [intermediateSize, hiddenSize])
    both(`${at}.mlp_down`, `${own}.output.dense`, [hiddenSize, intermediateSize])
    both(`${at}.mlp_post_norm`, `${own}.output.LayerNorm`, [hiddenSize])
  }
  put(DISTANCES, ['', 'encoder.relative_attention_bias'], [BUCKETS, heads])
  const weights = new Map(finish())
  const table = weights.get('positions.weight')!
  const rows = { tensor: table.name, runs: [[firstPosition, contextLength]] as const }
  weights.set('positions.weight', pieceOf(table, rows, [contextLength, hiddenSize]))
  const buckets = weights.get(DISTANCES)!
  weights.set(
    DISTANCES,
    distanceTable(config, (signal) => readBiases(buckets, heads, signal)),
  )
  return weights
}

async function readBiases(buckets: TensorInfo, heads: number, signal?: AbortSignal): Promise<BiasOf> {
  const values = await readVector({ ...buckets, shape: [BUCKETS * heads] }, signal)
  return (head, distance) => values[bucketOf(distance) * heads + head]!
}

/** transformers' MPNetModel. */
export const MPNET: EncoderFamily = {
  name: 'MPNet',
  isOf(file) {
    const fields = fieldsOf(file, '')
    const [listed = 'MPNetModel'] = fields.textList('architectures')
    return (
      !isGguf(file) && fields.text('model_type', '') === 'mpnet' && /^MPNet(Model|ForMaskedLM)$/.test(listed)
    )
  },
  config: mpnetConfig,
  weights: mpnetWeights,
  graph: ({ config }) => encoder(config, undefined, { ...BERT_TRAITS, distances: true }),
}
