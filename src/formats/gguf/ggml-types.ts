// ggml types. In: a tensor's type number in a GGUF header. Out: our dtype, or the name of an unsupported
// type.
import { DTYPES } from '../dtypes.ts'
import type { DType } from '../tensors.ts'

/** ggml's names in the order of its numbers; a dash stands for a type that ggml removed. */
const NAMES = (
  'F32 F16 Q4_0 Q4_1 - - Q5_0 Q5_1 Q8_0 Q8_1 Q2_K Q3_K Q4_K Q5_K Q6_K Q8_K IQ2_XXS IQ2_XS IQ3_XXS IQ1_S ' +
  'IQ4_NL IQ3_S IQ2_S IQ4_XS I8 I16 I32 I64 F64 IQ1_M BF16 - - - TQ1_0 TQ2_0 - - - MXFP4 NVFP4 Q1_0 Q2_0'
).split(' ')

/** The supported types, by number. */
export const GGML_DTYPES: ReadonlyMap<number, DType> = new Map(
  DTYPES.map((dtype) => [NAMES.indexOf(dtype), dtype]),
)

/** ggml's name of a type, supported or not. */
export function ggmlTypeName(type: number): string {
  return NAMES[type]?.replace('-', '') || `ggml type ${type}`
}
