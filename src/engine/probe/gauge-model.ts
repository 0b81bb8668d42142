// Gauge model. In: an encoding. Out: the headers of a small Llama in that encoding, filled with one repeated
// byte, to time kernels.

import { type Encoding, matrixBytes } from '../../abi/encodings.ts'
import type { ModelConfig } from '../../arch/config/config.ts'
import { expectedTensors } from '../../arch/tensors/tensor-names.ts'
import { DTYPE_OF } from '../../formats/hbm/hbm.ts'
import type { MetaObject } from '../../formats/json.ts'
import type { ModelFile } from '../../formats/model-file.ts'
import type { TensorInfo } from '../../formats/tensors.ts'

/**
 * More than most caches hold, because a real model's weights come from memory, but written in about 30 ms.
 */
const WEIGHT_BYTES = 24e6
/**
 * Read as f16, bf16 or f32 this is a positive number of medium size; read as 4-bit or 8-bit codes it has both
 * signs.
 */
const FILL = 0x3c

const SHAPE: ModelConfig = {
  family: 'llama',
  name: 'gauge',
  hiddenSize: 1024,
  layers: 1,
  heads: 16,
  kvHeads: 4,
  headDim: 64,
  intermediateSize: 2816,
  vocabSize: 256,
  normEpsilon: 1e-5,
  rope: { theta: 1e4, dims: 64, pairing: 'halves' },
  contextLength: 64,
  tiedEmbeddings: true,
}

/** Built as a pack, so that its weights are copied unchanged. */
export function gaugeModel(encoding: Encoding): ModelFile {
  const inLayer = tensorsOf(SHAPE, encoding).filter(({ name }) => name.startsWith('layers.'))
  const layerBytes = inLayer.reduce((sum, { byteLength }) => sum + byteLength, 0)
  const config = { ...SHAPE, layers: Math.max(1, Math.round(WEIGHT_BYTES / layerBytes)) }
  const tensors = new Map(tensorsOf(config, encoding).map((tensor) => [tensor.name, tensor]))
  const metadata = new Map([['config', config as unknown as MetaObject]])
  return { format: 'hbm', name: config.name, tensors, metadata }
}

const tensorsOf = (config: ModelConfig, encoding: Encoding): TensorInfo[] =>
  Array.from(expectedTensors('hbm', config), ({ name, shape }) => {
    const [n = 0, k] = shape
    const packed = k === undefined ? 'f32' : encoding
    const size = k === undefined ? n * 4 : matrixBytes(encoding, n, k)
    const read = async (_offset: number, length: number) => new Uint8Array(length).fill(FILL)
    const source = { name: config.name, size, read }
    return { name, dtype: DTYPE_OF[packed], shape, source, offset: 0, byteLength: size, packed }
  })
