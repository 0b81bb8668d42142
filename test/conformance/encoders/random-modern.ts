// Makes random ModernBERT encoders and rerankers, and computes their hidden states and scores by
// definition in f64, following transformers' ModernBertModel and ModernBertForSequenceClassification.

import { erf } from '../../../src/core/base/erf.ts'
import { Random } from '../../helpers/random.ts'
import { attend, layerNorm, plus, products, rotated } from '../testing/definition.ts'
import { newFile, tokenizerMetadata } from '../testing/model-files.ts'
import { f32Tensors, type GgufValue, ggufBytes, renamed } from '../testing/writers/gguf-writer.ts'
import { VOCABULARY_SIZE, type Weight } from './random-bodies.ts'

export interface RandomModern {
  readonly family: 'modern'
  /** The keys of config.json. */
  readonly config: Readonly<Record<string, unknown>> & {
    readonly hidden_size: number
    readonly num_hidden_layers: number
    readonly num_attention_heads: number
    readonly intermediate_size: number
    readonly local_attention: number
    readonly global_attn_every_n_layers: number
    readonly classifier_pooling: 'cls' | 'mean'
  }
  /** Keyed by the names of transformers, without the encoder's prefix. */
  readonly weights: ReadonlyMap<string, Weight>
}

const EPSILON = 1e-5
const GLOBAL_THETA = 160_000
const LOCAL_THETA = 10_000
const MAX_POSITIONS = 200

/** Sizes that are odd for kernels of 4, 8 and 32 lanes, and windows shorter than the texts. */
export function randomModern(seed: number, isReranker = false): RandomModern {
  const random = new Random(`modern ${seed}`)
  const heads = random.between(1, 5)
  const hidden = heads * 4 * random.between(1, 9)
  const inner = random.between(5, 150)
  const config = {
    architectures: [`ModernBert${isReranker ? 'ForSequenceClassification' : 'Model'}`],
    model_type: 'modernbert',
    hidden_size: hidden,
    num_hidden_layers: random.between(1, 5),
    num_attention_heads: heads,
    intermediate_size: inner,
    vocab_size: VOCABULARY_SIZE,
    max_position_embeddings: MAX_POSITIONS,
    norm_eps: EPSILON,
    global_rope_theta: GLOBAL_THETA,
    local_rope_theta: LOCAL_THETA,
    local_attention: random.between(4, 40),
    global_attn_every_n_layers: random.between(2, 3),
    classifier_pooling: random.pick(['cls', 'mean'] as const),
    hidden_activation: 'gelu',
    classifier_activation: 'gelu',
    ...{ attention_bias: false, mlp_bias: false, norm_bias: false, classifier_bias: false },
  }
  const weights = new Map<string, Weight>()
  const draw = (name: string, shape: readonly number[], scale: number, middle = 0) => {
    const length = shape.reduce((product, size) => product * size, 1)
    weights.set(name, {
      shape,
      values: Float32Array.from({ length }, () => middle + scale * random.signed()),
    })
  }
  const matrix = (name: string, n: number, k: number) => draw(`${name}.weight`, [n, k], 1.7 / Math.sqrt(k))
  const norm = (name: string) => draw(`${name}.weight`, [hidden], 0.4, 1)
  draw('embeddings.tok_embeddings.weight', [VOCABULARY_SIZE, hidden], 1)
  norm('embeddings.norm')
  for (let layer = 0; layer < config.num_hidden_layers; layer++) {
    const at = `layers.${layer}`
    if (layer > 0) norm(`${at}.attn_norm`)
    matrix(`${at}.attn.Wqkv`, 3 * hidden, hidden)
    matrix(`${at}.attn.Wo`, hidden, hidden)
    norm(`${at}.mlp_norm`)
    matrix(`${at}.mlp.Wi`, 2 * inner, hidden)
    matrix(`${at}.mlp.Wo`, hidden, inner)
  }
  norm('final_norm')
  if (isReranker) {
    matrix('head.dense', hidden, hidden)
    norm('head.norm')
    matrix('classifier', 1, hidden)
    draw('classifier.bias', [1], 0.3)
  }
  return { family: 'modern', config, weights }
}

const GGUF_NAMES: readonly (readonly [string | RegExp, string])[] = [
  ['embeddings.tok_embeddings', 'token_embd'],
  ['embeddings.norm', 'token_embd_norm'],
  ['final_norm', 'output_norm'],
  [/^layers\.(\d+)/, 'blk.$1'],
  ['attn.Wqkv', 'attn_qkv'],
  ['attn.Wo', 'attn_output'],
  ['mlp_norm', 'ffn_norm'],
  ['mlp.Wi', 'ffn_up'],
  ['mlp.Wo', 'ffn_down'],
  ['head.dense', 'cls'],
  ['head.norm', 'cls.norm'],
  ['classifier', 'cls.output'],
]

/** The file as written by llama.cpp's converter. `pooling`: 4 is a reranker's. */
export async function modernGguf({ config, weights }: RandomModern, pooling = 1): Promise<File> {
  const key = (name: string) => `modern-bert.${name}`
  const metadata: Record<string, GgufValue> = {
    'general.architecture': ['string', 'modern-bert'],
    'general.name': ['string', 'random'],
    [key('block_count')]: ['u32', config.num_hidden_layers],
    [key('context_length')]: ['u32', MAX_POSITIONS],
    [key('embedding_length')]: ['u32', config.hidden_size],
    [key('feed_forward_length')]: ['u32', config.intermediate_size],
    [key('attention.head_count')]: ['u32', config.num_attention_heads],
    [key('attention.layer_norm_epsilon')]: ['f32', EPSILON],
    [key('attention.causal')]: ['bool', false],
    [key('attention.sliding_window')]: ['u32', config.local_attention],
    [key('attention.sliding_window_pattern')]: ['u32', config.global_attn_every_n_layers],
    [key('rope.freq_base')]: ['f32', GLOBAL_THETA],
    [key('rope.freq_base_swa')]: ['f32', LOCAL_THETA],
    [key('rope.scaling.type')]: ['string', 'none'],
    [key('pooling_type')]: ['u32', pooling],
    ...tokenizerMetadata(),
    'tokenizer.ggml.add_bos_token': ['bool', true],
    'tokenizer.ggml.add_eos_token': ['bool', true],
  }
  const tensors = f32Tensors(weights, (name) => renamed(name, GGUF_NAMES))
  return newFile('random.gguf', await ggufBytes({ metadata, tensors }))
}

const gelu = (x: number): number => (x * (1 + erf(x / Math.SQRT2))) / 2

/** The operations that use a model's weights. */
function operations({ weights }: RandomModern) {
  const valuesOf = (name: string) => weights.get(name)!.values
  const linear = (name: string, x: Float64Array) => products(valuesOf(`${name}.weight`), x)
  const norm = (name: string, x: Float64Array): Float64Array =>
    layerNorm(x, EPSILON, valuesOf(`${name}.weight`))
  return { valuesOf, linear, norm }
}

/** The hidden states of `ids` [rows][hidden size]. */
export function modernStates(model: RandomModern, ids: readonly number[]): Float64Array[] {
  const { config } = model
  const { valuesOf, linear, norm } = operations(model)
  const { hidden_size: width, num_attention_heads: heads, intermediate_size: inner } = config
  const dim = width / heads
  const table = valuesOf('embeddings.tok_embeddings.weight')
  let rows = ids.map((id) =>
    norm('embeddings.norm', Float64Array.from(table.subarray(id * width, (id + 1) * width))),
  )
  for (let layer = 0; layer < config.num_hidden_layers; layer++) {
    const at = `layers.${layer}`
    const isLocal = layer % config.global_attn_every_n_layers !== 0
    const theta = isLocal ? LOCAL_THETA : GLOBAL_THETA
    const reach = isLocal ? Math.floor(config.local_attention / 2) : Number.POSITIVE_INFINITY
    const qkv = rows.map((x) => linear(`${at}.attn.Wqkv`, layer === 0 ? x : norm(`${at}.attn_norm`, x)))
    const q = qkv.map((x, position) => rotated(x.slice(0, width), dim, position, theta))
    const k = qkv.map((x, position) => rotated(x.slice(width, 2 * width), dim, position, theta))
    const v = qkv.map((x) => x.slice(2 * width))
    rows = rows.map((x, m) => {
      const y = attend(q[m]!, k, v, dim, (product, _, p) =>
        Math.abs(m - p) > reach ? Number.NEGATIVE_INFINITY : product / Math.sqrt(dim),
      )
      const mixed = plus(x, linear(`${at}.attn.Wo`, y))
      const wide = linear(`${at}.mlp.Wi`, norm(`${at}.mlp_norm`, mixed))
      const gated = wide.slice(0, inner).map((value, i) => gelu(value) * wide[inner + i]!)
      return plus(mixed, linear(`${at}.mlp.Wo`, gated))
    })
  }
  return rows.map((x) => norm('final_norm', x))
}

/** A reranker's score for a pair's ids, before its activation. */
export function modernScore(model: RandomModern, ids: readonly number[]): number {
  const { valuesOf, linear, norm } = operations(model)
  const rows = modernStates(model, ids)
  const pooled =
    model.config.classifier_pooling === 'cls'
      ? rows[0]!
      : rows[0]!.map((_, i) => rows.reduce((sum, row) => sum + row[i]!, 0) / rows.length)
  const made = norm('head.norm', linear('head.dense', pooled).map(gelu))
  return linear('classifier', made)[0]! + valuesOf('classifier.bias')[0]!
}
