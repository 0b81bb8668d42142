// The size of a matrix's slot, as the sum of its parts.
import { type Encoding, matrixBytes } from '../../abi/encodings.ts'

/** Bytes of a slot whose parts are stacked, each padded to 32 rows. */
export const slotBytes = (encoding: Encoding, parts: readonly { readonly n: number }[], k: number): number =>
  parts.reduce((sum, { n }) => sum + matrixBytes(encoding, n, k), 0)
