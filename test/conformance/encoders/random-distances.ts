// Makes random MPNets and jina-bert-v2s, with distance biases, and computes their hidden states by definition
// in f64, following transformers' MPNetModel and the author's JinaBertModel.
import { erf } from '../../../src/core/base/erf.ts'
import { Random } from '../../helpers/random.ts'
import { attend, layerNorm, plus, products } from '../testing/definition.ts'
import { type RandomBert, VOCABULARY } from '../testing/random-bert.ts'
import type { Weight } from './random-bodies.ts'

/** `code`: jina-embeddings-v2-base-code. */
export type DistanceFamily = 'mpnet' | 'jina' | 'code'
export interface RandomDistances extends RandomBert {
  readonly family: DistanceFamily
}

/** MPNet's positions start after the padding id. */
const FIRST_POSITION = 2

/**
 * Its sizes need not be multiples of the kernels' 4, 8 and 32 lanes. It has at most `positions` positions.
 */
export function randomDistances(family: DistanceFamily, seed: number, positions = 150): RandomDistances {
  const random = new Random(`${family} ${seed}`)
  const isJina = family !== 'mpnet'
  const heads = random.between(1, 7)
  const hidden = heads * 4 * random.between(1, 9)
  const inner = random.between(5, 150)
  const config = {
    hidden_act: 'gelu',
    hidden_size: hidden,
    num_hidden_layers: random.between(1, 3),
    num_attention_heads: heads,
    intermediate_size: inner,
    vocab_size: VOCABULARY.length,
    layer_norm_eps: isJina ? 1e-12 : 1e-5,
    type_vocab_size: 2,
    ...(isJina
      ? {
          ...{ architectures: ['JinaBertForMaskedLM'], model_type: 'bert', pad_token_id: 0 },
          ...{ position_embedding_type: 'alibi', feed_forward_type: 'geglu' },
          max_position_embeddings: positions,
        }
      : {
          ...{ architectures: ['MPNetModel'], model_type: 'mpnet', pad_token_id: 1 },
          relative_attention_num_buckets: 32,
          max_position_embeddings: positions + FIRST_POSITION,
        }),
  }
  const weights = new Map<string, Weight>()
  const draw = (name: string, shape: readonly number[], scale: number, middle = 0) => {
    const length = shape.reduce((product, size) => product * size, 1)
    const values = Float32Array.from({ length }, () => middle + scale * random.signed())
    weights.set(name, { shape, values })
  }
  const matrix = (name: string, n: number, k: number) => draw(`${name}.weight`, [n, k], 1.7 / Math.sqrt(k))
  const linear = (name: string, n: number, k: number) => {
    matrix(name, n, k)
    draw(`${name}.bias`, [n], 0.3)
  }
  const norm = (name: string) => {
    draw(`${name}.weight`, [hidden], 0.4, 1)
    draw(`${name}.bias`, [hidden], 0.3)
  }
  draw('embeddings.word_embeddings.weight', [VOCABULARY.length, hidden], 1)
  if (isJina) draw('embeddings.token_type_embeddings.weight', [2, hidden], 0.5)
  else draw('embeddings.position_embeddings.weight', [positions + FIRST_POSITION, hidden], 0.5)
  norm('embeddings.LayerNorm')
  if (!isJina) draw('encoder.relative_attention_bias.weight', [32, heads], 2)
  for (let layer = 0; layer < config.num_hidden_layers; layer++) {
    const names = namesOf(family, layer)
    for (const name of [...names.qkv, names.output]) linear(name, hidden, hidden)
    for (const name of [names.outputNorm, ...names.qkNorms, ...names.second]) norm(name)
    if (isJina) matrix(names.up, 2 * inner, hidden)
    else linear(names.up, inner, hidden)
    linear(names.down, hidden, inner)
    norm(names.norm)
  }
  return { family, config, weights }
}

function namesOf(family: DistanceFamily, layer: number) {
  const at = `encoder.layer.${layer}`
  if (family === 'mpnet')
    return {
      qkv: ['q', 'k', 'v'].map((part) => `${at}.attention.attn.${part}`),
      ...{ qkNorms: [], second: [] },
      ...{ output: `${at}.attention.attn.o`, outputNorm: `${at}.attention.LayerNorm` },
      ...{ up: `${at}.intermediate.dense`, down: `${at}.output.dense`, norm: `${at}.output.LayerNorm` },
    }
  return {
    qkv: ['query', 'key', 'value'].map((part) => `${at}.attention.self.${part}`),
    ...{ output: `${at}.attention.output.dense`, outputNorm: `${at}.attention.output.LayerNorm` },
    ...(family === 'code'
      ? {
          qkNorms: ['q', 'k'].map((part) => `${at}.attention.self.layer_norm_${part}`),
          second: [`${at}.layer_norm_1`],
          ...{ up: `${at}.mlp.up_gated_layer`, down: `${at}.mlp.down_layer`, norm: `${at}.layer_norm_2` },
        }
      : {
          ...{ qkNorms: [], second: [] },
          ...{ up: `${at}.mlp.gated_layers`, down: `${at}.mlp.wo`, norm: `${at}.mlp.layernorm` },
        }),
  }
}

/** In GGUF, the halves of a gated block may be separate, as in earlier converters. */
export function halved(model: RandomDistances): RandomDistances {
  const weights = [...model.weights].flatMap(([name, weight]) => {
    if (!/gated_layers?\.weight$/.test(name)) return [[name, weight] as const]
    const [n = 0, k = 0] = weight.shape
    const halves = model.family === 'code' ? ['mlp.up', 'mlp.gate'] : ['mlp.gate', 'mlp.up']
    return halves.map((half, index) => {
      const values = weight.values.slice((index * n * k) / 2, ((index + 1) * n * k) / 2)
      return [name.replace(/mlp\.(up_)?gated_layers?/, half), { shape: [n / 2, k], values }] as const
    })
  })
  return { ...model, weights: new Map(weights) }
}

/** The bucket of the distance from a row to a position, in MPNet's numbering. */
export function bucketOf(row: number, position: number): number {
  const side = position > row ? 16 : 0
  const far = Math.abs(position - row)
  if (far < 8) return side + far
  // 8 buckets, each wider than the last by a factor of sqrt(2), so the squares of their limits are integers.
  let bucket = 8
  while (bucket < 15 && far * far >= 64 * 2 ** (bucket - 7)) bucket++
  return side + bucket
}

/** The slopes of ALiBi: those for 2^n heads, then every second slope for twice as many heads. */
function slopesOf(heads: number): number[] {
  const ofPower = (count: number) => Array.from({ length: count }, (_, i) => 2 ** ((-8 * (i + 1)) / count))
  let power = 1
  while (2 * power <= heads) power *= 2
  const between = ofPower(2 * power).filter((_, i) => i % 2 === 0)
  return [...ofPower(power), ...between].slice(0, heads)
}

const gelu = (x: number): number => (x * (1 + erf(x / Math.SQRT2))) / 2

/** The operations that use a model's weights. */
function operations({ config, weights }: RandomDistances) {
  const { hidden_size: width, layer_norm_eps: epsilon } = config
  const valuesOf = (name: string) => weights.get(name)!.values
  const rowOf = (name: string, row: number) => valuesOf(name).subarray(row * width, (row + 1) * width)
  const linear = (name: string, x: Float64Array) =>
    products(valuesOf(`${name}.weight`), x, weights.get(`${name}.bias`)?.values)
  const norm = (name: string, x: Float64Array) =>
    layerNorm(x, epsilon, valuesOf(`${name}.weight`), valuesOf(`${name}.bias`))
  return { valuesOf, rowOf, linear, norm }
}

/** The hidden states of `ids` [rows][hidden size]. */
export function distanceStates(model: RandomDistances, ids: readonly number[]): Float64Array[] {
  const { family, config } = model
  const { hidden_size: width, num_attention_heads: heads, intermediate_size: inner } = config
  const { valuesOf, rowOf, linear, norm } = operations(model)
  const slopes = slopesOf(heads)
  const biasOf = (head: number, row: number, position: number) =>
    family !== 'mpnet'
      ? -slopes[head]! * Math.abs(row - position)
      : valuesOf('encoder.relative_attention_bias.weight')[bucketOf(row, position) * heads + head]!
  const dim = width / heads
  let rows = ids.map((id, position) => {
    const added =
      family !== 'mpnet'
        ? rowOf('embeddings.token_type_embeddings.weight', 0)
        : rowOf('embeddings.position_embeddings.weight', FIRST_POSITION + position)
    return norm(
      'embeddings.LayerNorm',
      plus(Float64Array.from(rowOf('embeddings.word_embeddings.weight', id)), added),
    )
  })
  for (let layer = 0; layer < config.num_hidden_layers; layer++) {
    const names = namesOf(family, layer)
    const [q, k, v] = names.qkv.map((name, part) => {
      const own = names.qkNorms[part]
      return rows.map((x) => (own === undefined ? linear(name, x) : norm(own, linear(name, x))))
    })
    rows = rows.map((x, m) => {
      const scoreOf = (product: number, head: number, p: number) =>
        product / Math.sqrt(dim) + biasOf(head, m, p)
      const y = attend(q![m]!, k!, v!, dim, scoreOf)
      const mixed = names.second.reduce(
        (value, name) => norm(name, plus(x, value)),
        norm(names.outputNorm, plus(x, linear(names.output, y))),
      )
      const up = linear(names.up, mixed)
      const [first, second] = [up.slice(0, inner), up.slice(inner)]
      const gate = family === 'code' ? second : first
      const factor = { mpnet: undefined, jina: second, code: first }[family]
      const made = gate.map((value, i) => gelu(value) * (factor?.[i] ?? 1))
      return norm(names.norm, plus(mixed, linear(names.down, made)))
    })
  }
  return rows
}
