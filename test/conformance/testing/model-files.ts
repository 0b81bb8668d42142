// Writes a random model as one GGUF file, or as safetensors with their JSON files.
import { floatToHalf } from '../../../src/core/base/half.ts'
import type { DType } from '../../../src/core/formats/tensors.ts'
import { byteLevelSpec, jsonSpec } from '../../../src/core/text/testing/tiny.ts'
import { isQwen2, type Llama3Scaling, type RandomModel } from './random-llama.ts'
import {
  type GgufContents,
  type GgufTensor,
  type GgufValue,
  ggufBytes,
  renamed,
} from './writers/gguf-writer.ts'
import type { RandomTensor } from './writers/random-tensor.ts'
import { type StoredTensor, safetensorsBytes } from './writers/safetensors-writer.ts'

export type FloatType = Extract<DType, 'F32' | 'F16' | 'BF16'>

/** Stores matrices in `dtype` and vectors in F32. Applies `changes` last, which may be inconsistent. */
export async function ggufFile(
  model: RandomModel,
  dtype: FloatType = 'F32',
  changes: Partial<GgufContents> = {},
): Promise<File> {
  const contents = ggufContents(model, dtype)
  const metadata = { ...contents.metadata, ...changes.metadata }
  return newFile('random.gguf', await ggufBytes({ ...contents, ...changes, metadata }))
}

export function ggufContents({ config, weights }: RandomModel, dtype: FloatType): GgufContents {
  const tensors = [...weights].map(([name, tensor]) =>
    ggufTensor(ggufName(name), isPermuted(name) ? interleaved(tensor, config.head_dim) : tensor, dtype),
  )
  if (config.rope_scaling !== undefined) {
    const values = ropeDivisors(config.rope_scaling, config.rope_theta, config.head_dim)
    tensors.push(ggufTensor('rope_freqs.weight', { shape: [values.length], values }, 'F32'))
  }
  return { metadata: ggufMetadata({ config, weights }), tensors }

  function isPermuted(name: string): boolean {
    return !isQwen2(config) && /[qk]_proj/.test(name)
  }
}

function ggufMetadata({ config }: RandomModel): Record<string, GgufValue> {
  const family = isQwen2(config) ? 'qwen2' : 'llama'
  return {
    'general.architecture': ['string', family],
    'general.name': ['string', 'random'],
    [`${family}.block_count`]: ['u32', config.num_hidden_layers],
    [`${family}.context_length`]: ['u32', config.max_position_embeddings],
    [`${family}.embedding_length`]: ['u32', config.hidden_size],
    [`${family}.feed_forward_length`]: ['u32', config.intermediate_size],
    [`${family}.attention.head_count`]: ['u32', config.num_attention_heads],
    [`${family}.attention.head_count_kv`]: ['u32', config.num_key_value_heads],
    [`${family}.attention.key_length`]: ['u32', config.head_dim],
    [`${family}.attention.value_length`]: ['u32', config.head_dim],
    [`${family}.attention.layer_norm_rms_epsilon`]: ['f32', config.rms_norm_eps],
    [`${family}.rope.freq_base`]: ['f32', config.rope_theta],
    [`${family}.rope.dimension_count`]: ['u32', config.head_dim],
    ...(config.sliding_window !== undefined && {
      [`${family}.attention.sliding_window`]: ['u32', config.sliding_window] as const,
    }),
    ...tokenizerMetadata(),
  }
}

/** model.safetensors with config.json, tokenizer.json and tokenizer_config.json, like a folder on the hub. */
export function safetensorsFiles({ config, weights }: RandomModel, dtype: FloatType = 'F32'): File[] {
  const tensors: Record<string, StoredTensor> = {}
  for (const [name, { shape, values }] of weights) {
    tensors[name] = { dtype, shape, data: encode(values, dtype) }
  }
  return hubFolder(config, tensors)
}

/** GGUF tokenizer metadata of every random model. */
export function tokenizerMetadata(): Record<string, GgufValue> {
  const { tokens, merges = [], types = [], bosId = 0, eosId = 0 } = byteLevelSpec()
  return {
    'tokenizer.ggml.model': ['string', 'gpt2'],
    'tokenizer.ggml.pre': ['string', 'gpt-2'],
    'tokenizer.ggml.tokens': ['string[]', tokens],
    'tokenizer.ggml.merges': ['string[]', merges],
    'tokenizer.ggml.token_type': ['i32[]', types],
    'tokenizer.ggml.bos_token_id': ['u32', bosId],
    'tokenizer.ggml.eos_token_id': ['u32', eosId],
  }
}

/** model.safetensors, its configuration and the same tokenizer, like a folder on the hub. */
export function hubFolder(config: object, tensors: Readonly<Record<string, StoredTensor>>): File[] {
  const { tokenizer, config: tokenizerConfig } = jsonSpec()
  return [
    newFile('model.safetensors', safetensorsBytes(tensors)),
    jsonFile('config.json', config),
    jsonFile('tokenizer.json', tokenizer),
    jsonFile('tokenizer_config.json', tokenizerConfig),
  ]
}

export function jsonFile(name: string, value: unknown): File {
  return new File([JSON.stringify(value)], name)
}

export function newFile(name: string, bytes: Uint8Array): File {
  return new File([bytes as Uint8Array<ArrayBuffer>], name)
}

/** The values after storage: matrices rounded to `dtype`, and vectors too if `vectors` is true. */
export function rounded({ config, weights }: RandomModel, dtype: FloatType, vectors: boolean): RandomModel {
  const round = ({ shape, values }: RandomTensor): RandomTensor =>
    dtype === 'F32' || (shape.length === 1 && !vectors)
      ? { shape, values }
      : { shape, values: values.map((value) => decodeOne(dtype, encodeOne(dtype, value))) }
  return { config, weights: new Map([...weights].map(([name, tensor]) => [name, round(tensor)])) }
}

function ggufTensor(name: string, { shape, values }: RandomTensor, dtype: FloatType): GgufTensor {
  const stored = shape.length === 1 ? 'F32' : dtype
  return { name, dtype: stored, shape, data: () => [encode(values, stored)] }
}

const GGUF_NAMES: readonly (readonly [string | RegExp, string])[] = [
  ['model.embed_tokens', 'token_embd'],
  ['model.norm', 'output_norm'],
  ['lm_head', 'output'],
  ['model.layers', 'blk'],
  ['input_layernorm', 'attn_norm'],
  ['post_attention_layernorm', 'ffn_norm'],
  ['self_attn.o_proj', 'attn_output'],
  [/self_attn\.([qkv])_proj/, 'attn_$1'],
  [/self_attn\.([qk])_norm/, 'attn_$1_norm'],
  [/mlp\.(gate|up|down)_proj/, 'ffn_$1'],
  ['mlp.gate', 'ffn_gate_inp'],
]

/** `first`: a family's own names, which are replaced before the common ones. */
export function ggufName(name: string, first: readonly (readonly [string | RegExp, string])[] = []): string {
  return renamed(name, [...first, ...GGUF_NAMES])
}

/**
 * Puts the rows of each head in the order of llama.cpp's converter for `llama`: i and i + headDim/2 become
 * neighbours.
 */
export function interleaved({ shape, values }: RandomTensor, headDim: number): RandomTensor {
  const [rows = 0, k = 0] = shape
  const moved = new Float32Array(values.length)
  for (let row = 0; row < rows; row++) {
    const head = Math.floor(row / headDim) * headDim
    const within = row % headDim
    const from = head + Math.floor(within / 2) + (within % 2) * (headDim / 2)
    moved.set(values.subarray(from * k, (from + 1) * k), row * k)
  }
  return { shape, values: moved }
}

/** rope_freqs.weight, computed like llama.cpp's converter from wavelengths, while our code uses turns. */
function ropeDivisors(scaling: Llama3Scaling, theta: number, dims: number): Float32Array {
  const { factor, low_freq_factor: low, high_freq_factor: high } = scaling
  const trained = scaling.original_max_position_embeddings
  return Float32Array.from({ length: dims / 2 }, (_, pair) => {
    const wavelength = 2 * Math.PI * theta ** ((2 * pair) / dims)
    if (wavelength < trained / high) return 1
    if (wavelength > trained / low) return factor
    const smooth = (trained / wavelength - low) / (high - low)
    return 1 / ((1 - smooth) / factor + smooth)
  })
}

function encode(values: Float32Array, dtype: FloatType): Uint8Array {
  if (dtype === 'F32') return new Uint8Array(values.slice().buffer)
  return new Uint8Array(Uint16Array.from(values, (value) => encodeOne(dtype, value)).buffer)
}

const one = new DataView(new ArrayBuffer(4))

function encodeOne(dtype: FloatType, value: number): number {
  if (dtype === 'F16') return floatToHalf(value)
  one.setFloat32(0, value)
  return one.getUint16(0)
}

function decodeOne(dtype: FloatType, bits: number): number {
  if (dtype === 'F16') return halfToFloat(bits)
  one.setUint32(0, bits << 16)
  return one.getFloat32(0)
}

/** Written out, so that the engine's table is not compared with itself. */
function halfToFloat(bits: number): number {
  const exponent = (bits >> 10) & 31
  const fraction = bits & 1023
  const size = exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15)
  return bits & 0x8000 ? -size : size
}
