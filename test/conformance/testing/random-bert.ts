// Makes random BERTs with their WordPiece vocabulary, and computes their embeddings by definition in f64.

import { Random } from '../../helpers/random.ts'
import { attend, layerNorm, plus, products } from './definition.ts'
import { jsonFile, newFile } from './model-files.ts'
import { f32Tensors, type GgufValue, ggufBytes, renamed } from './writers/gguf-writer.ts'
import { safetensorsBytes } from './writers/safetensors-writer.ts'

export interface RandomBert {
  readonly config: Readonly<Record<string, unknown>> & {
    readonly hidden_size: number
    readonly num_hidden_layers: number
    readonly num_attention_heads: number
    readonly intermediate_size: number
    readonly max_position_embeddings: number
    readonly layer_norm_eps: number
    readonly type_vocab_size: number
    /** For nomic-bert only. */
    readonly rotary_emb_base?: number
    readonly model_type: string
    readonly pad_token_id: number
  }
  /** Keyed by the names of transformers. */
  readonly weights: ReadonlyMap<string, { readonly shape: readonly number[]; readonly values: Float32Array }>
}

const LETTERS = [...'abcdefghijklmnopqrstuvwxyz']
/** Special tokens, letters, and some longer pieces. */
export const VOCABULARY: readonly string[] = [
  ...['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'],
  ...LETTERS,
  ...LETTERS.map((letter) => `##${letter}`),
  ...['the', 'cat', '##ing', '##er', 'run', '.', ',', '1', '##2', '中'],
]
const idOf = (token: string): number => VOCABULARY.indexOf(token)

interface BertKind {
  /** Whether it has a head that scores pairs. Default: false. */
  readonly isReranker?: boolean
  /** The prefix of the transformers classes. Default: Bert. */
  readonly family?: 'Bert' | 'Roberta' | 'XLMRoberta'
}

/** Its sizes need not be multiples of the kernels' 4, 8 and 32 lanes. */
export function randomBert(seed: number, { isReranker = false, family = 'Bert' }: BertKind = {}): RandomBert {
  const isBert = family === 'Bert'
  const random = new Random(seed)
  const heads = random.between(1, 5)
  const hidden = heads * 4 * random.between(1, 9)
  const config = {
    architectures: [`${family}${isReranker ? 'ForSequenceClassification' : 'Model'}`],
    model_type: { Bert: 'bert', Roberta: 'roberta', XLMRoberta: 'xlm-roberta' }[family],
    hidden_act: 'gelu',
    hidden_size: hidden,
    num_hidden_layers: random.between(1, 3),
    num_attention_heads: heads,
    intermediate_size: random.between(5, 150),
    vocab_size: VOCABULARY.length,
    max_position_embeddings: random.between(100, 140),
    type_vocab_size: random.between(1, 3),
    layer_norm_eps: 1e-12,
    pad_token_id: isBert ? 0 : 1,
  }
  const weights = new Map<string, { shape: readonly number[]; values: Float32Array }>()
  const draw = (name: string, shape: readonly number[], scale: number, middle = 0) => {
    const count = shape.reduce((product, size) => product * size, 1)
    weights.set(name, {
      shape,
      values: Float32Array.from({ length: count }, () => middle + scale * random.signed()),
    })
  }
  const linear = (name: string, n: number, k: number) => {
    draw(`${name}.weight`, [n, k], 1.7 / Math.sqrt(k))
    draw(`${name}.bias`, [n], 0.3)
  }
  const norm = (name: string) => {
    draw(`${name}.weight`, [hidden], 0.4, 1)
    draw(`${name}.bias`, [hidden], 0.3)
  }
  draw('embeddings.word_embeddings.weight', [VOCABULARY.length, hidden], 1)
  draw('embeddings.position_embeddings.weight', [config.max_position_embeddings, hidden], 0.5)
  draw('embeddings.token_type_embeddings.weight', [config.type_vocab_size, hidden], 0.5)
  norm('embeddings.LayerNorm')
  for (let layer = 0; layer < config.num_hidden_layers; layer++) {
    const at = `encoder.layer.${layer}`
    for (const part of ['query', 'key', 'value']) linear(`${at}.attention.self.${part}`, hidden, hidden)
    linear(`${at}.attention.output.dense`, hidden, hidden)
    norm(`${at}.attention.output.LayerNorm`)
    linear(`${at}.intermediate.dense`, config.intermediate_size, hidden)
    linear(`${at}.output.dense`, hidden, config.intermediate_size)
    norm(`${at}.output.LayerNorm`)
  }
  if (isReranker) {
    const [dense, out] = headNames(isBert)
    linear(dense, hidden, hidden)
    linear(out, 1, hidden)
  }
  return { config, weights }
}

const headNames = (isBert: boolean): readonly [string, string] =>
  isBert ? ['pooler.dense', 'classifier'] : ['classifier.dense', 'classifier.out_proj']

/** A tokenizer file of WordPiece. The first five tokens of the vocabulary are the special ones. */
export const bertTokenizer = (vocabulary: readonly string[]) => ({
  version: '1.0',
  added_tokens: vocabulary.slice(0, 5).map((content, id) => ({
    ...{ id, content, special: true, normalized: false },
    ...{ single_word: false, lstrip: false, rstrip: false },
  })),
  normalizer: {
    ...{ type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true },
    ...{ strip_accents: null, lowercase: true },
  },
  pre_tokenizer: { type: 'BertPreTokenizer' },
  post_processor: {
    type: 'TemplateProcessing',
    single: [
      { SpecialToken: { id: '[CLS]', type_id: 0 } },
      { Sequence: { id: 'A', type_id: 0 } },
      { SpecialToken: { id: '[SEP]', type_id: 0 } },
    ],
    pair: [
      { SpecialToken: { id: '[CLS]', type_id: 0 } },
      { Sequence: { id: 'A', type_id: 0 } },
      { SpecialToken: { id: '[SEP]', type_id: 0 } },
      { Sequence: { id: 'B', type_id: 1 } },
      { SpecialToken: { id: '[SEP]', type_id: 1 } },
    ],
    special_tokens: Object.fromEntries(
      ['[CLS]', '[SEP]'].map((id) => [id, { id, ids: [vocabulary.indexOf(id)], tokens: [id] }]),
    ),
  },
  decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
  model: {
    ...{
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
    },
    vocab: Object.fromEntries(vocabulary.map((token, id) => [token, id])),
  },
})

export interface FolderParts {
  readonly pooling?: object
  readonly isNormalized?: boolean
  readonly mostTokens?: number
  readonly prompts?: Readonly<Record<string, string>>
  /** The prefix of tensor names. */
  readonly prefix?: string
}

/** The files that sentence-transformers writes. Default: mean pooling, normalised. */
export function bertFolder({ config, weights }: RandomBert, parts: FolderParts = {}): File[] {
  const {
    pooling = { pooling_mode_mean_tokens: true },
    isNormalized = true,
    mostTokens,
    prompts,
    prefix = '',
  } = parts
  const tensors = [...weights].map(([name, { shape, values }]) => [
    name.startsWith('classifier') ? name : prefix + name,
    { dtype: 'F32', shape, data: new Uint8Array(values.buffer) } as const,
  ])
  const modules = [
    ['Transformer', ''],
    ['Pooling', '1_Pooling'],
    ...(isNormalized ? [['Normalize', '2_Normalize']] : []),
  ].map(([kind, path], idx) => ({
    idx,
    name: String(idx),
    path,
    type: `sentence_transformers.models.${kind}`,
  }))
  return [
    newFile('model.safetensors', safetensorsBytes(Object.fromEntries(tensors))),
    jsonFile('config.json', config),
    jsonFile('tokenizer.json', bertTokenizer(VOCABULARY)),
    jsonFile('modules.json', modules),
    jsonFile('config.json', { word_embedding_dimension: config.hidden_size, ...pooling }),
    ...(mostTokens === undefined
      ? []
      : [jsonFile('sentence_bert_config.json', { max_seq_length: mostTokens })]),
    ...(prompts === undefined ? [] : [jsonFile('config_sentence_transformers.json', { prompts })]),
  ]
}

/**
 * The files of `bertFolder` by their paths in a real folder, in which the pooling module has its own folder.
 */
export function byPath(files: readonly File[]): Map<string, File> {
  const paths = new Map<string, File>()
  for (const file of files) paths.set(paths.has(file.name) ? `1_Pooling/${file.name}` : file.name, file)
  return paths
}

const GGUF_NAMES: readonly (readonly [string | RegExp, string])[] = [
  ['embeddings.word_embeddings', 'token_embd'],
  ['embeddings.position_embeddings', 'position_embd'],
  ['embeddings.token_type_embeddings', 'token_types'],
  ['embeddings.LayerNorm', 'token_embd_norm'],
  [/encoder\.layer\.(\d+)/, 'blk.$1'],
  ['attention.self.layer_norm_q', 'attn_q_norm'],
  ['attention.self.layer_norm_k', 'attn_k_norm'],
  ['layer_norm_1', 'attn_norm_2'],
  ['layer_norm_2', 'layer_output_norm'],
  ['mlp.up_gated_layer', 'ffn_up'],
  ['mlp.down_layer', 'ffn_down'],
  ['attention.self.query', 'attn_q'],
  ['attention.self.key', 'attn_k'],
  ['attention.self.value', 'attn_v'],
  ['attention.output.dense', 'attn_output'],
  ['attention.output.LayerNorm', 'attn_output_norm'],
  ['intermediate.dense', 'ffn_up'],
  ['output.dense', 'ffn_down'],
  ['output.LayerNorm', 'layer_output_norm'],
  ['emb_ln', 'token_embd_norm'],
  [/encoder\.layers\.(\d+)/, 'blk.$1'],
  ['attn.Wqkv', 'attn_qkv'],
  ['attn.out_proj', 'attn_output'],
  ['norm1', 'attn_output_norm'],
  ['norm2', 'layer_output_norm'],
  ['mlp.fc11', 'ffn_up'],
  ['mlp.fc12', 'ffn_gate'],
  ['mlp.fc2', 'ffn_down'],
  ['pooler.dense', 'cls'],
  [/^classifier\b/, 'cls.output'],
  ['mlp.gated_layers', 'ffn_up'],
  ['mlp.gate', 'ffn_gate'],
  ['mlp.up', 'ffn_up'],
  ['mlp.wo', 'ffn_down'],
  ['mlp.layernorm', 'layer_output_norm'],
]

/**
 * The file as written by llama.cpp's converter: words begin with a phantom space, and parts of words have no
 * mark.
 */
export async function bertGguf(
  { config, weights }: RandomBert,
  pooling = 1,
  architecture = 'bert',
): Promise<File> {
  const number = (key: string, value: unknown): [string, GgufValue] => [
    `${architecture}.${key}`,
    ['u32', value as number],
  ]
  const metadata: Record<string, GgufValue> = {
    'general.architecture': ['string', architecture],
    'general.name': ['string', 'random'],
    ...Object.fromEntries([
      number('block_count', config.num_hidden_layers),
      number('context_length', config.max_position_embeddings),
      number('embedding_length', config.hidden_size),
      number('feed_forward_length', config.intermediate_size),
      number('attention.head_count', config.num_attention_heads),
      number('pooling_type', pooling),
    ]),
    [`${architecture}.attention.causal`]: ['bool', false],
    [`${architecture}.attention.layer_norm_epsilon`]: ['f32', config.layer_norm_eps],
    ...(config.rotary_emb_base !== undefined && {
      [`${architecture}.rope.freq_base`]: ['f32', config.rotary_emb_base] as const,
    }),
    'tokenizer.ggml.model': ['string', 'bert'],
    'tokenizer.ggml.tokens': [
      'string[]',
      VOCABULARY.map((token) =>
        token.startsWith('[') && token.length > 1
          ? token
          : token.startsWith('##')
            ? token.slice(2)
            : `\u2581${token}`,
      ),
    ],
    'tokenizer.ggml.token_type': ['i32[]', VOCABULARY.map((_, id) => (id < 5 ? 3 : 1))],
    'tokenizer.ggml.token_type_count': ['u32', config.type_vocab_size],
    'tokenizer.ggml.unknown_token_id': ['u32', idOf('[UNK]')],
    'tokenizer.ggml.cls_token_id': ['u32', idOf('[CLS]')],
    'tokenizer.ggml.seperator_token_id': ['u32', idOf('[SEP]')],
  }
  const tensors = f32Tensors(weights, (name) => renamed(name, GGUF_NAMES))
  return newFile('random.gguf', await ggufBytes({ metadata, tensors }))
}

/** The ids of a text made of the vocabulary's words and of letters, by the definition of WordPiece. */
export function wordPieces(text: string): number[] {
  const words = text.toLowerCase().match(/[a-z0-9]+|[^\sa-z0-9]/g) ?? []
  const ids = words.flatMap((word) => {
    const found: number[] = []
    for (let start = 0; start < word.length; ) {
      let end = word.length
      const piece = () => (start > 0 ? '##' : '') + word.slice(start, end)
      while (end > start && idOf(piece()) < 0) end--
      if (end === start) return [idOf('[UNK]')]
      found.push(idOf(piece()))
      start = end
    }
    return found
  })
  return [idOf('[CLS]'), ...ids, idOf('[SEP]')]
}

/** The error function, computed by its series or, where that converges slowly, by its continued fraction. */
function erf(x: number): number {
  if (Math.abs(x) > 3) {
    let fraction = 0
    for (let n = 60; n > 0; n--) fraction = n / 2 / (Math.abs(x) + fraction)
    return Math.sign(x) * (1 - Math.exp(-x * x) / ((Math.abs(x) + fraction) * Math.sqrt(Math.PI)))
  }
  let term = x
  let sum = x
  for (let n = 1; n < 80; n++) {
    term *= (-x * x) / n
    sum += term / (2 * n + 1)
  }
  return (2 / Math.sqrt(Math.PI)) * sum
}

/** The hidden states of `ids` [rows][hidden size]. `kinds`: token types, by row. Default: all 0. */
export function bertStates(
  { config, weights }: RandomBert,
  ids: readonly number[],
  kinds: readonly number[] = [],
): Float64Array[] {
  const { hidden_size: width, num_attention_heads: heads, layer_norm_eps: epsilon } = config
  const dim = width / heads
  const firstPosition = config.model_type === 'bert' ? 0 : config.pad_token_id + 1
  const valuesOf = (name: string) => weights.get(name)!.values
  const rowOf = (name: string, row: number) =>
    valuesOf(`embeddings.${name}`).subarray(row * width, (row + 1) * width)
  const linear = (name: string, x: Float64Array) =>
    products(valuesOf(`${name}.weight`), x, valuesOf(`${name}.bias`))
  const norm = (name: string, x: Float64Array) =>
    layerNorm(x, epsilon, valuesOf(`${name}.weight`), valuesOf(`${name}.bias`))
  let rows = ids.map((id, position) => {
    const word = rowOf('word_embeddings.weight', id)
    const place = rowOf('position_embeddings.weight', firstPosition + position)
    const type = rowOf('token_type_embeddings.weight', kinds[position] ?? 0)
    const sum = Float64Array.from(word, (value, i) => value + place[i]! + type[i]!)
    return norm('embeddings.LayerNorm', sum)
  })
  for (let layer = 0; layer < config.num_hidden_layers; layer++) {
    const at = `encoder.layer.${layer}`
    const part = (name: string) => rows.map((x) => linear(`${at}.attention.self.${name}`, x))
    const [q, k, v] = [part('query'), part('key'), part('value')]
    rows = rows.map((x, m) => {
      const y = attend(q[m]!, k, v, dim, (product) => product / Math.sqrt(dim))
      const mixed = norm(
        `${at}.attention.output.LayerNorm`,
        plus(x, linear(`${at}.attention.output.dense`, y)),
      )
      const up = linear(`${at}.intermediate.dense`, mixed).map((u) => (u * (1 + erf(u / Math.SQRT2))) / 2)
      return norm(`${at}.output.LayerNorm`, plus(mixed, linear(`${at}.output.dense`, up)))
    })
  }
  return rows
}

/** A reranker's score for two texts, before its activation. */
export function bertScore(model: RandomBert, first: string, second: string): number {
  const a = wordPieces(first)
  const b = wordPieces(second).slice(1)
  const kinds = [...a.map(() => 0), ...b.map(() => Math.min(1, model.config.type_vocab_size - 1))]
  return bertScoreOf(model, [...a, ...b], kinds)
}

/** The same for the ids of a pair. `kinds`: token types, by row. Default: all 0. */
export function bertScoreOf(model: RandomBert, ids: readonly number[], kinds?: readonly number[]): number {
  const [state] = bertStates(model, ids, kinds)
  const valuesOf = (name: string) => model.weights.get(name)!.values
  const [denseName, outName] = headNames(model.config.model_type === 'bert')
  const dense = valuesOf(`${denseName}.weight`)
  const out = valuesOf(`${outName}.weight`)
  const pooled = Array.from(valuesOf(`${denseName}.bias`), (bias, n) =>
    Math.tanh(state!.reduce((sum, x, k) => sum + x * dense[n * state!.length + k]!, bias)),
  )
  return pooled.reduce((sum, value, n) => sum + value * out[n]!, valuesOf(`${outName}.bias`)[0]!)
}

/** A weighted mean of rows. */
export function pooled(rows: readonly Float64Array[], weightOf: (row: number) => number): Float64Array {
  const total = rows.reduce((sum, _, row) => sum + weightOf(row), 0)
  return rows[0]!.map((_, i) => rows.reduce((sum, row, m) => sum + (weightOf(m) / total) * row[i]!, 0))
}

export function scaled(vector: Float64Array): Float64Array {
  const length = Math.hypot(...vector)
  return vector.map((value) => value / length)
}
