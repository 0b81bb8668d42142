// Makes random tensors with a nearly normal distribution, as values or as stored bytes in chunks.
import { floatToHalf } from '../../../../src/core/base/half.ts'
import { BLOCKS } from '../../../../src/core/formats/dtypes.ts'
import type { DType } from '../../../../src/core/formats/tensors.ts'
import { tensorBytes } from './gguf-writer.ts'

const CHUNK_BLOCKS = 1 << 15

/** 32 random bits per call. Xorshift is fast enough for 300 MB in a second or two. */
function randomWords(seed: number): () => number {
  let state = (seed ^ 0x9e3779b9) >>> 0 || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state >>> 0
  }
}

/** Approximately normal numbers with mean 0 and the given standard deviation. */
export function randomNormal(seed: number, deviation = 1): () => number {
  const word = randomWords(seed)
  // Eight uniform bytes: variance 8 * (256^2 - 1) / 12.
  const unit = deviation / Math.sqrt((8 * 65535) / 12)
  return () => {
    let sum = -8 * 127.5
    for (let half = 0; half < 2; half++) {
      const bits = word()
      sum += (bits & 255) + ((bits >>> 8) & 255) + ((bits >>> 16) & 255) + (bits >>> 24)
    }
    return sum * unit
  }
}

export interface RandomTensor {
  /** Outermost first. */
  readonly shape: readonly number[]
  readonly values: Float32Array
}

/** Calls `draw` for each value. */
export function drawTensor(shape: readonly number[], draw: () => number): RandomTensor {
  const length = shape.reduce((product, size) => product * size, 1)
  return { shape, values: Float32Array.from({ length }, draw) }
}

/**
 * For quantised dtypes, codes are uniform and scales equal, which gives the right size and spread, and is
 * fast.
 */
export function* randomTensor(
  dtype: DType,
  shape: readonly number[],
  seed: number,
  deviation = 0.02,
): Generator<Uint8Array> {
  const { elements, bytes } = BLOCKS[dtype]
  const blocks = tensorBytes({ name: 'random', dtype, shape }) / bytes
  const word = randomWords(seed)
  const normal = randomNormal(seed, deviation)
  for (let done = 0; done < blocks; done += CHUNK_BLOCKS) {
    const count = Math.min(CHUNK_BLOCKS, blocks - done)
    const chunk = new Uint8Array(Math.ceil((count * bytes) / 4) * 4)
    if (elements === 1) fillFloats(dtype, chunk, count, normal)
    else fillBlocks(dtype, chunk, count, word, deviation)
    yield chunk.subarray(0, count * bytes)
  }
}

function fillFloats(dtype: DType, chunk: Uint8Array, count: number, normal: () => number): void {
  const floats = new Float32Array(dtype === 'F32' ? chunk.buffer : new ArrayBuffer(4))
  const halves = new Uint16Array(chunk.buffer)
  const upperHalf = new Uint16Array(floats.buffer, 2, 1)
  for (let i = 0; i < count; i++) {
    const value = normal()
    if (dtype === 'F32') floats[i] = value
    else if (dtype === 'F16') halves[i] = floatToHalf(value)
    else {
      floats[0] = value
      halves[i] = upperHalf[0]!
    }
  }
}

function fillBlocks(
  dtype: DType,
  chunk: Uint8Array,
  count: number,
  word: () => number,
  deviation: number,
): void {
  const words = new Uint32Array(chunk.buffer)
  for (let i = 0; i < words.length; i++) words[i] = word()
  const halves = new Uint16Array(chunk.buffer)
  const stride = BLOCKS[dtype].bytes / 2
  // Uniform codes with c values have a standard deviation of sqrt((c^2 - 1) / 12).
  const scale = deviation / Math.sqrt(((dtype === 'Q8_0' ? 65536 : 256) - 1) / 12)
  for (let block = 0; block < count; block++) {
    halves[block * stride] = floatToHalf(scale)
    if (dtype === 'Q4_1') halves[block * stride + 1] = floatToHalf(-7.5 * scale)
  }
}
