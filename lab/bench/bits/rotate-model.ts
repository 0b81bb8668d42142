// Rotates the residual stream and the values of a Llama by random rotations that its matrices absorb. The
// model computes the same logits, but its matrices have fewer outliers.
//
//   x  a row of the residual stream     g  a norm's gains     Q  the stream's rotation     R  that of a KV
// head
//
// RMSNorm without gains commutes with a rotation, so the gains move into the matrices after a norm: W becomes
// W diag(g) Q. Matrices that write to the stream become Q^T W, and the embedding becomes E Q. The logits
// matrix becomes E diag(g) Q, so it is no longer the embedding. Only the output matrix reads a head's values;
// heads that share values share R.
import type { ModelConfig } from '../../../src/core/arch/config/config.ts'
import { type Weights, weightOf } from '../../../src/core/arch/tensors/names.ts'
import { bufferSource } from '../../../src/core/base/bytes.ts'
import { readVector } from '../../../src/core/formats/dequantize.ts'
import type { TensorInfo } from '../../../src/core/formats/tensors.ts'
import type { PreparedModel } from '../../../src/engine/load/prepare.ts'
import { readMatrix } from '../../../src/tools/shrink/calibrate/gram.ts'
import { randomFrom } from '../../../test/helpers/random.ts'
import { Rotation } from './rotation.ts'

interface Rotated {
  readonly config: ModelConfig
  /** F32, by canonical name. */
  readonly weights: Weights
}

/**
 * The rotated weights. The logits matrix is always separate. Throws an Error for other families and for
 * biases.
 */
export async function rotateModel(
  { config, weights }: PreparedModel,
  seed: number,
  signal: AbortSignal,
): Promise<Rotated> {
  const biased = [...weights.keys()].find((name) => name.endsWith('.bias'))
  if (config.family !== 'llama' || config.experts !== undefined || biased !== undefined) {
    const own = `${config.family}${biased === undefined ? '' : ` with ${biased}`}`
    throw new Error(`only Llamas without experts and biases can be rotated; this model is ${own}`)
  }
  const { hiddenSize, heads, kvHeads, headDim, tiedEmbeddings } = config
  const chance = randomFrom(seed)
  const stream = new Rotation(hiddenSize, chance)
  const made = new Map<string, TensorInfo>()
  const matrix = (name: string) => readMatrix(weightOf(weights, name), signal)
  const keep = (name: string, values: Float32Array, shape = weightOf(weights, name).shape) =>
    made.set(name, floats(name, values, shape))

  /** W diag(g) Q; without gains, W Q. */
  const reads = async (name: string, gains?: ArrayLike<number>, change?: (values: Float32Array) => void) => {
    const values = await matrix(name)
    for (let at = 0; at < values.length; at++) values[at]! *= gains?.[at % hiddenSize] ?? 1
    for (let row = 0; row < values.length; row += hiddenSize) stream.apply(values, row, 1)
    change?.(values)
    return values
  }
  /** Q^T W. */
  const writes = async (name: string, change?: (values: Float32Array) => void) => {
    const values = await matrix(name)
    const k = values.length / hiddenSize
    change?.(values)
    for (let column = 0; column < k; column++) stream.apply(values, column, k)
    keep(name, values)
  }
  const gainsOf = async (name: string) => {
    keep(name, new Float32Array(hiddenSize).fill(1))
    return readVector(weightOf(weights, name), signal)
  }

  keep('embed.weight', await reads('embed.weight'))
  for (let layer = 0; layer < config.layers; layer++) {
    const at = `layers.${layer}.`
    const turns = Array.from({ length: kvHeads }, () => new Rotation(headDim, chance))
    const attention = await gainsOf(`${at}attn_norm.weight`)
    for (const part of ['attn_q', 'attn_k'])
      keep(`${at}${part}.weight`, await reads(`${at}${part}.weight`, attention))
    const turnValues = (values: Float32Array) => {
      for (const [head, turn] of turns.entries())
        for (let column = 0; column < hiddenSize; column++)
          turn.apply(values, head * headDim * hiddenSize + column, hiddenSize)
    }
    keep(`${at}attn_v.weight`, await reads(`${at}attn_v.weight`, attention, turnValues))
    await writes(`${at}attn_output.weight`, (values) => {
      for (let from = 0; from < values.length; from += headDim) {
        const head = (from / headDim) % heads
        turns[Math.floor((head * kvHeads) / heads)]!.apply(values, from, 1)
      }
    })
    const mlp = await gainsOf(`${at}mlp_norm.weight`)
    for (const part of ['mlp_gate', 'mlp_up'])
      keep(`${at}${part}.weight`, await reads(`${at}${part}.weight`, mlp))
    await writes(`${at}mlp_down.weight`)
  }
  const logits = await reads(tiedEmbeddings ? 'embed.weight' : 'output.weight', await gainsOf('norm.weight'))
  keep('output.weight', logits, weightOf(weights, 'embed.weight').shape)
  return { config: { ...config, tiedEmbeddings: false }, weights: made }
}

function floats(name: string, values: Float32Array, shape: readonly number[]): TensorInfo {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
  return {
    name,
    dtype: 'F32',
    shape,
    source: bufferSource(name, bytes),
    offset: 0,
    byteLength: bytes.length,
  }
}
