// Quantised models: the tiny model in the formats of GPTQ, AWQ, compressed-tensors and FP8.
import { hubFolder } from '../conformance/testing/model-files.ts'
import {
  awqTensors,
  compressedTensors,
  gptqTensors,
  intMatrix,
} from '../conformance/testing/writers/quantized-tensors.ts'
import type { StoredTensor } from '../conformance/testing/writers/safetensors-writer.ts'
import { tinyLlama } from './models.ts'

/** A folder for each method; `changes` are merged into its entry in config.json. */
export const quantizedModels = (changes: object = {}): File[][] =>
  PACKERS.map(([pack, config]) => packed(pack, { ...config, ...changes }))

type Packer = (module: string, n: number, k: number) => Readonly<Record<string, StoredTensor>>

/** How each method packs matrices, and its entry in config.json. */
const PACKERS: readonly (readonly [Packer, object])[] = [
  [
    (module, n, k) => gptqTensors(module, intMatrix(n, k, { groupSize: 32 })),
    { quant_method: 'gptq', bits: 4, group_size: 32, sym: true, desc_act: false },
  ],
  [
    (module, n, k) => gptqTensors(module, intMatrix(n, k, { groupSize: 32, isShuffled: true })),
    { quant_method: 'gptq', bits: 4, group_size: 32, sym: true, desc_act: true },
  ],
  [
    (module, n, k) => awqTensors(module, intMatrix(n, k, { groupSize: 32, isSymmetric: false })),
    { quant_method: 'awq', bits: 4, group_size: 32, version: 'gemm', zero_point: true },
  ],
  [
    (module, n, k) => compressedTensors(module, intMatrix(n, k, { groupSize: 32 }), false),
    {
      quant_method: 'compressed-tensors',
      format: 'pack-quantized',
      config_groups: { all: { weights: { num_bits: 4 } } },
    },
  ],
  [
    (module, n, k) => ({
      [`${module}.weight`]: { dtype: 'F8_E4M3', shape: [n, k], data: new Uint8Array(n * k).fill(0x38) },
      [`${module}.weight_scale_inv`]: { dtype: 'F32', shape: [1, 1], data: new Uint8Array(4) },
    }),
    { quant_method: 'fp8', weight_block_size: [128, 128] },
  ],
]

/** The tiny model with packed matrices. */
function packed(pack: Packer, quantization_config: object): File[] {
  const { config, weights } = tinyLlama()
  const tensors: Record<string, StoredTensor> = {}
  for (const [name, { shape, values }] of weights) {
    const [n = 0, k] = shape
    if (k !== undefined && name.includes('.layers.'))
      Object.assign(tensors, pack(name.replace(/\.weight$/, ''), n, k))
    else tensors[name] = { dtype: 'F32', shape, data: new Uint8Array(values.slice().buffer) }
  }
  return hubFolder({ ...config, quantization_config }, tensors)
}
