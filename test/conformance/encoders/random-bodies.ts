// Makes random encoders with Qwen3 and Gemma 3 layers, and computes their hidden states by definition in f64,
// following transformers' Qwen3Model and Gemma3TextModel.

import { jsonSpec } from '../../../src/core/text/testing/tiny.ts'
import { Random } from '../../helpers/random.ts'
import { attend, plus, products, rotated } from '../testing/definition.ts'
import { jsonFile, newFile, tokenizerMetadata } from '../testing/model-files.ts'
import { f32Tensors, type GgufValue, ggufBytes, renamed } from '../testing/writers/gguf-writer.ts'
import { safetensorsBytes } from '../testing/writers/safetensors-writer.ts'

export interface Weight {
  readonly shape: readonly number[]
  readonly values: Float32Array
}
export interface RandomBody {
  readonly family: 'qwen3' | 'gemma'
  /** The keys of config.json. */
  readonly config: Readonly<Record<string, unknown>> & {
    readonly hidden_size: number
    readonly num_hidden_layers: number
    readonly num_attention_heads: number
    readonly num_key_value_heads: number
    readonly head_dim: number
    readonly intermediate_size: number
    readonly rms_norm_eps: number
    readonly rope_theta: number
    readonly sliding_window: number
    readonly max_position_embeddings: number
  }
  /** Keyed by the names of transformers' models without a head. */
  readonly weights: ReadonlyMap<string, Weight>
}

const { tokenizer } = jsonSpec()
export const VOCABULARY_SIZE =
  Object.keys((tokenizer['model'] as { vocab: object }).vocab).length +
  (tokenizer['added_tokens'] as object[]).length
const EPSILON = 1e-6
const LOCAL_THETA = 10_000
/** Layers of Gemma without a window. */
const isFull = (layer: number): boolean => layer % 3 === 2

/**
 * Its sizes need not be multiples of the kernels' 4, 8 and 32 lanes, and its windows are shorter than the
 * texts.
 */
export function randomBody(family: RandomBody['family'], seed: number): RandomBody {
  const random = new Random(`${family} ${seed}`)
  const isGemma = family === 'gemma'
  const kvHeads = random.between(1, 3)
  const heads = kvHeads * random.between(1, 3)
  const dim = 4 * random.between(1, 9)
  const hidden = 4 * random.between(2, 31)
  const inner = random.between(5, 150)
  const layers = random.between(1, 3) + (isGemma ? 1 : 0)
  const config = {
    architectures: [isGemma ? 'Gemma3TextModel' : 'Qwen3ForCausalLM'],
    model_type: isGemma ? 'gemma3_text' : 'qwen3',
    hidden_size: hidden,
    num_hidden_layers: layers,
    num_attention_heads: heads,
    num_key_value_heads: kvHeads,
    head_dim: dim,
    intermediate_size: inner,
    vocab_size: VOCABULARY_SIZE,
    max_position_embeddings: 200,
    rms_norm_eps: EPSILON,
    rope_theta: isGemma ? 1e6 : 1e4,
    rope_scaling: null,
    attention_bias: false,
    sliding_window: random.between(4, 40),
    ...(isGemma
      ? {
          hidden_activation: 'gelu_pytorch_tanh',
          use_bidirectional_attention: true,
          // Other values of these settings have no GGUF keys.
          query_pre_attn_scalar: seed % 3 === 2 ? dim : random.between(4, 64),
          rope_local_base_freq: LOCAL_THETA,
          layer_types: Array.from({ length: layers }, (_, layer) =>
            isFull(layer) ? 'full_attention' : 'sliding_attention',
          ),
        }
      : { hidden_act: 'silu', use_sliding_window: false, tie_word_embeddings: true }),
  }
  const weights = new Map<string, Weight>()
  const draw = (name: string, shape: readonly number[], scale: number, middle = 0) => {
    const length = shape.reduce((product, size) => product * size, 1)
    const values = Float32Array.from({ length }, () => middle + scale * random.signed())
    weights.set(`${name}.weight`, { shape, values })
  }
  const matrix = (name: string, n: number, k: number) => draw(name, [n, k], 1.7 / Math.sqrt(k))
  const norm = (name: string, width = hidden) => draw(name, [width], 0.4, isGemma ? 0 : 1)
  draw('embed_tokens', [VOCABULARY_SIZE, hidden], isGemma ? 1 / Math.sqrt(hidden) : 1)
  for (let layer = 0; layer < layers; layer++) {
    const at = `layers.${layer}`
    matrix(`${at}.self_attn.q_proj`, heads * dim, hidden)
    for (const part of ['k', 'v']) matrix(`${at}.self_attn.${part}_proj`, kvHeads * dim, hidden)
    matrix(`${at}.self_attn.o_proj`, hidden, heads * dim)
    for (const part of ['q', 'k']) norm(`${at}.self_attn.${part}_norm`, dim)
    for (const part of ['gate', 'up']) matrix(`${at}.mlp.${part}_proj`, inner, hidden)
    matrix(`${at}.mlp.down_proj`, hidden, inner)
    for (const name of [
      'input',
      'post_attention',
      ...(isGemma ? ['pre_feedforward', 'post_feedforward'] : []),
    ])
      norm(`${at}.${name}_layernorm`)
  }
  norm('norm')
  return { family, config, weights }
}

/** The tokens around each text: Qwen3-Embedding appends one, the others put one on each side. */
export const around = ({
  family,
}: Pick<FolderModel, 'family'>): readonly [readonly number[], readonly number[]] => [
  family === 'qwen3' ? [] : [VOCABULARY_SIZE - 3],
  [VOCABULARY_SIZE - 1],
]

export interface FolderParts {
  readonly prompts?: Readonly<Record<string, string>>
  /** The content of modules.json. Without it, the folder is that of a chat model. */
  readonly modules?: readonly string[]
  readonly pooling?: string
  readonly prefix?: string
  /** Files of modules after the pooling. */
  readonly others?: readonly File[]
}

interface FolderModel extends Pick<RandomBody, 'weights'> {
  readonly family: RandomBody['family'] | 'modern'
  readonly config: Readonly<Record<string, unknown>> & { readonly hidden_size: number }
}

/** The files that sentence-transformers writes. */
export function bodyFolder({ config, weights, family }: FolderModel, parts: FolderParts = {}): File[] {
  const isFramed = family !== 'qwen3'
  const {
    prefix = '',
    modules = ['Transformer', 'Pooling', 'Normalize'],
    pooling = isFramed ? 'pooling_mode_mean_tokens' : 'pooling_mode_lasttoken',
  } = parts
  const tensors = [...weights].map(([name, { shape, values }]) => [
    /^(head|classifier)\./.test(name) ? name : prefix + name,
    { dtype: 'F32', shape, data: new Uint8Array(values.buffer) } as const,
  ])
  const special = (id: string) => ({ SpecialToken: { id, type_id: 0 } })
  const text = (id: string) => ({ Sequence: { id, type_id: 0 } })
  const first = isFramed ? [special('<|bos|>')] : []
  const template = {
    type: 'TemplateProcessing',
    single: [...first, text('A'), special('<|im_end|>')],
    pair: [...first, text('A'), special('<|im_end|>'), text('B'), special('<|im_end|>')],
    special_tokens: Object.fromEntries(
      ['<|bos|>', '<|im_start|>', '<|im_end|>'].map((id, index) => [
        id,
        { id, ids: [VOCABULARY_SIZE - 3 + index], tokens: [id] },
      ]),
    ),
  }
  const withEnd = jsonSpec({
    post_processor: {
      type: 'Sequence',
      processors: [
        { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false },
        template,
      ],
    },
  })
  return [
    newFile('model.safetensors', safetensorsBytes(Object.fromEntries(tensors))),
    jsonFile('config.json', config),
    jsonFile('tokenizer.json', withEnd.tokenizer),
    jsonFile('tokenizer_config.json', withEnd.config),
    ...(modules.length === 0
      ? []
      : [
          jsonFile(
            'modules.json',
            modules.map((kind, idx) => ({
              idx,
              name: String(idx),
              path: kind === 'Transformer' ? '' : `${idx}_${kind}`,
              type: `sentence_transformers.models.${kind}`,
            })),
          ),
          jsonFile('config.json', { word_embedding_dimension: config.hidden_size, [pooling]: true }),
        ]),
    ...(parts.others ?? []),
    ...(parts.prompts ? [jsonFile('config_sentence_transformers.json', { prompts: parts.prompts })] : []),
  ]
}

const GGUF_NAMES: readonly (readonly [string | RegExp, string])[] = [
  [/^norm/, 'output_norm'],
  ['embed_tokens', 'token_embd'],
  [/^layers\.(\d+)/, 'blk.$1'],
  ['input_layernorm', 'attn_norm'],
  ['pre_feedforward_layernorm', 'ffn_norm'],
  ['post_feedforward_layernorm', 'post_ffw_norm'],
  ['self_attn.o_proj', 'attn_output'],
  ['self_attn.', 'attn_'],
  ['mlp.', 'ffn_'],
  ['_proj', ''],
]

/**
 * The file as written by llama.cpp's converter. `pooling`: GGUF's number of the pooling type. Without it, the
 * file is a chat model.
 */
export async function bodyGguf({ config, weights, family }: RandomBody, pooling?: number): Promise<File> {
  const isGemma = family === 'gemma'
  const architecture = isGemma ? 'gemma-embedding' : 'qwen3'
  const u32 = (key: string, value: number): [string, GgufValue] => [`${architecture}.${key}`, ['u32', value]]
  const f32 = (key: string, value: number): [string, GgufValue] => [`${architecture}.${key}`, ['f32', value]]
  const metadata: Record<string, GgufValue> = {
    'general.architecture': ['string', architecture],
    'general.name': ['string', 'random'],
    ...Object.fromEntries([
      u32('block_count', config.num_hidden_layers),
      u32('context_length', config.max_position_embeddings),
      u32('embedding_length', config.hidden_size),
      u32('feed_forward_length', config.intermediate_size),
      u32('attention.head_count', config.num_attention_heads),
      u32('attention.head_count_kv', config.num_key_value_heads),
      u32('attention.key_length', config.head_dim),
      u32('attention.value_length', config.head_dim),
      f32('attention.layer_norm_rms_epsilon', config.rms_norm_eps),
      f32('rope.freq_base', config.rope_theta),
      ...(pooling === undefined ? [] : [u32('pooling_type', pooling)]),
      ...(isGemma ? [u32('attention.sliding_window', config.sliding_window)] : []),
    ]),
    ...(isGemma && {
      [`${architecture}.attention.sliding_window_pattern`]: [
        'bool[]',
        Array.from({ length: config.num_hidden_layers }, (_, layer) => !isFull(layer)),
      ],
    }),
    ...tokenizerMetadata(),
    'tokenizer.ggml.add_bos_token': ['bool', isGemma],
    'tokenizer.ggml.add_eos_token': ['bool', true],
  }
  const other = isGemma ? 'post_attention_norm' : 'ffn_norm'
  const whole = [...weights].map(([name, { shape, values }]) => {
    // The converter adds 1 to the weights of Gemma's norms, because safetensors store them minus 1.
    const isNorm = isGemma && /norm\.weight$/.test(name)
    return [name, { shape, values: isNorm ? values.map((value) => value + 1) : values }] as const
  })
  const names = [['post_attention_layernorm', other], ...GGUF_NAMES] as const
  const tensors = f32Tensors(whole, (name) => renamed(name, names))
  return newFile('random.gguf', await ggufBytes({ metadata, tensors }))
}

/** The hidden states of `ids` [rows][hidden size]. */
export function bodyStates({ config, weights, family }: RandomBody, ids: readonly number[]): Float64Array[] {
  const isGemma = family === 'gemma'
  const { hidden_size: width, num_attention_heads: heads, head_dim: dim } = config
  const shared = heads / config.num_key_value_heads
  const valuesOf = (name: string) => weights.get(`${name}.weight`)!.values
  const linear = (name: string, x: Float64Array) => products(valuesOf(name), x)
  /** RMSNorm over consecutive groups of values, each as long as the norm's weight vector. */
  const norm = (name: string, x: Float64Array): Float64Array => {
    const weight = valuesOf(name)
    const n = weight.length
    return x.map((value, i) => {
      const run = x.subarray(i - (i % n), i - (i % n) + n)
      const mean = run.reduce((sum, each) => sum + each * each, 0) / n
      return (value / Math.sqrt(mean + EPSILON)) * (weight[i % n]! + (isGemma ? 1 : 0))
    })
  }
  const act = (x: number) =>
    isGemma
      ? (x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)))) / 2
      : x / (1 + Math.exp(-x))
  const scale = isGemma ? Number(config['query_pre_attn_scalar']) ** -0.5 : dim ** -0.5
  const table = valuesOf('embed_tokens')
  let rows = ids.map((id) =>
    Float64Array.from(
      table.subarray(id * width, (id + 1) * width),
      (value) => value * (isGemma ? Math.sqrt(width) : 1),
    ),
  )
  for (let layer = 0; layer < config.num_hidden_layers; layer++) {
    const at = `layers.${layer}`
    const isLocal = isGemma && !isFull(layer)
    const theta = isLocal ? LOCAL_THETA : config.rope_theta
    const reach = isLocal ? Math.floor(config.sliding_window / 2) : Number.POSITIVE_INFINITY
    const sees = (from: number, to: number) => (isGemma ? Math.abs(from - to) <= reach : to <= from)
    const inputs = rows.map((x) => norm(`${at}.input_layernorm`, x))
    const turned = (part: string) =>
      inputs.map((x, position) => {
        const product = linear(`${at}.self_attn.${part}_proj`, x)
        return rotated(norm(`${at}.self_attn.${part}_norm`, product), dim, position, theta)
      })
    const [q, k] = [turned('q'), turned('k')]
    const v = inputs.map((x) => linear(`${at}.self_attn.v_proj`, x))
    rows = rows.map((x, m) => {
      const scoreOf = (product: number, _: number, p: number) =>
        sees(m, p) ? product * scale : Number.NEGATIVE_INFINITY
      const y = attend(q[m]!, k, v, dim, scoreOf, shared)
      const made = linear(`${at}.self_attn.o_proj`, y)
      const mixed = plus(x, isGemma ? norm(`${at}.post_attention_layernorm`, made) : made)
      const input = norm(`${at}.${isGemma ? 'pre_feedforward' : 'post_attention'}_layernorm`, mixed)
      const up = linear(`${at}.mlp.up_proj`, input)
      const gated = linear(`${at}.mlp.gate_proj`, input).map((gate, i) => act(gate) * up[i]!)
      const down = linear(`${at}.mlp.down_proj`, gated)
      return plus(mixed, isGemma ? norm(`${at}.post_feedforward_layernorm`, down) : down)
    })
  }
  return rows.map((x) => norm('norm', x))
}
