// The writers of strips by format, which pages do not need.
import type { SparseFormat } from '../../abi/encodings.ts'
import { sb84Writer } from './sb84.ts'
import { sp24Writer } from './sp24.ts'
import type { StripWriter } from './strip-format.ts'
import { sv32Writer } from './sv32.ts'

export const STRIP_WRITERS: Readonly<Record<SparseFormat, StripWriter>> = {
  sb84: sb84Writer,
  sv32: sv32Writer,
  sp24: sp24Writer,
}
