// Tests the rows that adapters change. In: an adapter in each format for a model in each format. Out: its
// rows, in the order of the model's file.
import { expect, test } from 'vitest'
import type { ModelConfig } from '../arch/config/config.ts'
import { SMALL } from '../arch/testing/files.ts'
import { bufferSource } from '../base/bytes.ts'
import { readVector } from '../formats/dequantize.ts'
import type { TensorInfo } from '../formats/tensors.ts'
import { adaptWeights } from './adapt.ts'

const { heads, headDim, hiddenSize: k } = SMALL
const n = heads * headDim

function tensorOf(name: string, shape: readonly number[], value: (at: number) => number): TensorInfo {
  const size = shape.reduce((product, each) => product * each, 1)
  const source = bufferSource(
    name,
    new Uint8Array(Float32Array.from({ length: size }, (_, at) => value(at)).buffer),
  )
  return { name, dtype: 'F32', shape, source, offset: 0, byteLength: source.size }
}

/**
 * The first column of the first layer's queries, to which the adapter adds a different number in each row.
 */
async function rowsOf(config: ModelConfig, adapter: 'gguf' | 'safetensors'): Promise<number[]> {
  const name = 'layers.0.attn_q.weight'
  const weights = new Map([[name, tensorOf(name, [n, k], () => 0)]])
  const file = adapter === 'gguf' ? 'blk.0.attn_q.weight' : 'model.layers.0.self_attn.q_proj.weight'
  const change = {
    down: tensorOf('A', [1, k], (at) => (at === 0 ? 1 : 0)),
    up: tensorOf('B', [n, 1], (at) => at),
    scale: 1,
  }
  const scaled = {
    adapter: { name: 'a', format: adapter, architecture: config.family, changes: new Map([[file, change]]) },
    scale: 1,
  }
  const found = adaptWeights(weights, config, [scaled]).weights.get(name)!
  const values = await readVector({ ...found, shape: [n * k] })
  return Array.from({ length: headDim }, (_, row) => values[row * k]!)
}

const IN_ORDER = [0, 1, 2, 3, 4, 5, 6, 7]

test.each([
  // Llama's converter moves rows; its Hugging Face files do not.
  ['llama', 'halves', 'safetensors', IN_ORDER],
  ['llama', 'interleaved', 'gguf', IN_ORDER],
  ['llama', 'interleaved', 'safetensors', [0, 4, 1, 5, 2, 6, 3, 7]],
  // Helium's files rotate neighbouring pairs, so nothing moves.
  ['helium', 'interleaved', 'safetensors', IN_ORDER],
] as const)(
  '%s with pairs in %s gets an adapter’s rows in the order of %s',
  async (family, pairing, format, rows) => {
    expect(await rowsOf({ ...SMALL, family, rope: { ...SMALL.rope, pairing } }, format)).toEqual(rows)
  },
)
