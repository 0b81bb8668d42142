// Quantised safetensors, end to end. In: a random Llama in the formats of GPTQ, AWQ, compressed-tensors and
// FP8. Out: the logits of the same values in f32, within the error of 8-bit activations.

import { expect, test } from 'vitest'
import { randomFrom } from '../helpers/random.ts'
import { hubFolder, safetensorsFiles } from './testing/model-files.ts'
import { logitsOf, relativeError, withBuilt } from './testing/node-engine.ts'
import { type RandomModel, randomLlama } from './testing/random-llama.ts'
import {
  awqTensors,
  compressedTensors,
  fp8Value,
  gptqTensors,
  type IntOptions,
  intMatrix,
  intValues,
} from './testing/writers/quantized-tensors.ts'
import type { RandomTensor } from './testing/writers/random-tensor.ts'
import type { StoredTensor } from './testing/writers/safetensors-writer.ts'

const TOKENS = Array.from({ length: 40 }, (_, index) => (index * 37) % 256)
const SMALL = randomLlama({ seed: 9, heads: 4, kvHeads: 2, headDim: 32, intermediate: 320 })

interface Packed {
  readonly stored: Readonly<Record<string, StoredTensor>>
  readonly values: Float32Array
}
type Packer = (module: string, n: number, k: number, seed: number) => Packed

/** The model with every matrix of its layers packed, and the same model with the dequantised values. */
function packModel(pack: Packer, quantization_config: object): { files: File[]; plain: RandomModel } {
  const tensors: Record<string, StoredTensor> = {}
  const weights = new Map<string, RandomTensor>()
  for (const [index, [name, tensor]] of [...SMALL.weights].entries()) {
    const { shape } = tensor
    const [n = 0, k] = shape
    if (k === undefined || !name.includes('.layers.')) {
      weights.set(name, tensor)
      tensors[name] = { dtype: 'F32', shape, data: new Uint8Array(tensor.values.slice().buffer) }
      continue
    }
    const { stored, values } = pack(name.replace(/\.weight$/, ''), n, k, index)
    Object.assign(tensors, stored)
    weights.set(name, { shape, values })
  }
  const plain = { config: SMALL.config, weights }
  return { files: hubFolder({ ...SMALL.config, quantization_config }, tensors), plain }
}

const ints =
  (
    options: IntOptions,
    write: (module: string, matrix: ReturnType<typeof intMatrix>) => Packed['stored'],
  ): Packer =>
  (module, n, k, seed) => {
    const size = options.bits === 8 ? 0.001 : 0.015
    const matrix = intMatrix(n, k, { ...options, seed, size })
    return { stored: write(module, matrix), values: intValues(matrix) }
  }

const fp8: Packer = (module, n, k, seed) => {
  const next = randomFrom(seed)
  const down = Math.ceil(n / 128)
  const across = Math.ceil(k / 128)
  const bytes = Uint8Array.from(
    { length: n * k },
    () => [0, 128][Math.floor(next() * 2)]! + Math.floor(next() * 127),
  )
  const scales = Float32Array.from({ length: down * across }, () => (0.5 + next()) * 5e-4)
  return {
    stored: {
      [`${module}.weight`]: { dtype: 'F8_E4M3', shape: [n, k], data: bytes },
      [`${module}.weight_scale_inv`]: {
        dtype: 'F32',
        shape: [down, across],
        data: new Uint8Array(scales.buffer),
      },
    },
    values: Float32Array.from(bytes, (byte, at) => {
      const block = Math.floor(at / k / 128) * across + Math.floor((at % k) / 128)
      return scales[block]! * fp8Value('F8_E4M3', byte)
    }),
  }
}

const gptq = (group_size: number, more = {}) => ({
  quant_method: 'gptq',
  bits: 4,
  group_size,
  sym: true,
  desc_act: false,
  ...more,
})
const packed = { quant_method: 'compressed-tensors', format: 'pack-quantized' }
const weights = (num_bits: number) => ({ config_groups: { all: { weights: { num_bits } } } })

test.each([
  ['GPTQ', ints({ groupSize: 64 }, gptqTensors), gptq(64)],
  [
    'GPTQ with zero points',
    ints({ groupSize: 32, isSymmetric: false }, gptqTensors),
    gptq(32, { sym: false }),
  ],
  ['GPTQ of 8 bits', ints({ bits: 8, groupSize: 32 }, gptqTensors), gptq(32, { bits: 8 })],
  [
    'GPTQ with desc_act',
    ints({ groupSize: 64, isShuffled: true }, gptqTensors),
    gptq(64, { desc_act: true }),
  ],
  [
    'GPTQ with desc_act, with one order for matrices that share an input',
    ints({ groupSize: 32, isShuffled: true, orderSeed: 3, isSymmetric: false }, gptqTensors),
    gptq(32, { desc_act: true, sym: false }),
  ],
  [
    'AWQ',
    ints({ groupSize: 64, isSymmetric: false }, awqTensors),
    { quant_method: 'awq', bits: 4, group_size: 64, version: 'gemm', zero_point: true },
  ],
  [
    'compressed-tensors',
    ints({ groupSize: 32 }, (module, matrix) => compressedTensors(module, matrix, false)),
    { ...packed, ...weights(4) },
  ],
  [
    'compressed-tensors with zero points',
    ints({ groupSize: 64, isSymmetric: false }, (module, matrix) => compressedTensors(module, matrix, true)),
    { ...packed, ...weights(4) },
  ],
  ['FP8 in blocks', fp8, { quant_method: 'fp8', weight_block_size: [128, 128] }],
] as const)('%s gives the logits of its values in f32', async (_, pack, config) => {
  const { files, plain } = packModel(pack, config)
  const logits = (of: readonly File[], precision: 'auto' | 'f32') =>
    withBuilt(of, { weights: precision }, (built) => logitsOf(built, TOKENS))
  const right = await logits(safetensorsFiles(plain), 'f32')
  // Zero points become offsets in f16, with an error of up to 2^-11 of their size; everything else is exact.
  expect(relativeError(await logits(files, 'f32'), right)).toBeLessThan(2e-3)
  expect(relativeError(await logits(files, 'auto'), right)).toBeLessThan(0.03)
})

test('sorted inputs need only one index per input of extra memory', async () => {
  const bytesOf = async (isShuffled: boolean) => {
    const pack = ints({ groupSize: 64, isShuffled, orderSeed: 3 }, gptqTensors)
    const { files } = packModel(pack, gptq(64, { desc_act: isShuffled }))
    return withBuilt(files, {}, async (built) => built.memory().weightsBytes)
  }
  // Two layers. In each, Q, K, V, gate and up share one order, O has one of the same length, and down has its
  // own.
  expect((await bytesOf(true)) - (await bytesOf(false))).toBe(4 * (128 + 320))
})
