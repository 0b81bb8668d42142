// LoRA files. In: a model, a rank, a seed. Out: a random adapter in the formats of PEFT and llama.cpp, and
// the merged model.

import { ggufName, interleaved, jsonFile, newFile } from '../model-files.ts'
import type { RandomModel } from '../random-llama.ts'
import { ggufBytes } from './gguf-writer.ts'
import type { RandomTensor } from './random-tensor.ts'
import { randomNormal } from './random-tensor.ts'
import { type StoredTensor, safetensorsBytes } from './safetensors-writer.ts'

/** The pair for one matrix: A [rank, inputs], B [outputs, rank]. */
interface LoraPair {
  readonly a: RandomTensor
  readonly b: RandomTensor
  /** DoRA: the length of each row. */
  readonly magnitude?: RandomTensor
}
export type Lora = ReadonlyMap<string, LoraPair>

export const ALPHA = 6

/**
 * A pair for every matrix whose name matches. Its product is about a third as large as the matrix's values.
 */
export function randomLora(
  weights: RandomModel['weights'],
  matches: RegExp,
  rank: number,
  seed: number,
): Lora {
  const normal = randomNormal(seed)
  const draw = (n: number, k: number, deviation: number): RandomTensor => ({
    shape: [n, k],
    values: Float32Array.from({ length: n * k }, () => deviation * normal()),
  })
  const pairs = new Map<string, LoraPair>()
  for (const [name, { shape }] of weights) {
    const [n = 0, k] = shape
    if (k === undefined || !matches.test(name)) continue
    pairs.set(name, { a: draw(rank, k, 1 / Math.sqrt(k)), b: draw(n, rank, (0.3 * Math.sqrt(rank)) / ALPHA) })
  }
  return pairs
}

/** The same, with a length near 1 for every row, as in DoRA. */
export function withMagnitudes(lora: Lora, seed: number): Lora {
  const normal = randomNormal(seed)
  return new Map(
    [...lora].map(([name, pair]) => {
      const [n = 0] = pair.b.shape
      const values = Float32Array.from({ length: n }, () => 1 + 0.2 * normal())
      return [name, { ...pair, magnitude: { shape: [n], values } }]
    }),
  )
}

/** W + scale * B A, with the rows' lengths for DoRA, computed in f64 and rounded once. */
export function mergedTensor(base: RandomTensor, pair: LoraPair, scale: number): RandomTensor {
  const [, k = 0] = base.shape
  const { shape, values: sums } = summed(base, pair, scale)
  const lengths = pair.magnitude?.values
  if (lengths === undefined) return { shape, values: Float32Array.from(sums) }
  const factors = Float64Array.from(
    lengths,
    (length, row) => length / Math.hypot(...sums.subarray(row * k, row * k + k)),
  )
  return { shape, values: Float32Array.from(sums, (value, at) => value * factors[Math.floor(at / k)]!) }
}

function summed(base: RandomTensor, { a, b }: LoraPair, scale: number) {
  const [n = 0, k = 0] = base.shape
  const rank = a.shape[0] as number
  const values = Float64Array.from(base.values, (value, at) => {
    const row = Math.floor(at / k)
    const column = at % k
    let sum = 0
    for (let r = 0; r < rank; r++)
      sum += (b.values[row * rank + r] as number) * (a.values[r * k + column] as number)
    return value + scale * sum
  })
  return { shape: [n, k], values }
}

export function mergedModel({ config, weights }: RandomModel, lora: Lora, scale: number): RandomModel {
  return {
    config,
    weights: new Map(
      [...weights].map(([name, tensor]) => {
        const pair = lora.get(name)
        return [name, pair === undefined ? tensor : mergedTensor(tensor, pair, scale)]
      }),
    ),
  }
}

const f32 = ({ shape, values }: RandomTensor): StoredTensor => ({
  dtype: 'F32',
  shape,
  data: new Uint8Array(values.slice().buffer),
})

/** adapter_config.json and adapter_model.safetensors. */
export function peftFiles(lora: Lora, settings: object = {}): File[] {
  const tensors: Record<string, StoredTensor> = {}
  let rank = 0
  for (const [name, { a, b, magnitude }] of lora) {
    const module = `base_model.model.${name.replace(/\.weight$/, '')}`
    tensors[`${module}.lora_A.weight`] = f32(a)
    tensors[`${module}.lora_B.weight`] = f32(b)
    if (magnitude !== undefined) tensors[`${module}.lora_magnitude_vector`] = f32(magnitude)
    rank = a.shape[0] as number
  }
  const config = {
    peft_type: 'LORA',
    r: rank,
    lora_alpha: ALPHA,
    bias: 'none',
    rank_pattern: {},
    ...settings,
  }
  return [
    newFile('adapter_model.safetensors', safetensorsBytes(tensors)),
    jsonFile('adapter_config.json', config),
  ]
}

/** In the layout of convert_lora_to_gguf.py: rows of `llama`'s Q and K are interleaved in B. */
export async function ggufLora(lora: Lora, headDim: number, architecture = 'llama'): Promise<File> {
  const tensors = [...lora].flatMap(([name, { a, b }]) => {
    const up = architecture === 'llama' && /[qk]_proj/.test(name) ? interleaved(b, headDim) : b
    const tensor = (ending: string, each: RandomTensor) => ({
      ...({ name: `${ggufName(name)}.${ending}`, dtype: 'F32', shape: each.shape } as const),
      data: () => [f32(each).data],
    })
    return [tensor('lora_a', a), tensor('lora_b', up)]
  })
  const metadata = {
    'general.architecture': ['string', architecture],
    'general.type': ['string', 'adapter'],
    'adapter.type': ['string', 'lora'],
    'adapter.lora.alpha': ['f32', ALPHA],
  } as const
  return newFile('adapter.gguf', await ggufBytes({ metadata, tensors }))
}
