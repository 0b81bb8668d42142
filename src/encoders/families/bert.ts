// BERT: reads the configuration and the tensors of an encoder from safetensors and GGUF.
//
// A reranker is an encoder that reads two texts at once and has a head that scores them.
import { Fields, unbuiltVariant } from '../../core/arch/config/fields.ts'
import { checkShape, requireTensor, type Weights } from '../../core/arch/tensors/names.ts'
import { changedRows, readRows } from '../../core/arch/tensors/row-table.ts'
import type { ModelFile } from '../../core/formats/readers.ts'
import type { TensorInfo } from '../../core/formats/tensors.ts'
import { encoder } from '../encoder.ts'
import { refuseUnread } from './gather.ts'
import { checkSizes, type EncoderFamily, type Placed } from './placed.ts'
import { bertSizes, ggufSizes, NO_ROPE, RANK } from './stated.ts'

type BertFamily = 'bert' | 'roberta'

/** How class names begin and end. */
const CLASSES = /^(Bert|Roberta|XLMRoberta)(?:Model|ForMaskedLM|(ForSequenceClassification))$/
const MODEL_TYPES: ReadonlyMap<string, BertFamily> = new Map([
  ['bert', 'bert'],
  ['roberta', 'roberta'],
  ['xlm-roberta', 'roberta'],
  ['xlmroberta', 'roberta'],
])

/** The token types that have an embedding of their own: two for pairs. */
const kindsOf = ({ isReranker, types }: Placed): number | undefined =>
  isReranker && types > 1 ? types : undefined

/** Each tensor's name in the files; N is the layer. */
const MODULES: readonly (readonly [name: string, gguf: string, safetensors: string])[] = [
  ['layers.N.attn_q', 'blk.N.attn_q', 'encoder.layer.N.attention.self.query'],
  ['layers.N.attn_k', 'blk.N.attn_k', 'encoder.layer.N.attention.self.key'],
  ['layers.N.attn_v', 'blk.N.attn_v', 'encoder.layer.N.attention.self.value'],
  ['layers.N.attn_output', 'blk.N.attn_output', 'encoder.layer.N.attention.output.dense'],
  ['layers.N.attn_post_norm', 'blk.N.attn_output_norm', 'encoder.layer.N.attention.output.LayerNorm'],
  ['layers.N.mlp_up', 'blk.N.ffn_up', 'encoder.layer.N.intermediate.dense'],
  ['layers.N.mlp_down', 'blk.N.ffn_down', 'encoder.layer.N.output.dense'],
  ['layers.N.mlp_post_norm', 'blk.N.layer_output_norm', 'encoder.layer.N.output.LayerNorm'],
]

interface Kind {
  readonly family: BertFamily
  readonly isReranker: boolean
}

/** The type of encoder, or undefined for a file with another architecture. */
function kindOf(file: ModelFile, fields: Fields): Kind | undefined {
  const plain = (family: BertFamily | undefined) => family && { family, isReranker: false }
  if (file.format === 'gguf')
    return plain(fields.text('general.architecture', '') === 'bert' ? 'bert' : undefined)
  const [listed = ''] = fields.textList('architectures')
  if (listed === '') return plain(MODEL_TYPES.get(fields.text('model_type', '')))
  const [, family = '', head] = CLASSES.exec(listed) ?? []
  const named = MODEL_TYPES.get(family.toLowerCase())
  return named && { family: named, isReranker: head !== undefined }
}

function configFields(file: ModelFile): Fields {
  const all = new Fields(file.name, (key) => file.metadata.get(key))
  return file.format === 'gguf' ? all : (all.record('config') ?? Fields.of(file.name, {}))
}

function bertConfig(file: ModelFile): Placed {
  const fields = configFields(file)
  const { family = 'bert', isReranker = false } = kindOf(file, fields) ?? {}
  const placed = file.format === 'gguf' ? ggufConfig(file) : hfConfig(file, fields, { family, isReranker })
  checkSizes(file.name, placed)
  return placed
}

function ggufConfig(file: ModelFile): Placed {
  const fields = new Fields(file.name, (key) => file.metadata.get(`bert.${key}`))
  return {
    firstPosition: 0,
    isReranker: fields.number('pooling_type', 0) === RANK,
    types: requireTensor(file, 'token_types.weight').shape[0] ?? 0,
    config: { ...ggufSizes(file, fields), family: 'bert', rope: NO_ROPE, activation: 'gelu_exact' },
  }
}

function hfConfig(file: ModelFile, fields: Fields, { family, isReranker }: Kind): Placed {
  const kind = fields.text('position_embedding_type', 'absolute')
  if (kind !== 'absolute') throw unbuiltVariant(file.name, `${kind} positions`, 'absolute ones')
  if (fields.fact('is_decoder', false)) {
    throw unbuiltVariant(file.name, 'attention to earlier positions only', 'attention to both sides')
  }
  const firstPosition = family === 'roberta' ? fields.number('pad_token_id', 1) + 1 : 0
  const normEpsilon = family === 'roberta' ? 1e-5 : 1e-12
  return {
    firstPosition,
    isReranker,
    types: fields.number('type_vocab_size', 2),
    config: bertSizes(file, fields, { family, firstPosition, vocabSize: 30_522, normEpsilon }),
  }
}

function bertWeights(file: ModelFile, placed: Placed): Weights {
  const { config, firstPosition, types } = placed
  const { hiddenSize, vocabSize, contextLength, intermediateSize, layers } = config
  const isGguf = file.format === 'gguf'
  const used = new Set<string>()
  const prefix = isGguf ? '' : prefixOf(file)
  const stored = (gguf: string, safetensors: string, shape: readonly number[]): TensorInfo => {
    const old = safetensors
      .replace('LayerNorm.weight', 'LayerNorm.gamma')
      .replace('LayerNorm.bias', 'LayerNorm.beta')
    const tensor = requireTensor(file, isGguf ? gguf : `${prefix}${safetensors}|${prefix}${old}`)
    checkShape(file.name, tensor, shape)
    used.add(tensor.name)
    return tensor
  }
  const weights = new Map<string, TensorInfo>()
  const norm = (name: string, gguf: string, safetensors: string): void => {
    for (const kind of ['weight', 'bias'])
      weights.set(`${name}.${kind}`, stored(`${gguf}.${kind}`, `${safetensors}.${kind}`, [hiddenSize]))
  }
  weights.set(
    'embed.weight',
    stored('token_embd.weight', 'embeddings.word_embeddings.weight', [vocabSize, hiddenSize]),
  )
  const rows = firstPosition + contextLength
  const positions = stored('position_embd.weight', 'embeddings.position_embeddings.weight', [
    rows,
    hiddenSize,
  ])
  const kinds = stored('token_types.weight', 'embeddings.token_type_embeddings.weight', [types, hiddenSize])
  if (kindsOf(placed) !== undefined) weights.set('kinds.weight', kinds)
  const added = kindsOf(placed) === undefined ? kinds : undefined
  weights.set('positions.weight', rowsWith(positions, firstPosition, contextLength, added))
  norm('embed_norm', 'token_embd_norm', 'embeddings.LayerNorm')
  const widths: ReadonlyMap<string, readonly [number, number]> = new Map([
    ['mlp_up', [intermediateSize, hiddenSize]],
    ['mlp_down', [hiddenSize, intermediateSize]],
  ])
  for (let layer = 0; layer < layers; layer++) {
    for (const module of MODULES) {
      const [name, gguf, safetensors] = module.map((each) => each.replace('.N.', `.${layer}.`)) as [
        string,
        string,
        string,
      ]
      if (name.endsWith('norm')) {
        norm(name, gguf, safetensors)
        continue
      }
      const shape = widths.get(name.split('.')[2] ?? '') ?? [hiddenSize, hiddenSize]
      weights.set(`${name}.weight`, stored(`${gguf}.weight`, `${safetensors}.weight`, shape))
      weights.set(`${name}.bias`, stored(`${gguf}.bias`, `${safetensors}.bias`, shape.slice(0, 1)))
    }
  }
  refuseUnread(file, used)
  return weights
}

/** In files of classes with a head, the encoder's tensor names begin with its family. */
export const prefixOf = ({ tensors }: ModelFile): string =>
  ['', 'bert.', 'roberta.'].find((each) => tensors.has(`${each}embeddings.word_embeddings.weight`)) ?? ''

/**
 * `count` rows of `table` from `first` on, each plus the first row of `added`, as f32. A single text has only
 * tokens of the first type, so their embedding is added to the positions'.
 */
const rowsWith = (table: TensorInfo, first: number, count: number, added?: TensorInfo): TensorInfo =>
  changedRows(table, first, count, async (values, _, signal) => {
    if (added === undefined) return
    const row = await readRows(added, 0, 1, signal)
    for (let i = 0; i < values.length; i++) values[i] = values[i]! + row[i % row.length]!
  })

/** BERT, RoBERTa and XLM-RoBERTa: transformers' BertModel and its relatives. */
export const BERT: EncoderFamily = {
  name: 'BERT (MiniLM, BGE, E5, GTE), RoBERTa, XLM-RoBERTa',
  isOf: (file) => kindOf(file, configFields(file)) !== undefined,
  config: bertConfig,
  weights: bertWeights,
  graph: (placed) => encoder(placed.config, kindsOf(placed)),
}
