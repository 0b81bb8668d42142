// Gauge model. In: an encoding. Out: the headers of a small Llama in it, whose weights are one byte over and over: to time kernels.
import type { ModelConfig } from '../arch/config.ts'
import { DTYPE_OF } from '../formats/hbm.ts'
import type { MetaObject } from '../formats/json.ts'
import type { ModelFile } from '../formats/model-file.ts'
import type { TensorInfo } from '../formats/tensors.ts'
import { type Encoding, matrixBytes } from '../weights/encoding.ts'

const HIDDEN = 1024
const INTERMEDIATE = 2816
const VOCAB = 256
/** More than most caches hold, since a real model's weights come from memory; few enough to be written in some 30 ms. */
const WEIGHT_BYTES = 24e6
/** Read as f16, bf16 or f32 a positive number of middling size; as codes of either width ones of both signs. */
const FILL = 0x3c

const MATRICES: readonly (readonly [name: string, n: number, k: number])[] = [
  ['attn_q', HIDDEN, HIDDEN],
  ['attn_k', HIDDEN / 4, HIDDEN],
  ['attn_v', HIDDEN / 4, HIDDEN],
  ['attn_output', HIDDEN, HIDDEN],
  ['mlp_gate', INTERMEDIATE, HIDDEN],
  ['mlp_up', INTERMEDIATE, HIDDEN],
  ['mlp_down', HIDDEN, INTERMEDIATE],
]

/** As a pack, so that its weights are copied as they are. */
export function gaugeModel(encoding: Encoding): ModelFile {
  const layerBytes = MATRICES.reduce((sum, [, n, k]) => sum + matrixBytes(encoding, n, k), 0)
  const layers = Math.max(1, Math.round(WEIGHT_BYTES / layerBytes))
  const config: ModelConfig = {
    family: 'llama',
    name: 'gauge',
    hiddenSize: HIDDEN,
    layers,
    heads: 16,
    kvHeads: 4,
    headDim: 64,
    intermediateSize: INTERMEDIATE,
    vocabSize: VOCAB,
    normEpsilon: 1e-5,
    rope: { theta: 1e4, dims: 64, pairing: 'halves' },
    contextLength: 64,
    tiedEmbeddings: true,
  }
  const tensors = new Map<string, TensorInfo>()
  const add = (name: string, encoding: Encoding, shape: readonly number[], bytes: number) =>
    tensors.set(name, {
      ...{ name, dtype: DTYPE_OF[encoding], shape, offset: 0, byteLength: bytes, packed: encoding },
      source: fill(bytes),
    })
  const matrix = (name: string, n: number, k: number) =>
    add(`${name}.weight`, encoding, [n, k], matrixBytes(encoding, n, k))
  const vector = (name: string) => add(`${name}.weight`, 'f32', [HIDDEN], HIDDEN * 4)
  matrix('embed', VOCAB, HIDDEN)
  vector('norm')
  for (let layer = 0; layer < layers; layer++) {
    vector(`layers.${layer}.attn_norm`)
    vector(`layers.${layer}.mlp_norm`)
    for (const [name, n, k] of MATRICES) matrix(`layers.${layer}.${name}`, n, k)
  }
  const metadata = new Map([['config', config as unknown as MetaObject]])
  return { format: 'hbm', name: 'gauge', tensors, metadata }
}

function fill(size: number): TensorInfo['source'] {
  return {
    name: 'gauge',
    size,
    read: async (_offset, length) => new Uint8Array(length).fill(FILL),
  }
}
