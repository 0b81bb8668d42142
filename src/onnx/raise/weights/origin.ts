// Origins. In: how a file holds a matrix in codes, the form that it is read in. Out: a phrase that says so,
// and what the reading loses.
import type { DType as StoredDType } from '../../../formats/tensors.ts'
import type { DType } from '../../ir/tensor.ts'

export interface Origin {
  readonly bits: number
  /** Inputs that share a scale; 0: all inputs of an output do, or all of the matrix. */
  readonly block: number
  /** Without blocks: each output has a scale. */
  readonly isPerOutput?: boolean
  readonly hasZeros: boolean
  /** Of the scales in the file. */
  readonly scales: DType
  /** What the matrix is read as. */
  readonly form: StoredDType
}

/** As `halfbyte inspect` prints it; docs/internals/onnx.md has the same as a table. */
export function originOf({ bits, block, isPerOutput, hasZeros, scales, form }: Origin): string {
  const shared = block > 0 ? `in blocks of ${block}` : isPerOutput ? 'by output' : 'by tensor'
  return `${bits} bits ${shared}${hasZeros ? ', zero points' : ''}: ${lossOf(scales, form)}`
}

function lossOf(scales: DType, form: StoredDType): string {
  // A group has one scale, and no zero point that fits these.
  if (form === 'F32') return 'values are rounded again where they are stored in fewer bits'
  if (form === 'Q4_1') return 'scale and scale x zero are rounded to f16'
  return scales === 'f16' ? 'no loss' : 'scales are rounded to f16'
}
