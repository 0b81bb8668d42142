// A sparse format. In: nothing. Out: what each of them can do with one strip, apart for who makes and who reads it.
import type { SparseBase } from '../../abi/encodings.ts'
import type { DenseStrip } from './panels.ts'

/** What a strip keeps. Units are what a format keeps or drops whole; all formats count a strip's units alike. */
export interface Kept {
  readonly kept: number
  readonly units: number
  /** Of the encoded strip, a multiple of 16. */
  readonly bytes: number
}

/** What convert does. */
export interface StripWriter {
  /** e.g. `blocks of 8 x 4` */
  readonly unit: string
  measure(strip: DenseStrip): Kept
  /** `measure(strip).bytes` bytes whose first is at a multiple of 4. */
  encode(strip: DenseStrip): Uint8Array
}

/** What a load does. */
export interface StripReader {
  /** Fills `strip`, which is empty. Only for what `isWhole` found good. */
  decode(encoded: Uint8Array, strip: DenseStrip): void
  /** True when a kernel may read the strip: everything that it will go by is in its range and the length is right. */
  isWhole(encoded: Uint8Array, base: SparseBase, groups: number): boolean
}
