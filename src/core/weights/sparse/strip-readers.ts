// The readers of strips by format, which loading needs.
import type { SparseFormat } from '../../abi/encodings.ts'
import { sb84Reader } from './sb84.ts'
import { sp24Reader } from './sp24.ts'
import type { StripReader } from './strip-format.ts'
import { sv32Reader } from './sv32.ts'

export const STRIP_READERS: Readonly<Record<SparseFormat, StripReader>> = {
  sb84: sb84Reader,
  sv32: sv32Reader,
  sp24: sp24Reader,
}
