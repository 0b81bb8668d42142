// ggml types. In: the number a GGUF header gives a tensor. Out: our dtype, or the name of one that is not read.
import type { DType } from './tensors.ts'

/** The types that are read. */
export const GGML_DTYPES: ReadonlyMap<number, DType> = new Map([
  [0, 'F32'],
  [1, 'F16'],
  [2, 'Q4_0'],
  [3, 'Q4_1'],
  [6, 'Q5_0'],
  [7, 'Q5_1'],
  [8, 'Q8_0'],
  [10, 'Q2_K'],
  [11, 'Q3_K'],
  [12, 'Q4_K'],
  [13, 'Q5_K'],
  [14, 'Q6_K'],
  [20, 'IQ4_NL'],
  [23, 'IQ4_XS'],
  [30, 'BF16'],
  [34, 'TQ1_0'],
  [35, 'TQ2_0'],
  [39, 'MXFP4'],
])

const OTHER_NAMES: Readonly<Record<number, string>> = {
  9: 'Q8_1',
  15: 'Q8_K',
  16: 'IQ2_XXS',
  17: 'IQ2_XS',
  18: 'IQ3_XXS',
  19: 'IQ1_S',
  21: 'IQ3_S',
  22: 'IQ2_S',
  24: 'I8',
  25: 'I16',
  26: 'I32',
  27: 'I64',
  28: 'F64',
  29: 'IQ1_M',
  40: 'NVFP4',
}

/** ggml's name of a type, also of the ones that are not read. */
export function ggmlTypeName(type: number): string {
  return GGML_DTYPES.get(type) ?? OTHER_NAMES[type] ?? `ggml type ${type}`
}
