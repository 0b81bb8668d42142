// The interface of all sparse formats, for one strip. Encoding and decoding are separate.
import type { SparseBase } from '../../abi/encodings.ts'
import type { DenseStrip } from './panels.ts'

/**
 * How much of a strip a format keeps. A unit is a set of weights that the format keeps or drops as a whole.
 */
export interface Kept {
  readonly kept: number
  readonly units: number
  /** Bytes of the encoded strip: a multiple of 16. */
  readonly bytes: number
}

/** The part of a format that `convert` uses. */
export interface StripWriter {
  /** e.g. `blocks of 8 x 4` */
  readonly unit: string
  measure(strip: DenseStrip): Kept
  /** Returns `measure(strip).bytes` bytes, aligned to 4. */
  encode(strip: DenseStrip): Uint8Array
}

/** The part of a format that loading uses. */
export interface StripReader {
  /** Fills `strip`, which is empty. Call it only with bytes for which `isWhole` is true. */
  decode(encoded: Uint8Array, strip: DenseStrip): void
  /**
   * True if a kernel can safely read the strip: its length is right, and everything that the kernel relies
   * on is in range.
   */
  isWhole(encoded: Uint8Array, base: SparseBase, groups: number): boolean
}
