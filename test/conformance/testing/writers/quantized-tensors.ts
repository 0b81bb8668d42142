// Quantised tensors. In: codes, scales, zero points of a random matrix. Out: its tensors in the formats of
// GPTQ, AWQ, compressed-tensors and FP8, packed bit by bit from their published definitions, and the
// dequantised values.

import { floatToHalf, halfToFloat } from '../../../../src/core/base/half.ts'
import { randomFrom } from '../../../helpers/random.ts'
import type { StoredTensor } from './safetensors-writer.ts'

type Tensors = Record<string, StoredTensor>

/** The format determines which inputs form a group. */
interface IntMatrix {
  readonly n: number
  readonly k: number
  readonly bits: number
  readonly groups: number
  readonly groupOf: readonly number[]
  /** [n][k] */
  readonly codes: Uint8Array
  /** [n][group], f16 values. */
  readonly scales: Float32Array
  /** [n][group] */
  readonly zeros: Uint8Array
}

export interface IntOptions {
  readonly bits?: 4 | 8
  readonly groupSize?: number
  readonly isSymmetric?: boolean
  /** Whether inputs are in a random order. */
  readonly isShuffled?: boolean
  readonly seed?: number
  /** Seed of the order only. Default: `seed`. */
  readonly orderSeed?: number
  /** Upper bound of the scales. */
  readonly size?: number
}

export function intMatrix(n: number, k: number, options: IntOptions = {}): IntMatrix {
  const { bits = 4, groupSize = 32, isSymmetric = true, isShuffled = false, seed = 1, size = 0.01 } = options
  const shuffle = randomFrom(options.orderSeed ?? seed)
  const next = randomFrom(seed)
  const groups = Math.ceil(k / groupSize)
  const groupOf = Array.from({ length: k }, (_, i) => Math.floor(i / groupSize))
  for (let i = k - 1; isShuffled && i > 0; i--) {
    const j = Math.floor(shuffle() * (i + 1))
    ;[groupOf[i], groupOf[j]] = [groupOf[j] as number, groupOf[i] as number]
  }
  const levels = 2 ** bits
  return {
    n,
    k,
    bits,
    groups,
    groupOf,
    codes: Uint8Array.from({ length: n * k }, () => Math.floor(next() * levels)),
    scales: Float32Array.from({ length: n * groups }, () =>
      halfToFloat(floatToHalf((0.2 + next()) * size * (next() < 0.1 ? -1 : 1))),
    ),
    // Never 0, which GPTQ's first format cannot store.
    zeros: Uint8Array.from({ length: n * groups }, () =>
      isSymmetric ? levels / 2 : 1 + Math.floor(next() * (levels - 1)),
    ),
  }
}

/** scale * (code - zero), [n][k]. */
export function intValues({ n, k, groups, groupOf, codes, scales, zeros }: IntMatrix): Float32Array {
  return Float32Array.from({ length: n * k }, (_, at) => {
    const g = Math.floor(at / k) * groups + (groupOf[at % k] as number)
    return (scales[g] as number) * ((codes[at] as number) - (zeros[g] as number))
  })
}

/** Writes `bits` bits into a field of 32-bit words, bit by bit. */
function put(words: Uint32Array, word: number, place: number, bits: number, value: number): void {
  for (let bit = 0; bit < bits; bit++) {
    if ((value >> bit) % 2 === 1) words[word] = ((words[word] as number) | (1 << (place * bits + bit))) >>> 0
  }
}

const words = (shape: readonly [number, number], fill: (words: Uint32Array) => void): StoredTensor => {
  const data = new Uint32Array(shape[0] * shape[1])
  fill(data)
  return { dtype: 'I32', shape, data: new Uint8Array(data.buffer) }
}

const halves = (shape: readonly number[], values: Iterable<number>): StoredTensor => ({
  dtype: 'F16',
  shape,
  data: new Uint8Array(Uint16Array.from(values, floatToHalf).buffer),
})

/** Transposes [n][group] to [group][n]. */
function* turned(values: ArrayLike<number>, n: number, groups: number): Generator<number> {
  for (let g = 0; g < groups; g++) for (let row = 0; row < n; row++) yield values[row * groups + g] as number
}

/** GPTQ: 32 / bits inputs share a word. Zero points are stored minus one, except in the second format. */
export function gptqTensors(name: string, m: IntMatrix, isSecond = false): Tensors {
  const { n, k, bits, groups, codes, zeros, scales, groupOf } = m
  const per = 32 / bits
  return {
    [`${name}.qweight`]: words([k / per, n], (out) => {
      for (let row = 0; row < n; row++) {
        for (let i = 0; i < k; i++)
          put(out, Math.floor(i / per) * n + row, i % per, bits, codes[row * k + i] as number)
      }
    }),
    [`${name}.qzeros`]: words([groups, n / per], (out) => {
      for (let row = 0; row < n; row++) {
        for (let g = 0; g < groups; g++) {
          const zero = (zeros[row * groups + g] as number) - (isSecond ? 0 : 1)
          put(out, g * (n / per) + Math.floor(row / per), row % per, bits, zero)
        }
      }
    }),
    [`${name}.scales`]: halves([groups, n], turned(scales, n, groups)),
    [`${name}.g_idx`]: { dtype: 'I32', shape: [k], data: new Uint8Array(Int32Array.from(groupOf).buffer) },
  }
}

/** AWQ's `gemm`: eight outputs share a word, the even ones first. */
export function awqTensors(name: string, m: IntMatrix): Tensors {
  const { n, k, groups, codes, zeros, scales } = m
  const order = [0, 2, 4, 6, 1, 3, 5, 7]
  return {
    [`${name}.qweight`]: words([k, n / 8], (out) => {
      for (let i = 0; i < k; i++) {
        for (let column = 0; column < n / 8; column++) {
          for (const [place, output] of order.entries()) {
            put(out, i * (n / 8) + column, place, 4, codes[(8 * column + output) * k + i] as number)
          }
        }
      }
    }),
    [`${name}.qzeros`]: words([groups, n / 8], (out) => {
      for (let g = 0; g < groups; g++) {
        for (let column = 0; column < n / 8; column++) {
          for (const [place, output] of order.entries()) {
            put(out, g * (n / 8) + column, place, 4, zeros[(8 * column + output) * groups + g] as number)
          }
        }
      }
    }),
    [`${name}.scales`]: halves([groups, n], turned(scales, n, groups)),
  }
}

/** compressed-tensors' `pack-quantized`; `hasZeros`: asymmetric. */
export function compressedTensors(name: string, m: IntMatrix, hasZeros: boolean): Tensors {
  const { n, k, bits, groups, codes, zeros, scales } = m
  const per = 32 / bits
  return {
    [`${name}.weight_packed`]: words([n, k / per], (out) => {
      for (let at = 0; at < n * k; at++) put(out, Math.floor(at / per), at % per, bits, codes[at] as number)
    }),
    [`${name}.weight_scale`]: halves([n, groups], scales),
    [`${name}.weight_shape`]: {
      dtype: 'I64',
      shape: [2],
      data: new Uint8Array(BigInt64Array.of(BigInt(n), BigInt(k)).buffer),
    },
    ...(hasZeros && {
      [`${name}.weight_zero_point`]: words([n / per, groups], (out) => {
        for (let row = 0; row < n; row++) {
          for (let g = 0; g < groups; g++) {
            put(out, Math.floor(row / per) * groups + g, row % per, bits, zeros[row * groups + g] as number)
          }
        }
      }),
    }),
  }
}

/** The value of an FP8 byte, from its sign, exponent and mantissa (OCP 8-bit floating point). */
export function fp8Value(dtype: 'F8_E4M3' | 'F8_E5M2', byte: number): number {
  const mantissaBits = dtype === 'F8_E4M3' ? 3 : 2
  const bias = dtype === 'F8_E4M3' ? 7 : 15
  const mantissa = byte % 2 ** mantissaBits
  const exponent = Math.floor((byte % 128) / 2 ** mantissaBits)
  const size =
    exponent === 0
      ? (mantissa / 2 ** mantissaBits) * 2 ** (1 - bias)
      : (1 + mantissa / 2 ** mantissaBits) * 2 ** (exponent - bias)
  return byte < 128 ? size : -size
}
