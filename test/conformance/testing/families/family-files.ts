// Makes random weights for a family's case, and writes them as GGUF, in the layout of llama.cpp's converter,
// and as safetensors.

import { ggufName, hubFolder, interleaved, tokenizerMetadata } from '../model-files.ts'
import { type GgufTensor, type GgufValue, ggufBytes } from '../writers/gguf-writer.ts'
import { drawTensor, type RandomTensor, randomNormal } from '../writers/random-tensor.ts'
import type { StoredTensor } from '../writers/safetensors-writer.ts'
import { type CaseTensor, type FamilyCase, familyParts } from './family-tensors.ts'

type Weights = ReadonlyMap<string, RandomTensor>

export function drawFamily({ tensors }: FamilyCase, seed: number): Weights {
  const normal = randomNormal(seed)
  const draw = ({ kind, shape, value }: CaseTensor): number => {
    if (value !== undefined) return value
    switch (kind) {
      case 'norm':
        return 1 + 0.2 * normal()
      case 'norm less one':
        return 0.2 * normal()
      case 'bias':
        return 0.3 * normal()
      case 'table':
        return 0.2 * normal()
      case 'taps':
        return normal()
      default:
        // Works for either orientation, because these matrices are nearly square.
        return (1.4 * normal()) / Math.sqrt(Math.min(...shape))
    }
  }
  return new Map(tensors.map((tensor) => [tensor.name, drawTensor(tensor.shape, () => draw(tensor))]))
}

export function familySafetensors({ config }: FamilyCase, weights: Weights): File[] {
  const tensors: Record<string, StoredTensor> = {}
  for (const [name, { shape, values }] of weights)
    tensors[name] = { dtype: 'F32', shape, data: bytesOf(values) }
  return hubFolder(config, tensors)
}

export async function familyGguf(one: FamilyCase, weights: Weights): Promise<Uint8Array> {
  const tensors: GgufTensor[] = []
  const add = (name: string, { shape, values }: RandomTensor) =>
    tensors.push({ name, dtype: 'F32', shape, data: () => [bytesOf(values)] })
  const stacked = new Map<string, RandomTensor[]>()
  for (const [name, tensor] of weights) {
    const key = stackOf(name)
    const pieces = one.gguf.pieces?.(name, tensor)
    if (pieces !== undefined) for (const [piece, own] of pieces) add(ggufName(piece, one.gguf.names), own)
    else if (key !== undefined) stacked.set(key, [...(stacked.get(key) ?? []), tensor])
    else if (!name.includes('.act_fn.')) {
      const own = one.gguf.convert?.(name, tensor) ?? tensor
      add(ggufName(name, one.gguf.names), converted(one, name, own))
    }
  }
  for (const [name, parts] of stacked) {
    const shape = [parts.length, ...(parts[0]?.shape ?? [])]
    add(name, { shape, values: Float32Array.from(parts.flatMap(({ values }) => [...values])) })
  }
  if (one.family === 'phi3') {
    const { factors } = familyParts(one.sizes)
    for (const [name, values] of Object.entries({ short: factors(1), long: factors(2) })) {
      add(`rope_factors_${name}.weight`, { shape: [values.length], values: Float32Array.from(values) })
    }
  }
  for (const [name, values] of Object.entries(one.gguf.vectors ?? {}))
    add(name, { shape: [values.length], values: Float32Array.from(values) })
  return ggufBytes({ metadata: metadata(one), tensors })
}

/** LFM2's names of an expert's matrices. */
const PARTS: Readonly<Record<string, string>> = { w1: 'gate', w2: 'down', w3: 'up' }

/** The tensor in which the converter stacks the tensors of several experts, heads or streams. */
function stackOf(name: string): string | undefined {
  const [, out] = /^model\.altup_(unembed_)?projections\.\d+\.weight$/.exec(name) ?? [name, name]
  if (out !== name) return `altup_${out === undefined ? '' : 'unembd_'}proj.weight`
  const [, at, expert, head] =
    /^(.*)\.(?:(?:mlp|feed_forward)\.experts\.\d+\.(gate_proj|up_proj|down_proj|w[123])|self_attn\.([qk])_layernorm\.norms\.\d+)\.weight$/.exec(
      name,
    ) ?? []
  if (at === undefined) return undefined
  const kind =
    expert === undefined ? `attn_${head}_norm` : `ffn_${PARTS[expert] ?? expert.replace('_proj', '')}_exps`
  return `${at.replace('model.layers', 'blk')}.${kind}.weight`
}

function converted(
  { family, gguf, sizes, tensors }: FamilyCase,
  name: string,
  tensor: RandomTensor,
): RandomTensor {
  const { headDim, heads } = sizes
  if (gguf.interleaved === true && /[qk]_proj/.test(name)) return interleaved(tensor, headDim)
  if (tensors.find((each) => each.name === name)?.kind === 'norm less one') {
    return { ...tensor, values: tensor.values.map((value) => value + 1) }
  }
  if (family === 'gpt2' && /\.c_(attn|fc|proj)\.weight$/.test(name)) return transposed(tensor)
  if (/conv\.conv\.weight$/.test(name)) return { ...tensor, shape: tensor.shape.filter((size) => size !== 1) }
  return /query_key_value/.test(name) ? ungrouped(tensor, heads, headDim) : tensor
}

function transposed({ shape: [rows = 0, columns = 0], values }: RandomTensor): RandomTensor {
  const turned = Float32Array.from(values, (_, at) => values[(at % rows) * columns + Math.floor(at / rows)]!)
  return { shape: [columns, rows], values: turned }
}

/** Regroups rows that are stored per KV head (queries, key, value) into all of Q, all of K and all of V. */
function ungrouped({ shape, values }: RandomTensor, heads: number, headDim: number): RandomTensor {
  const size = (shape[1] ?? 1) * headDim
  const groups = (values.length / size - heads) / 2
  const width = heads / groups + 2
  const order = Array.from({ length: groups }, (_, group) => group * width)
  const places = [
    ...order.flatMap((first) => Array.from({ length: width - 2 }, (_, query) => first + query)),
    ...order.map((first) => first + width - 2),
    ...order.map((first) => first + width - 1),
  ]
  const moved = places.map((place) => values.subarray(place * size, (place + 1) * size))
  return { shape, values: Float32Array.from(moved.flatMap((head) => [...head])) }
}

function metadata({ config, gguf, sizes }: FamilyCase): Record<string, GgufValue> {
  const { hidden, heads, kvHeads, headDim, wide, context } = sizes
  const keys: Record<string, GgufValue> = {
    block_count: ['u32', Number(config['num_hidden_layers'] ?? config['n_layer'] ?? config['num_layers'])],
    context_length: ['u32', context],
    embedding_length: ['u32', hidden],
    feed_forward_length: ['u32', wide],
    'attention.head_count': ['u32', heads],
    'attention.head_count_kv': ['u32', kvHeads],
    'attention.key_length': ['u32', headDim],
    'attention.value_length': ['u32', headDim],
    [`attention.layer_norm_${gguf.layerNorm === true ? '' : 'rms_'}epsilon`]: ['f32', 1e-5],
    'rope.freq_base': ['f32', Number(config['rope_theta'] ?? config['rotary_emb_base'] ?? 10_000)],
    'rope.dimension_count': ['u32', headDim],
    ...gguf.keys,
  }
  const named = Object.entries(keys).map(
    ([key, value]) => [key.startsWith('xielu.') ? key : `${gguf.architecture}.${key}`, value] as const,
  )
  return {
    'general.architecture': ['string', gguf.architecture],
    'general.name': ['string', 'random'],
    ...Object.fromEntries(named),
    ...tokenizerMetadata(),
  }
}

const bytesOf = (values: Float32Array): Uint8Array => new Uint8Array(values.slice().buffer)
