// Overlap. In: the tensors of one file. Out: a `format` error when two of them claim the same bytes.
import { malformed, shown } from './malformed.ts'
import type { TensorInfo } from './tensors.ts'

/** Two tensors never share bytes, so a header that says so is wrong. */
export function checkOverlap(file: string, tensors: readonly TensorInfo[]): void {
  let last: TensorInfo | undefined
  for (const tensor of [...tensors].sort((a, b) => a.offset - b.offset)) {
    if (last !== undefined && tensor.offset < last.offset + last.byteLength) {
      throw malformed(file, `${shown(tensor.name)} begins at ${tensor.offset}, inside ${shown(last.name)}`)
    }
    last = tensor
  }
}
