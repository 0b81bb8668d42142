// Rounds f32 weights that share a scale to codes and the f16 pattern of 2^8 times their scale.
//
//   w  weight   q  code   d  scale, already rounded to f16: codes are chosen for the scale that is stored
//
//   w8_g32      d = max|w| / 127, q = round(w / d)
//   w4_g32      W = d (q - 8), q = 0..15. As in Q4_0, the weight of largest magnitude m gets code 0, on the
//               long side of the range. Then narrower and wider ranges are tried: for each t in CLIPS, codes
//               are taken at d = -m / t. For fixed codes, with c = q - 8, the best scale is
//               (sum w c) / (sum c^2), and it leaves the squared error sum w^2 - (sum w c)^2 / (sum c^2). So
//               the candidate with the largest (sum w c)^2 / (sum c^2) has the least error. On normally
//               distributed weights, these six clips leave 0.6 % more error than sixty do, and 11 % less
//               than Q4_0's own rounding. If the error of each weight has an importance h, all sums are over
//               h w c and h c^2.
//   w4_channel  the same for all inputs of an output. With more inputs, the largest weight is more of an
//               outlier, so narrower ranges are tried too.

import { ABI } from '../abi/constants.ts'
import { HalfbyteError } from '../base/errors.ts'
import { floatToHalf, halfTable } from '../base/half.ts'

/** 2^SCALE_EXPONENT of wasm/core/abi.h. */
export const SCALE_FACTOR = 2 ** ABI.SCALE_EXPONENT
/** The largest scale or minimum that still has an f16 pattern after multiplication. */
const SCALE_LIMIT = 65504 / SCALE_FACTOR

/**
 * The pattern of 2^8 times an f16 scale, exact. Throws `format` for a scale that is not finite or exceeds
 * SCALE_LIMIT.
 */
export function shiftedHalf(pattern: number): number {
  const exponent = (pattern >>> 10) & 31
  // One addition to the exponent is enough, except for subnormal, zero and impossible scales.
  if (exponent > 0 && exponent < 23) return pattern + (ABI.SCALE_EXPONENT << 10)
  return shiftedFloat(halfTable()[pattern]!)
}

/** The f16 bit pattern nearest to 2^8 times `scale`. */
export function shiftedFloat(scale: number): number {
  const shifted = floatToHalf(scale * SCALE_FACTOR)
  if ((shifted & 0x7c00) !== 0x7c00) return shifted
  throw new HalfbyteError(
    'format',
    `a group of 32 weights has a scale or minimum of ${scale}, but the kernels support at most ${SCALE_LIMIT}; ` +
      'if the file is intact, load it with weights f32',
    { scale, limit: SCALE_LIMIT },
  )
}

/** Clips to try for a group of 32, and for longer groups. */
const CLIPS: readonly number[] = [8, 8.5, 9, 7.6, 7.2, 6.8]
const ROW_CLIPS: readonly number[] = [...CLIPS, 9.6, 10.4, 11.4, 12.6, 14, 16, 19, 23, 28]

/**
 * The scale of weights[from..from+count) that leaves the least squared error; the header has the mathematics.
 * `peak`: the weight of largest magnitude, not 0. `importance`: how much an error in each weight counts, with
 * the same indices. Default: all equal. `zero`: the code of a zero weight, which is half the number of codes.
 * Default 8. With fewer than 16 codes, more clips are tried.
 */
export function searchScale(
  weights: Float32Array | Float64Array,
  from: number,
  count: number,
  peak: number,
  importance?: Float64Array,
  zero = 8,
): number {
  const most = 2 * zero - 1
  const half = zero + 0.5
  let best = 0
  let scale = peak / -zero
  for (const clip of count > 32 || zero < 8 ? ROW_CLIPS : CLIPS) {
    const inverse = (clip * zero) / (-8 * peak)
    let product = 0
    let square = 0
    for (let i = from; i < from + count; i++) {
      const weight = weights[i]!
      const h = importance === undefined ? 1 : importance[i]!
      let code = (weight * inverse + half) | 0
      code = (code > most ? most : code < 0 ? 0 : code) - zero
      product += h * weight * code
      square += h * code * code
    }
    if (product * product > best * square) {
      best = (product * product) / square
      scale = product / square
    }
  }
  return scale
}

/** Writes code + 128 as u8 to codes[at..at+32). Returns the pattern of the scale. */
export function quantize8(weights: Float32Array, from: number, codes: Uint8Array, at: number): number {
  let peak = 0
  let total = 0
  for (let i = from; i < from + 32; i++) {
    const magnitude = Math.abs(weights[i]!)
    if (magnitude > peak) peak = magnitude
    total += magnitude
  }
  if (!Number.isFinite(total)) throw notFinite()
  const pattern = shiftedFloat(peak / 127)
  const scale = halfTable()[pattern]! / SCALE_FACTOR
  const inverse = scale === 0 ? 0 : 1 / scale
  for (let i = 0; i < 32; i++) {
    const code = (weights[from + i]! * inverse + 128.5) | 0
    codes[at + i] = code > 255 ? 255 : code < 1 ? 1 : code
  }
  return pattern
}

/** Writes codes 0..15 to codes[at..at+count). Returns the pattern of the scale. */
export function quantize4(
  weights: Float32Array,
  from: number,
  codes: Uint8Array,
  at: number,
  count = 32,
): number {
  let peak = 0
  let magnitude = 0
  let total = 0
  for (let i = from; i < from + count; i++) {
    const weight = weights[i]!
    const size = Math.abs(weight)
    if (size > magnitude) {
      magnitude = size
      peak = weight
    }
    total += size
  }
  if (!Number.isFinite(total)) throw notFinite()
  if (peak === 0) {
    codes.fill(8, at, at + count)
    return 0
  }
  const pattern = shiftedFloat(searchScale(weights, from, count, peak))
  const scale = halfTable()[pattern]! / SCALE_FACTOR
  const inverse = scale === 0 ? 0 : 1 / scale
  for (let i = 0; i < count; i++) {
    const code = (weights[from + i]! * inverse + 8.5) | 0
    codes[at + i] = code > 15 ? 15 : code < 0 ? 0 : code
  }
  return pattern
}

function notFinite(): HalfbyteError {
  return new HalfbyteError(
    'format',
    'a weight is infinite or not a number, which cannot be quantised; the file is corrupt, so download it again',
  )
}
