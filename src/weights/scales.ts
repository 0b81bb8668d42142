// Scales. In: a file's f16 scale, or a number. Out: the f16 pattern of 2^8 times it, as wasm/core/abi.h
// stores scales.
import { ABI } from '../abi/constants.ts'
import { HalfbyteError } from '../base/errors.ts'
import { floatToHalf, halfTable } from '../base/half.ts'

/** 2^SCALE_EXPONENT of wasm/core/abi.h. */
export const SCALE_FACTOR = 2 ** ABI.SCALE_EXPONENT
/** The largest scale or minimum that still has an f16 pattern after multiplication. */
export const SCALE_LIMIT = 65504 / SCALE_FACTOR

/**
 * The pattern of 2^8 times an f16 scale, exact. Throws `format` for a scale that is not finite or exceeds
 * SCALE_LIMIT.
 */
export function shiftedHalf(pattern: number): number {
  const exponent = (pattern >>> 10) & 31
  // hot: one addition to the exponent, except for subnormal, zero and impossible scales.
  if (exponent > 0 && exponent < 23) return pattern + (ABI.SCALE_EXPONENT << 10)
  return shiftedFloat(halfTable()[pattern]!)
}

/** The pattern nearest to 2^8 times `scale`. */
export function shiftedFloat(scale: number): number {
  const shifted = floatToHalf(scale * SCALE_FACTOR)
  if ((shifted & 0x7c00) !== 0x7c00) return shifted
  throw new HalfbyteError(
    'format',
    `a group of 32 weights has a scale or minimum of ${scale}, and the kernels hold up to ${SCALE_LIMIT}; ` +
      'the file is damaged, or load it with weights f32',
    { scale, limit: SCALE_LIMIT },
  )
}
