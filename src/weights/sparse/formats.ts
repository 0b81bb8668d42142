// Sparse formats by name. In: a name. Out: what can be done with its strips.
import type { SparseFormat } from '../../formats/tensors.ts'
import type { StripFormat } from './format.ts'
import { ls16 } from './ls16.ts'
import { sb84 } from './sb84.ts'
import { sp24 } from './sp24.ts'
import { sv32 } from './sv32.ts'

export const STRIP_FORMATS: Readonly<Record<SparseFormat, StripFormat>> = { sb84, sv32, sp24, ls16 }
