// Makes random Llamas: weights under Hugging Face's names and config.json, the same on every machine.
import { byteLevelSpec } from '../../../src/core/text/testing/tiny.ts'
import { drawTensor, type RandomTensor, randomNormal } from './writers/random-tensor.ts'

/** Llama 3's scaling of RoPE's frequencies, with config.json's keys. */
export interface Llama3Scaling {
  readonly rope_type: 'llama3'
  readonly factor: number
  readonly low_freq_factor: number
  readonly high_freq_factor: number
  readonly original_max_position_embeddings: number
}

/** The keys of config.json that these models use. */
export interface RandomConfig {
  readonly architectures: readonly ['LlamaForCausalLM' | 'MistralForCausalLM' | 'Qwen2ForCausalLM']
  readonly hidden_size: number
  readonly num_hidden_layers: number
  readonly num_attention_heads: number
  readonly num_key_value_heads: number
  readonly head_dim: number
  readonly intermediate_size: number
  readonly vocab_size: number
  readonly max_position_embeddings: number
  readonly rms_norm_eps: number
  readonly rope_theta: number
  readonly rope_scaling?: Llama3Scaling
  /** Number of positions to which each layer attends. */
  readonly sliding_window?: number
  readonly tie_word_embeddings: boolean
}

export interface RandomModel {
  readonly config: RandomConfig
  /** In the order of the layers. */
  readonly weights: ReadonlyMap<string, RandomTensor>
}

const VOCABULARY = byteLevelSpec().tokens
/** The tokens from which a model with `speaks` chooses. */
const LETTERS = /^[a-zĠ]+$/

export interface RandomOptions {
  readonly family?: 'llama' | 'qwen2'
  readonly seed: number
  readonly layers?: number
  readonly heads?: number
  readonly kvHeads?: number
  /** Width of a head, default 16. The hidden size is the width of all heads together. */
  readonly headDim?: number
  readonly intermediate?: number
  readonly tied?: boolean
  readonly scaling?: Llama3Scaling
  /** Sliding window in every layer, as in Mistral. For Llama only. */
  readonly window?: number
  readonly contextLength?: number
  /**
   * Standard deviation of a matrix times the square root of its columns; default 1. From 1.5 on, the text
   * depends on the prompt.
   */
  readonly gain?: number
  /**
   * Gives all tokens except letters and spaces the logit 0, so that greedy text is readable and never ends.
   * For untied models only.
   */
  readonly speaks?: boolean
}

/** Defaults: two layers of 64, four heads of 16 that share two KV heads, the tiny byte-level vocabulary. */
export function randomLlama(options: RandomOptions): RandomModel {
  const { family = 'llama', layers = 2, heads = 4, kvHeads = 2, headDim = 16, tied = false } = options
  const ofLlama = options.window === undefined ? 'LlamaForCausalLM' : 'MistralForCausalLM'
  const architecture = family === 'llama' ? ofLlama : 'Qwen2ForCausalLM'
  const config: RandomConfig = {
    architectures: [architecture],
    hidden_size: heads * headDim,
    num_hidden_layers: layers,
    num_attention_heads: heads,
    num_key_value_heads: kvHeads,
    head_dim: headDim,
    intermediate_size: options.intermediate ?? 160,
    vocab_size: VOCABULARY.length,
    max_position_embeddings: options.contextLength ?? 512,
    rms_norm_eps: 1e-5,
    rope_theta: 10_000,
    ...(options.scaling !== undefined && { rope_scaling: options.scaling }),
    ...(options.window !== undefined && { sliding_window: options.window }),
    tie_word_embeddings: tied,
  }
  return { config, weights: drawWeights(config, options) }
}

function drawWeights(config: RandomConfig, options: RandomOptions): Map<string, RandomTensor> {
  const { hidden_size: hidden, intermediate_size: wide, head_dim: headDim } = config
  const { seed, gain = 1, speaks = false } = options
  const normal = randomNormal(seed)
  const weights = new Map<string, RandomTensor>()
  const draw = (name: string, shape: readonly number[], deviation: number, mean = 0) =>
    weights.set(
      name,
      drawTensor(shape, () => mean + deviation * normal()),
    )
  const matrix = (name: string, n: number, k: number) => draw(`${name}.weight`, [n, k], gain / Math.sqrt(k))
  const norm = (name: string) => draw(`${name}.weight`, [hidden], 0.2, 1)
  draw('model.embed_tokens.weight', [config.vocab_size, hidden], 0.125)
  for (let layer = 0; layer < config.num_hidden_layers; layer++) {
    const at = `model.layers.${layer}`
    norm(`${at}.input_layernorm`)
    for (const [part, count] of [
      ['q', config.num_attention_heads],
      ['k', config.num_key_value_heads],
      ['v', config.num_key_value_heads],
    ] as const) {
      matrix(`${at}.self_attn.${part}_proj`, count * headDim, hidden)
      if (isQwen2(config)) draw(`${at}.self_attn.${part}_proj.bias`, [count * headDim], 0.5)
    }
    matrix(`${at}.self_attn.o_proj`, hidden, config.num_attention_heads * headDim)
    norm(`${at}.post_attention_layernorm`)
    matrix(`${at}.mlp.gate_proj`, wide, hidden)
    matrix(`${at}.mlp.up_proj`, wide, hidden)
    matrix(`${at}.mlp.down_proj`, hidden, wide)
  }
  norm('model.norm')
  if (config.tie_word_embeddings) return weights
  draw('lm_head.weight', [config.vocab_size, hidden], 0.125)
  const { values } = weights.get('lm_head.weight') as RandomTensor
  VOCABULARY.forEach((token, id) => {
    if (speaks && !LETTERS.test(token)) values.fill(0, id * hidden, (id + 1) * hidden)
  })
  return weights
}

export function isQwen2({ architectures }: RandomConfig): boolean {
  return architectures[0] === 'Qwen2ForCausalLM'
}
