// Makes random models of nomic-bert, and computes their hidden states by definition in f64.

import { Random } from '../../helpers/random.ts'
import { attend, layerNorm, plus, products, rotated } from './definition.ts'
import { jsonFile } from './model-files.ts'
import { bertFolder, type RandomBert, randomBert, VOCABULARY } from './random-bert.ts'

/** Its sizes need not be multiples of the kernels' 4, 8 and 32 lanes. */
export function randomNomic(seed: number): RandomBert {
  const random = new Random(seed)
  const base = randomBert(seed)
  const config = {
    ...base.config,
    architectures: ['NomicBertModel'],
    model_type: 'nomic_bert',
    hidden_act: 'silu',
    rotary_emb_base: 1000,
  }
  const { hidden_size: width, intermediate_size: inner } = config
  const weights: Map<string, { readonly shape: readonly number[]; readonly values: Float32Array }> = new Map()
  const draw = (name: string, shape: readonly number[], scale: number, middle = 0) => {
    const count = shape.reduce((product, size) => product * size, 1)
    const values = Float32Array.from({ length: count }, () => middle + scale * random.signed())
    weights.set(name, { shape, values })
  }
  const linear = (name: string, n: number, k: number) => draw(`${name}.weight`, [n, k], 1.7 / Math.sqrt(k))
  const norm = (name: string) => {
    draw(`${name}.weight`, [width], 0.4, 1)
    draw(`${name}.bias`, [width], 0.3)
  }
  draw('embeddings.word_embeddings.weight', [VOCABULARY.length, width], 1)
  draw('embeddings.token_type_embeddings.weight', [config.type_vocab_size, width], 0.5)
  norm('emb_ln')
  for (let layer = 0; layer < config.num_hidden_layers; layer++) {
    const at = `encoder.layers.${layer}`
    linear(`${at}.attn.Wqkv`, 3 * width, width)
    linear(`${at}.attn.out_proj`, width, width)
    norm(`${at}.norm1`)
    linear(`${at}.mlp.fc11`, inner, width)
    linear(`${at}.mlp.fc12`, inner, width)
    linear(`${at}.mlp.fc2`, width, inner)
    norm(`${at}.norm2`)
  }
  return { config, weights } as RandomBert
}

/** The files of a folder. With `own`, its configuration uses the keys of nomic-embed-text-v1.5. */
export function nomicFolder(model: RandomBert, own: boolean): File[] {
  const files = bertFolder(model)
  if (!own) return files
  const { config } = model
  const written = {
    architectures: ['NomicBertModel'],
    model_type: 'nomic_bert',
    activation_function: 'swiglu',
    n_embd: config.hidden_size,
    n_layer: config.num_hidden_layers,
    n_head: config.num_attention_heads,
    n_inner: config.intermediate_size,
    n_positions: config.max_position_embeddings,
    layer_norm_epsilon: config.layer_norm_eps,
    vocab_size: VOCABULARY.length,
    type_vocab_size: config.type_vocab_size,
    rotary_emb_base: config.rotary_emb_base,
    ...{ rotary_emb_fraction: 1, rotary_emb_interleaved: false, prenorm: false, causal: false },
    ...{
      qkv_proj_bias: false,
      mlp_fc1_bias: false,
      mlp_fc2_bias: false,
      use_rms_norm: null,
      rotary_scaling_factor: null,
    },
  }
  const at = files.findIndex(({ name }) => name === 'config.json')
  return files.with(at, jsonFile('config.json', written))
}

/** The hidden states of `ids` [rows][hidden size], as transformers' NomicBertModel defines them. */
export function nomicStates({ config, weights }: RandomBert, ids: readonly number[]): Float64Array[] {
  const { hidden_size: width, num_attention_heads: heads, layer_norm_eps: epsilon } = config
  const dim = width / heads
  const valuesOf = (name: string) => weights.get(name)!.values
  const linear = (name: string, x: Float64Array) => products(valuesOf(`${name}.weight`), x)
  const norm = (name: string, x: Float64Array) =>
    layerNorm(x, epsilon, valuesOf(`${name}.weight`), valuesOf(`${name}.bias`))
  const theta = config.rotary_emb_base!
  const words = valuesOf('embeddings.word_embeddings.weight')
  const type = valuesOf('embeddings.token_type_embeddings.weight')
  let rows = ids.map((id) =>
    norm(
      'emb_ln',
      Float64Array.from({ length: width }, (_, i) => words[id * width + i]! + type[i]!),
    ),
  )
  for (let layer = 0; layer < config.num_hidden_layers; layer++) {
    const at = `encoder.layers.${layer}`
    const qkv = rows.map((x) => linear(`${at}.attn.Wqkv`, x))
    const q = qkv.map((x, position) => rotated(x.slice(0, width), dim, position, theta))
    const k = qkv.map((x, position) => rotated(x.slice(width, 2 * width), dim, position, theta))
    const v = qkv.map((x) => x.slice(2 * width))
    rows = rows.map((x, m) => {
      const y = attend(q[m]!, k, v, dim, (product) => product / Math.sqrt(dim))
      const mixed = norm(`${at}.norm1`, plus(x, linear(`${at}.attn.out_proj`, y)))
      const gate = linear(`${at}.mlp.fc12`, mixed)
      const up = linear(`${at}.mlp.fc11`, mixed).map((u, i) => (u * gate[i]!) / (1 + Math.exp(-gate[i]!)))
      return norm(`${at}.norm2`, plus(mixed, linear(`${at}.mlp.fc2`, up)))
    })
  }
  return rows
}
