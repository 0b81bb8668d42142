// Small Llamas for tests. In: tokens, a template, tensors. Out: the files of a safetensors folder.

/** A file as the page receives it, picked or from a server. */
export interface ModelFile {
  readonly name: string
  readonly buffer: Buffer
}

/** About 11 MB in F16: enough work per token to watch an answer and stop it. */
export const SHAPE = { hidden: 256, layers: 6, heads: 4, kvHeads: 2, headDim: 64, intermediate: 768 }

export interface Tensor {
  readonly name: string
  readonly shape: readonly number[]
  /** Default: F16. */
  readonly dtype?: 'F32'
  readonly data: Uint16Array
}

interface Folder {
  /** The first tokens, by id. `isText`: whether the token is part of the text, like thought markers. */
  readonly specials: readonly { readonly content: string; readonly isText?: boolean }[]
  /** The last tokens, in the alphabet of byte-level BPE. Single-byte tokens come before them. */
  readonly words: readonly string[]
  readonly template: string
  /** Default: none, so the model never stops. */
  readonly eosId?: number
  /** Default: those of `SHAPE`. */
  readonly layers?: number
  readonly tensors: readonly Tensor[]
}

export const vocabularyOf = ({ specials, words }: Pick<Folder, 'specials' | 'words'>): readonly string[] => [
  ...specials.map(({ content }) => content),
  ...byteAlphabet(),
  ...words,
]

/** The second special token starts a text. */
export function modelFolder(folder: Folder): readonly ModelFile[] {
  const { specials, words, template, eosId, layers = SHAPE.layers, tensors } = folder
  const { hidden, heads, kvHeads, headDim, intermediate } = SHAPE
  const tokens = vocabularyOf({ specials, words })
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
    ...(eosId !== undefined && { eos_token_id: eosId }),
  }
  const tokenizer = {
    version: '1.0',
    added_tokens: specials.map(({ content, isText = false }, id) => ({
      id,
      content,
      special: !isText,
      normalized: false,
    })),
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
    decoder: { type: 'ByteLevel' },
    model: { type: 'BPE', vocab: Object.fromEntries(tokens.map((token, id) => [token, id])), merges: [] },
  }
  const tokenizerConfig = { bos_token: specials[1]?.content, chat_template: template }
  return [
    { name: 'config.json', buffer: Buffer.from(JSON.stringify(config)) },
    { name: 'tokenizer.json', buffer: Buffer.from(JSON.stringify(tokenizer)) },
    { name: 'tokenizer_config.json', buffer: Buffer.from(JSON.stringify(tokenizerConfig)) },
    { name: 'model.safetensors', buffer: safetensors(tensors) },
  ]
}

/** A gain of all ones. */
export const gain = (name: string): Tensor => ({
  name: `model.${name}.weight`,
  shape: [SHAPE.hidden],
  data: new Uint16Array(SHAPE.hidden).fill(0x3c00),
})

/** All layers, with matrices filled by `fill`. */
export function layersOf(
  fill: (length: number) => Uint16Array<ArrayBuffer>,
  layers: number = SHAPE.layers,
): Tensor[] {
  const { hidden, heads, kvHeads, headDim, intermediate } = SHAPE
  const matrix = (name: string, n: number, k: number): Tensor => ({
    name: `model.${name}.weight`,
    shape: [n, k],
    data: fill(n * k),
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
  return Array.from({ length: layers }, (_, index) => layer(index)).flat()
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

/**
 * The 256 characters that represent bytes: printable Latin-1 characters represent themselves, the others
 * start at 256.
 */
function byteAlphabet(): string[] {
  const isPrintable = (byte: number) =>
    (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174
  let next = 256
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(isPrintable(byte) ? byte : next++))
}
