// A model that never stops. The files of a small random Llama that writes meaningless Markdown.

import { Random } from '../test/helpers/random.ts'

/** Values in f16. */
const HALF = 0x3800
const SIXTEEN = 0x4c00

/** A file as the page gets it, picked or from a server. */
export interface ModelFile {
  readonly name: string
  readonly buffer: Buffer
}

const SHAPE = { hidden: 256, layers: 6, heads: 4, kvHeads: 2, headDim: 64, intermediate: 768 }
/** None of these ends an answer, and the files name no end token, so any token may be drawn. */
const SPECIALS = ['<|pad|>', '<|bos|>', '<|turn|>', '<|user|>', '<|assistant|>', '<|system|>']
/** The only words it writes, in the alphabet of byte-level BPE, where Ġ is a space and Ċ a line break. */
const WORDS = [
  ...' the a river fox moon bread old small and then over under sang walked slept quietly tomorrow'.split(
    ' ',
  ),
  ...' because nobody seven eleven lantern kettle orchard thunder whisper **bold** *soft* `code`'.split(' '),
  ...' [link](https://example.com) ~~gone~~ window harbour pepper violin marble feather'.split(' '),
]
  .filter((word) => word !== '')
  .map((word) => `Ġ${word}`)
  .concat(['.', ',', 'ĊĊ', 'ĊĊ##ĠThe', 'ĊĊ-Ġone', 'ĊĊ>Ġso', 'ĊĊ```ĊcodeĊ```ĊĊ', 'ĊĊ|Ġa|Ġb|Ċ|-|-|Ċ|Ġc|Ġd|ĊĊ'])

/**
 * A safetensors folder of about 11 MB: enough work per token to watch an answer and stop it. `isMute`: it
 * loads, but its logits are not numbers. Default: false.
 */
export function endlessModel({ isMute = false } = {}): readonly ModelFile[] {
  const { hidden, layers, heads, kvHeads, headDim, intermediate } = SHAPE
  const tokens = [...SPECIALS, ...byteAlphabet(), ...WORDS]
  const config = {
    architectures: ['LlamaForCausalLM'],
    model_type: 'llama',
    vocab_size: tokens.length,
    hidden_size: hidden,
    num_hidden_layers: layers,
    intermediate_size: intermediate,
    num_attention_heads: heads,
    num_key_value_heads: kvHeads,
    head_dim: headDim,
    max_position_embeddings: 32768,
    rope_theta: 10000,
    rms_norm_eps: 1e-5,
    hidden_act: 'silu',
    tie_word_embeddings: false,
    bos_token_id: 1,
  }
  const tokenizer = {
    version: '1.0',
    added_tokens: SPECIALS.map((content, id) => ({ id, content, special: true, normalized: false })),
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
    decoder: { type: 'ByteLevel' },
    model: { type: 'BPE', vocab: Object.fromEntries(tokens.map((token, id) => [token, id])), merges: [] },
  }
  const template =
    "{{ bos_token }}{% for m in messages %}{{ '<|' + m['role'] + '|>' + m['content'] + '<|turn|>' }}{% endfor %}" +
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
  const tokenizerConfig = { bos_token: '<|bos|>', chat_template: template }
  return [
    { name: 'config.json', buffer: Buffer.from(JSON.stringify(config)) },
    { name: 'tokenizer.json', buffer: Buffer.from(JSON.stringify(tokenizer)) },
    { name: 'tokenizer_config.json', buffer: Buffer.from(JSON.stringify(tokenizerConfig)) },
    { name: 'model.safetensors', buffer: safetensors(tensors(tokens.length, isMute)) },
  ]
}

interface Tensor {
  readonly name: string
  readonly shape: readonly number[]
  /** Default: F16. */
  readonly dtype?: 'F32'
  readonly data: Uint16Array
}

function tensors(vocab: number, isMute: boolean): Tensor[] {
  const { hidden, layers, heads, kvHeads, headDim, intermediate } = SHAPE
  const random = halves()
  const matrix = (name: string, n: number, k: number): Tensor => ({
    name: `model.${name}.weight`,
    shape: [n, k],
    data: Uint16Array.from({ length: n * k }, () => random(-5)),
  })
  const gain = (name: string): Tensor => ({
    name: `model.${name}.weight`,
    shape: [hidden],
    data: new Uint16Array(hidden).fill(0x3c00),
  })
  const layer = (index: number): Tensor[] => {
    const at = `layers.${index}`
    return [
      matrix(`${at}.self_attn.q_proj`, heads * headDim, hidden),
      matrix(`${at}.self_attn.k_proj`, kvHeads * headDim, hidden),
      matrix(`${at}.self_attn.v_proj`, kvHeads * headDim, hidden),
      matrix(`${at}.self_attn.o_proj`, hidden, heads * headDim),
      matrix(`${at}.mlp.gate_proj`, intermediate, hidden),
      matrix(`${at}.mlp.up_proj`, intermediate, hidden),
      matrix(`${at}.mlp.down_proj`, hidden, intermediate),
      gain(`${at}.input_layernorm`),
      gain(`${at}.post_attention_layernorm`),
    ]
  }
  // The first channel has the same large value for every token. Words get most of their logit from it, others
  // none, so words are about equally likely whatever was said before: each answer has blocks of all kinds.
  const embedding = matrix('embed_tokens', vocab, hidden)
  const output = Uint16Array.from({ length: vocab * hidden }, (_, index) =>
    index < (vocab - WORDS.length) * hidden ? 0 : random(-5),
  )
  for (let row = 0; row < vocab; row++) {
    embedding.data[row * hidden] = SIXTEEN
    if (row >= vocab - WORDS.length) output[row * hidden] = HALF
  }
  return [
    embedding,
    ...Array.from({ length: layers }, (_, index) => layer(index)).flat(),
    isMute ? notNumbers('model.norm.weight', hidden) : gain('norm'),
    { name: 'lm_head.weight', shape: [vocab, hidden], data: output },
  ]
}

function notNumbers(name: string, length: number): Tensor {
  const data = new Uint16Array(new Float32Array(length).fill(Number.NaN).buffer)
  return { name, shape: [length], dtype: 'F32', data }
}

/** Seeded f16 values of either sign, between 2^exponent and twice that. */
function halves(): (exponent: number) => number {
  const random = new Random(7)
  return (exponent) => {
    const word = random.word()
    return ((word >>> 31) << 15) | ((exponent + 15) << 10) | ((word >>> 16) & 0x3ff)
  }
}

function safetensors(tensors: readonly Tensor[]): Buffer {
  let offset = 0
  const entries = tensors.map(({ name, shape, dtype = 'F16', data }) => {
    const begin = offset
    offset += data.byteLength
    return [name, { dtype, shape, data_offsets: [begin, offset] }] as const
  })
  const header = Buffer.from(JSON.stringify(Object.fromEntries(entries)))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(header.byteLength))
  return Buffer.concat([length, header, ...tensors.map(({ data }) => Buffer.from(data.buffer))])
}

/** The 256 characters that stand for bytes: printable Latin-1 stands for itself, the rest starts at 256. */
function byteAlphabet(): string[] {
  const isPrintable = (byte: number) =>
    (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174
  let next = 256
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(isPrintable(byte) ? byte : next++))
}
